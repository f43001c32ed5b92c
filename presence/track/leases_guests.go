package track

import (
	"context"
	"maps"
	"slices"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A guest who signs in becomes a user: one guest fewer, and one user more. A diff announces the user at once.
// No diff has the number of guests, and housekeeping would update it up to half a second later. So the nodes
// that hear of the sign-in ask for the figures within the merge window. The sign-ins of one window cost one
// call of the store.

// guestCounts counts guests, and removes guests who sign in.
type guestCounts struct {
	cfg    *Config
	life   *lifetime
	store  backend.Store
	writer *writer
	topics *topics
	users  *users

	mu       guestsMutex
	signedIn map[string]struct{}         // guests who signed in; the other nodes must still hear of them
	telling  bool                        // a goroutine publishes signedIn
	changed  map[presence.Topic]struct{} // topics whose figures must be shown to readers here soon
	showing  bool                        // a goroutine asks for the changed figures
}

func newGuestCounts(cfg *Config, life *lifetime, store backend.Store, w *writer, t *topics, u *users) *guestCounts {
	return &guestCounts{cfg: cfg, life: life, store: store, writer: w, topics: t, users: u, signedIn: make(map[string]struct{}), changed: make(map[presence.Topic]struct{})}
}

// seen counts a guest in a topic.
func (g *guestCounts) seen(topic presence.Topic, guest string) {
	if guest != "" {
		g.writer.add(topic, backend.Op{Kind: backend.OpGuest, Guest: guest, For: g.cfg.Age})
	}
}

// forget removes a guest from a topic.
func (g *guestCounts) forget(topic presence.Topic, guest string) {
	g.writer.add(topic, backend.Op{Kind: backend.OpForgetGuest, Guest: guest, For: g.cfg.Age})
}

// count counts a streaming guest in each topic, unless the guest signed in since the
// connection was opened.
func (g *guestCounts) count(h *holder) {
	if !h.isGuest() {
		return
	}
	h.guest.whileCounted(func() {
		for _, topic := range h.enteredTopics() {
			g.seen(topic, h.guest.id)
		}
	})
}

// forgetIn removes a holder's guest, who signed in, from each topic, and returns the topics. The connection
// no longer counts the guest.
func (g *guestCounts) forgetIn(h *holder) []presence.Topic {
	h.guest.setSignedIn(true)
	if h.isPassing() && !g.users.isPassingAs(h) { // a later stream of the client has the id
		return nil
	}
	topics := h.enteredTopics()
	for _, topic := range topics {
		g.forget(topic, h.guest.id)
	}
	return topics
}

// returned notes that the user of a holder is a guest again. A visitor who signs out may still have a page,
// or the stream of another tab, from before the sign-in. A passing guest has a cookie by now, and counts by that.
func (g *guestCounts) returned(h *holder) { h.guest.setSignedIn(h.isPassing()) }

// tell publishes to the other nodes that a guest signed in.
func (g *guestCounts) tell(guest string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.signedIn) < maxSignedIn {
		g.signedIn[guest] = struct{}{}
	}
	if !g.telling {
		g.telling = true
		g.life.spawn(g.tellSignedIn)
	}
}

// maxSignedIn bounds signedIn: the guests that the other nodes must still hear of.
const maxSignedIn = 1024

// tellSignedIn publishes the notices of guests who signed in, one after the other, because a client can cause
// one with each request. If a notice is lost, the guest still counts in the topics of streams at other nodes,
// while these streams are open and for two age periods more. While the store is out all notices are dropped:
// sent late, they could remove a guest who has signed out again.
func (g *guestCounts) tellSignedIn(ctx context.Context) {
	for {
		g.mu.Lock()
		guests := g.signedIn
		g.signedIn, g.telling = make(map[string]struct{}), len(guests) > 0
		g.mu.Unlock()
		if len(guests) == 0 {
			return
		}
		for guest := range guests {
			if g.publishSignedIn(ctx, guest) != nil {
				break
			}
		}
	}
}

func (g *guestCounts) publishSignedIn(ctx context.Context, guest string) error {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	return g.store.Publish(ctx, backend.Notice{Kind: backend.NoticeGuestSignedIn, Payload: guest})
}

// maxChanged bounds the topics whose figures are asked for at once. Housekeeping updates those of the others.
const maxChanged = 64

// showSoon updates the figures of topics for readers here within the merge window.
func (g *guestCounts) showSoon(topics ...presence.Topic) {
	topics = slices.DeleteFunc(topics, func(t presence.Topic) bool { return g.topics.peek(t) == nil })
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, topic := range topics {
		if len(g.changed) < maxChanged {
			g.changed[topic] = struct{}{}
		}
	}
	if !g.showing && len(g.changed) > 0 {
		g.showing = true
		g.life.spawn(g.showChanged)
	}
}

// showChanged asks for the figures of changed topics: first when the sign-ins are written, and then as often
// as housekeeping does, until no more guests sign in.
func (g *guestCounts) showChanged(ctx context.Context) {
	for pause := max(g.cfg.MergeWindow/2, 2*flushInterval); wait.For(ctx, pause); pause = houseKeeping {
		g.mu.Lock()
		topics := slices.Collect(maps.Keys(g.changed))
		clear(g.changed)
		g.showing = len(topics) > 0
		g.mu.Unlock()
		if len(topics) == 0 {
			return
		}
		g.showFigures(ctx, topics)
	}
}

// showFigures updates the figures of topics for readers here. If the store does not answer, housekeeping
// finds out.
func (g *guestCounts) showFigures(ctx context.Context, topics []presence.Topic) {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	counts, err := g.store.Counts(ctx, topics...)
	if err != nil {
		return
	}
	for i, topic := range topics {
		if r := g.topics.peek(topic); r != nil && !counts[i].Unknown {
			r.takeFigures(counts[i])
		}
	}
}
