package track

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// notices publishes this node's notices, and hears those of all nodes. It keeps the
// latest that this node published: notices that the bus refused or lost are sent again.
// Lasting notices have room of their own, which others
// do not take.
type notices struct {
	bus  backend.Bus
	life *lifetime
	max  int // of each sort

	listening chan struct{} // closed once the bus calls our listener

	mu      noticesMutex
	losses  int                           // how often the bus lost data, from 1 on
	lasting map[backend.Notice]*published // by notice, without what a later one replaces
	moment  map[backend.Notice]*published
}

type published struct {
	notice backend.Notice
	at     time.Time // when it happened
	taken  int       // the bus has it since it had lost data so often; 0: it does not
}

const (
	// publishedFor is how long a notice is kept that the bus took: any node that can
	// reach the bus has heard it by then.
	publishedFor = time.Minute
	// slowStart: a first call that takes longer suggests that the store was out.
	slowStart = 100 * time.Millisecond
)

func newNotices(bus backend.Bus, life *lifetime, max int) *notices {
	return &notices{bus: bus, life: life, max: max, listening: make(chan struct{}), losses: 1, lasting: make(map[backend.Notice]*published), moment: make(map[backend.Notice]*published)}
}

// publish makes every node hear a notice: now, or once the store is back. A status that
// the store does not take is not set, and its user is told so. One that it loses is told by
// choices.republish.
func (b *notices) publish(ctx context.Context, n backend.Notice) error {
	at := time.Now()
	if n.Lasting {
		n.ID = rand.Text()[:16]
	}
	taken, err := b.send(ctx, n)
	if n.Kind != backend.NoticeStatus {
		b.keep(&published{notice: n, at: at, taken: taken})
	}
	return storeOut(err)
}

// send publishes a notice, and returns published.taken. The bus may lose data before it answers. So
// the losses are those that were known before the call.
//
// Example: Alice signs out at node A. Redis takes the notice, and is wiped. Node A learns of the loss,
// and then gets the answer.
func (b *notices) send(ctx context.Context, n backend.Notice) (taken int, err error) {
	b.mu.Lock()
	losses := b.losses
	b.mu.Unlock()
	if err := b.bus.Publish(ctx, n); err != nil {
		return 0, err
	}
	return losses, nil
}

// keep takes a notice, if there is room for one more of its sort.
func (b *notices) keep(p *published) {
	b.mu.Lock()
	defer b.mu.Unlock()
	same, key := b.moment, replaces(p.notice)
	if p.notice.Lasting {
		same = b.lasting
	}
	was, known := same[key]
	if known && was.taken < b.losses && p.notice.Kind == backend.NoticeSettings {
		p.taken = 0 // the earlier one is still to be heard, and a node that hears either asks
	}
	if known || len(same) < b.max {
		same[key] = p
	}
}

// replaces names the notices that a notice replaces: those of its kind about its user, where
// settings replace other settings.
func replaces(n backend.Notice) backend.Notice {
	if n.Ago, n.ID = 0, ""; n.Kind == backend.NoticeSettings {
		n.Payload = ""
	}
	return n
}

// heard keeps a sign-out that any node published, as that node does. So it is told again where the
// store loses it and that node has ended.
//
// Example: Alice signs out at node B, while node A does not reach Redis. B is deployed, and Redis
// starts again without data. Node C tells A that she signed out, before A makes her lease again.
//
// A sign-out that says that it is new may have been on its way for a second. So a page that was opened
// in that second may end with it, and comes back. A page that was opened before must not stay.
//
// One that this node knows already, because it published it, or as it is told again after a loss, has
// ended here what it ends: it must not end what came since. What it says of its age may be less, by as long
// as its call took, or as it was on its way. So it is returned as old as it is known to be.
func (b *notices) heard(n backend.Notice) backend.Notice {
	p := &published{notice: n, at: time.Now().Add(-n.Ago)}
	p.notice.Ago = 0
	b.mu.Lock()
	defer b.mu.Unlock()
	p.taken = b.losses
	key := replaces(n)
	switch was := b.lasting[key]; {
	case was != nil && was.notice.ID == n.ID:
		was.taken, n.Ago = b.losses, max(n.Ago, time.Since(was.at))
	case was != nil && p.at.After(was.at), was == nil && len(b.lasting) < b.max/2: // room is left for this node's own
		b.lasting[key] = p
	}
	return n
}

// lost notes that the bus lost data: it no longer has any of the notices.
func (b *notices) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.losses++
}

// republish publishes what the bus did not take, and forgets what is old. It reports
// whether the bus has it all.
func (b *notices) republish(ctx context.Context) bool {
	for _, p := range b.due() {
		if b.has(p) { // another node was faster
			continue
		}
		late := p.notice
		late.Ago = time.Since(p.at)
		taken, err := b.send(ctx, late)
		if err != nil {
			return false
		}
		b.mu.Lock()
		p.taken = max(p.taken, taken) // it may have been heard in a log that is newer
		b.mu.Unlock()
	}
	return true
}

// has reports whether the bus has a notice.
func (b *notices) has(p *published) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.taken == b.losses
}

// due returns the notices that the bus did not take, and forgets the old ones that it took.
func (b *notices) due() (due []*published) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, same := range []map[backend.Notice]*published{b.lasting, b.moment} {
		for key, p := range same {
			if p.taken < b.losses {
				due = append(due, p)
			} else if time.Since(p.at) > publishedFor {
				delete(same, key)
			}
		}
	}
	return due
}

// listen calls fn for each notice from now on, or from when the store is back, until the lifetime is
// over and a channel is closed. It reports whether the store answered at once. nextReturn is that of
// the outage.
func (b *notices) listen(fn func(backend.Notice), nextReturn func() <-chan struct{}, until <-chan struct{}) (prompt bool) {
	stopped := make(chan func(), 1)
	try := func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, connectWait)
		defer cancel()
		stop, err := b.bus.Listen(ctx, fn)
		if err == nil {
			close(b.listening)
			stopped <- stop
		}
		return err == nil
	}
	began, back := time.Now(), nextReturn()
	listening := try(b.life.ctx)
	prompt = listening && time.Since(began) <= slowStart
	b.life.spawn(func(ctx context.Context) {
		for !listening && wait.Until(ctx, back, backoffLast) {
			back = nextReturn()
			listening = try(ctx)
		}
		if listening {
			<-ctx.Done()
			<-until
			(<-stopped)()
		}
	})
	return prompt
}

// hearAll returns once this node has heard every lasting notice that was published
// before. A node that does not listen yet waits until it does.
func (b *notices) hearAll(ctx context.Context) error {
	select {
	case <-b.listening:
		return b.bus.Hear(ctx)
	case <-ctx.Done():
	case <-b.life.ctx.Done(): // it never will
	}
	return presence.ErrStoreOut
}
