package track

import (
	"context"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// goneLeases makes leases again that a heartbeat found gone, because the store lost them, this node was out of reach for
// longer than they last, or the user signed out. It first hears every notice that was published before, so that a user who
// signed out stays out. So the pages which are left are of after any sign-out. Where that was shortly before, they join anew: the
// moment of a sign-out that a node hears late may be wrong by seconds. The lease of a visit is made again by the page's next beat, or after a restore.
//
// Example: node B cannot reach Redis for ten minutes, and Alice signs out at node A meanwhile. B's next heartbeat finds her
// lease gone. B hears the sign-out first, ends her connection, and so has nothing to make again.
type goneLeases struct {
	life   *lifetime
	users  *users
	writer *writer
	hear   func(context.Context) bool

	mu      sync.Mutex // taken with no other mutex held
	found   map[goneLease]struct{}
	hearing bool // a goroutine makes them
}

type goneLease struct {
	topic  presence.Topic
	member presence.UserID
}

// add takes leases of which a topic has none any more.
func (g *goneLeases) add(topic presence.Topic, members []presence.UserID) {
	if len(members) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.found == nil {
		g.found = make(map[goneLease]struct{})
	}
	for _, member := range members {
		g.found[goneLease{topic, member}] = struct{}{}
	}
	if !g.hearing {
		g.hearing = true
		g.life.spawn(g.make)
	}
}

func (g *goneLeases) make(ctx context.Context) {
	for {
		g.mu.Lock()
		found := g.found
		g.found, g.hearing = nil, len(found) > 0
		g.mu.Unlock()
		if len(found) == 0 || !g.hear(ctx) {
			return
		}
		for l := range found {
			g.users.joinedAnew(l.topic, l.member)
			g.writer.put(l.topic, cell{member: l.member, pages: leaseCell{need: toMake}})
		}
	}
}
