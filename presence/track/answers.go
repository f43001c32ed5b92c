package track

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// answers caches answers of the store, for pages that must not wait for the store. Each answer has a
// goroutine that asks again at intervals, as long as pages want the answer.
type answers[K comparable, V any] struct {
	life  *lifetime
	ask   func(ctx context.Context, key K, before V) (V, error) // before: the latest answer, or zero
	every time.Duration                                         // how often an answer is renewed
	idle  time.Duration                                         // an answer that nobody wanted for this long is forgotten
	max   int                                                   // answers; over it the one that was wanted longest ago is forgotten

	mu    answersMutex
	byKey map[K]*answer[V]
}

type answer[V any] struct {
	latest atomic.Pointer[V] // nil: the store has not answered yet
	tried  chan struct{}     // closed after the first try
	stop   context.CancelFunc
	wanted time.Time // answers.mu guards it
}

// get returns an answer from memory. The first time it waits for the store: until the
// deadline of ctx, or for viewWait where ctx has none. It returns [presence.ErrStoreOut] if nothing
// is known then, or [presence.ErrClosed].
func (m *answers[K, V]) get(ctx context.Context, key K) (v V, err error) {
	a, isNew := m.want(key)
	if isNew {
		gate.Owes(ctx, gate.Renewed)
	}
	if known := a.latest.Load(); known != nil {
		return *known, nil
	}
	ctx, cancel := pageContext(ctx)
	defer cancel()
	select {
	case <-a.tried:
	case <-ctx.Done():
	case <-m.life.ctx.Done():
		return v, presence.ErrClosed
	}
	if known := a.latest.Load(); known != nil {
		return *known, nil
	}
	return v, presence.ErrStoreOut
}

// pageContext returns a context for a page that must not wait for long.
func pageContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, viewWait)
}

// before returns the previous answer, or the zero value.
func (a *answer[V]) before() (v V) {
	if known := a.latest.Load(); known != nil {
		v = *known
	}
	return v
}

// want returns the answer for a key. For a new key it starts the goroutine that asks.
func (m *answers[K, V]) want(key K) (a *answer[V], isNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a = m.byKey[key]
	if isNew = a == nil; isNew {
		if len(m.byKey) >= m.max {
			m.makeRoomLocked()
		}
		a = &answer[V]{tried: make(chan struct{})}
		if m.byKey == nil {
			m.byKey = make(map[K]*answer[V])
		}
		m.byKey[key] = a
		var ctx context.Context
		ctx, a.stop = context.WithCancel(m.life.ctx)
		m.life.spawn(func(context.Context) { m.renew(ctx, key, a) })
	}
	a.wanted = time.Now()
	return a, isNew
}

// makeRoomLocked forgets the answer that was wanted longest ago.
func (m *answers[K, V]) makeRoomLocked() {
	var oldest K
	var first *answer[V]
	for key, a := range m.byKey {
		if first == nil || a.wanted.Before(first.wanted) {
			oldest, first = key, a
		}
	}
	first.stop()
	delete(m.byKey, oldest)
}

// renew asks until no page wants the answer any more. It asks more often until the first answer.
func (m *answers[K, V]) renew(ctx context.Context, key K, a *answer[V]) {
	defer a.stop()
	for first := true; ; first = false {
		try, cancel := context.WithTimeout(ctx, loadTimeout)
		v, err := m.ask(try, key, a.before())
		cancel()
		if err == nil {
			a.latest.Store(&v)
		}
		if first {
			close(a.tried)
		}
		pause := m.every
		if a.latest.Load() == nil {
			pause = min(pause, backoffLast)
		}
		if !wait.For(ctx, pause) || m.forget(key, a) {
			return
		}
	}
}

// forget removes an answer that no page wanted lately, and reports whether it did.
func (m *answers[K, V]) forget(key K, a *answer[V]) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(a.wanted) <= m.idle {
		return false
	}
	if m.byKey[key] == a {
		delete(m.byKey, key)
	}
	return true
}
