package track

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// notices publishes the notices of this node, and hears those of all nodes. It keeps the latest ones that
// this node published, and sends those again that the bus refused or lost. Lasting notices have room of their
// own, which others cannot take.
type notices struct {
	bus  backend.Bus
	life *lifetime
	max  int // bound of each sort of notices

	listening chan struct{} // closed once the bus calls our listener

	mu      noticesMutex
	losses  int                           // how often the bus lost data, plus 1
	lasting map[backend.Notice]*published // key: the notice, without the fields that a later notice of its sort replaces
	moment  map[backend.Notice]*published
}

type published struct {
	notice backend.Notice
	at     time.Time // when its event happened
	taken  int       // the value of losses when the bus accepted it; 0: the bus does not have it
}

const (
	// publishedFor is how long a notice is kept after the bus accepted it. Any node that can reach the bus
	// has heard it by then.
	publishedFor = time.Minute
	// slowStart: a first call that takes longer suggests that the store was out.
	slowStart = 100 * time.Millisecond
)

func newNotices(bus backend.Bus, life *lifetime, max int) *notices {
	return &notices{bus: bus, life: life, max: max, listening: make(chan struct{}), losses: 1, lasting: make(map[backend.Notice]*published), moment: make(map[backend.Notice]*published)}
}

// publish makes every node hear a notice: now, or once the store is back.
func (b *notices) publish(ctx context.Context, n backend.Notice) error {
	at := time.Now()
	if n.Lasting {
		n.ID = rand.Text()[:16]
	}
	taken, err := b.send(ctx, n)
	b.keep(&published{notice: n, at: at, taken: taken}, b.max)
	return err
}

// send publishes a notice, and returns a value for published.taken. The bus may lose data before its answer
// arrives. So the value counts the losses that were known before the call.
//
// Example: Alice signs out at node A. Redis accepts the notice, and is wiped. Node A learns of the loss, and
// then gets the answer.
func (b *notices) send(ctx context.Context, n backend.Notice) (taken int, err error) {
	taken = b.known()
	if err := b.bus.Publish(ctx, n); err != nil {
		return 0, storeOut(err)
	}
	return taken, nil
}

// known returns how often the bus lost data, as far as this node knows.
func (b *notices) known() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.losses
}

// keep stores a notice, unless it has a later one in its place, or most of its sort. It returns when its event happened, as far as this
// node knows.
func (b *notices) keep(p *published, most int) (at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	same, key := b.moment, replaces(p.notice)
	if p.notice.Lasting {
		same = b.lasting
	}
	switch was := same[key]; {
	case was != nil && p.notice.Lasting && p.notice.ID != "" && was.notice.ID == p.notice.ID:
		was.taken = max(was.taken, p.taken)
		return was.at
	case was != nil && p.at.Before(was.at):
	case was != nil || len(same) < most:
		same[key] = p
	}
	return p.at
}

// replaces returns the key of a notice in lasting. A notice of settings replaces earlier ones about the same
// user.
func replaces(n backend.Notice) backend.Notice {
	if n.Ago, n.ID = 0, ""; n.Kind == backend.NoticeSettings {
		n.Payload = ""
	}
	return n
}

// heard keeps a sign-out that any node published, as that node does. So it is repeated if the store loses it
// after that node has ended.
//
// Example: Alice signs out at node B, while node A does not reach Redis. B is deployed, and Redis restarts
// without data. Node C tells A that she signed out, before A makes her lease again.
//
// A sign-out that claims to be new may have been under way for a second. So a page that was opened in that
// second may end with it, and comes back. A page that was opened before must not stay.
//
// If this node knows the sign-out already, because it published it, or because it is repeated after a loss,
// it has already ended what it must end here, and must not end later connections. The notice may state a
// smaller age than the true one, by the time that it was under way. So heard returns it with the greatest age
// that is known.
func (b *notices) heard(n backend.Notice) backend.Notice {
	p := &published{notice: n, at: time.Now().Add(-n.Ago), taken: b.known()}
	p.notice.Ago = 0
	n.Ago = max(n.Ago, time.Since(b.keep(p, b.max/2))) // half of the room is left for this node's own notices
	return n
}

// lost notes that the bus lost data, so that it has none of the notices any more.
func (b *notices) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.losses++
}

// republish publishes the notices that the bus does not have, and forgets old ones. It reports whether the
// bus has all.
func (b *notices) republish(ctx context.Context) bool {
	for _, p := range b.due() {
		if b.has(p) { // another node has already published it
			continue
		}
		late := p.notice
		late.Ago = time.Since(p.at)
		taken, err := b.send(ctx, late)
		if err != nil {
			return false
		}
		b.mu.Lock()
		p.taken = max(p.taken, taken) // it may have been heard from a log after a later loss
		b.mu.Unlock()
	}
	return true
}

// waiting reports whether there is a notice that the bus does not have.
func (b *notices) waiting() bool { return len(b.due()) > 0 }

// has reports whether the bus still has a notice.
func (b *notices) has(p *published) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.taken == b.losses
}

// due returns the notices that the bus does not have, and forgets old ones that it has.
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

// listen calls fn for each notice from now on, or from when the store is back, until the lifetime is over and
// the channel until is closed. It reports whether the store answered at once. nextReturn is that of outage.
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
	case <-b.life.ctx.Done(): // this node will never listen
	}
	return presence.ErrStoreOut
}

// hear handles a notice from any node, this one included. It does not block.
func (t *Tracker) hear(n backend.Notice) {
	switch {
	case n.Missed > 0:
		t.leases.missed(n.Missed)
		t.peopleHere.relationsMissed()
	case n.Kind == backend.NoticeSignedOut:
		t.signOuts.hear(t.notices.heard(n))
	case n.Kind == backend.NoticeActed:
		t.acts.hear(n)
	case n.Kind == backend.NoticeSettings:
		t.choices.hearSettings(n)
	case n.Kind == backend.NoticeRelations:
		t.peopleHere.relationsChanged(n.User)
	case n.Kind == backend.NoticeErased:
		t.eraser.hear(n)
	case n.Kind == backend.NoticeLeft:
		t.users.left(n.User, presence.Holder(n.Payload))
	case n.Kind == backend.NoticePeak:
		if topic, peak, ok := peakOf(n); ok {
			t.records.hear(topic, peak)
		}
	case n.Kind == backend.NoticeLost:
		t.leases.hearLost(n.Ago)
	case n.Kind == backend.NoticeGone:
		t.tokens.hearGone(n.Payload, time.Now().Add(-n.Ago))
	case n.Kind == backend.NoticeVisited:
		t.tokens.hearVisited(n)
	case n.Ago > 0: // the other kinds are of the moment, and are never sent late
	case n.Kind == backend.NoticeNode:
		t.fleet.hear(n.Payload, t.found.note)
	case n.Kind == backend.NoticeHidden:
		t.tokens.hearHidden(n)
	case n.Kind == backend.NoticeHint:
		t.hearHint(n.Payload)
	case n.Kind == backend.NoticeGuestSignedIn:
		t.leases.hearSignedIn(n.Payload)
	}
}
