package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An index tells every node which topics there are. A topic is noted before
// the first lease is written to it, and again every half minute while it is in
// use; it leaves the index after it was empty for longer than that.
type index struct {
	store *Store
	mu    sync.Mutex
	held  map[presence.Topic]time.Time // noted for leases
	views map[presence.Topic]time.Time // noted for page views and guests
}

const (
	noteEvery = 30 * time.Second
	idleFor   = 2 * time.Minute
)

func newIndex(s *Store) *index {
	return &index{store: s, held: make(map[presence.Topic]time.Time), views: make(map[presence.Topic]time.Time)}
}

func (x *index) key(name string) string { return x.store.cfg.Prefix + ":{index}:" + name }

// note puts the topics of batches that are about to be written into the index.
func (x *index) note(ctx context.Context, batches []presence.Batch) error {
	var held, views []presence.Topic
	now := x.store.localTime()
	x.mu.Lock()
	for _, b := range batches {
		lease, view := needs(b)
		if lease && now.Sub(x.held[b.Topic]) > noteEvery {
			held = append(held, b.Topic)
		}
		if view && now.Sub(x.views[b.Topic]) > noteEvery {
			views = append(views, b.Topic)
		}
	}
	x.mu.Unlock()
	if len(held)+len(views) == 0 {
		return nil
	}
	args := []any{x.store.now(), len(held)}
	for _, t := range append(held[:len(held):len(held)], views...) {
		args = append(args, string(t))
	}
	keys := []string{x.key("due"), x.key("views"), x.key("seen"), x.key("due:idle"), x.key("views:idle")}
	if err := x.store.run(ctx, &eval{script: indexScript, keys: keys, args: args}); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	remember(x.held, held, now)
	remember(x.views, views, now)
	return nil
}

// forget makes the next write of every topic note it: the server may have lost
// the index.
func (x *index) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.held)
	clear(x.views)
}

// needs reports whether a batch makes leases, and whether it fills the sets.
func needs(b presence.Batch) (lease, view bool) {
	for _, op := range b.Ops {
		switch op.Kind {
		case presence.OpJoin, presence.OpRelease, presence.OpHeartbeat:
			lease = true
		case presence.OpSeen:
			lease, view = true, true
		case presence.OpGuest:
			view = true
		}
	}
	return lease, view
}

func remember(noted map[presence.Topic]time.Time, topics []presence.Topic, at time.Time) {
	if len(noted) > 10_000 { // it is only a cache
		clear(noted)
	}
	for _, t := range topics {
		noted[t] = at
	}
}
