package memstore

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A bus carries notices, and keeps what users chose and the secret. Its mutex may be taken while
// that of the Store is held.
type bus struct {
	mu        sync.Mutex
	listeners map[*func(backend.Notice)]struct{}
	chosen    map[presence.UserID]backend.ChosenStatus // the latest choice of each user
	secret    []byte
}

// Publish implements [backend.Store]. It calls the listeners before it returns.
func (b *bus) Publish(ctx context.Context, n backend.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if status := n.Status(); status != "" {
		if n.Ago == 0 && n.Order < b.chosen[n.User].Order {
			return presence.ErrLaterChoice
		}
		n.Order = chosenOrder(n, time.Now())
		if b.chosen[n.User].Order <= n.Order {
			b.chosen[n.User] = backend.ChosenStatus{Status: status, Order: n.Order}
		}
	}
	for fn := range b.listeners {
		(*fn)(n)
	}
	return nil
}

// Listen implements [backend.Store].
func (b *bus) Listen(_ context.Context, fn func(backend.Notice)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := &fn
	b.listeners[key] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, key)
	}, nil
}

// Hear implements [backend.Store]. It is a no-op, because Publish calls the listeners itself.
func (b *bus) Hear(context.Context) error { return nil }

// Secret implements [backend.Store].
func (b *bus) Secret(_ context.Context, offer []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.secret == nil {
		b.secret = bytes.Clone(offer)
	}
	return bytes.Clone(b.secret), nil
}

// Statuses implements [backend.Store].
func (b *bus) Statuses(_ context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	statuses := make([]backend.ChosenStatus, len(users))
	for i, id := range users {
		statuses[i] = b.chosen[id]
	}
	return statuses, nil
}

// trim forgets choices from before a moment, and all but the most latest ones.
func (b *bus) trim(before time.Time, most int) (forgotten int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := func(c backend.ChosenStatus) time.Time { return time.UnixMicro(int64(c.Order)) }
	return trim(b.chosen, at, before, most)
}

// forget forgets what a user chose.
func (b *bus) forget(user presence.UserID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.chosen, user)
}

// chosenOrder returns the Order of a choice that is published now.
func chosenOrder(n backend.Notice, now time.Time) backend.Order {
	switch {
	case n.Ago == 0:
		return max(backend.OrderAt(now), n.Order+1)
	case n.Order != 0:
		return n.Order
	}
	return backend.OrderAt(now.Add(-n.Ago))
}
