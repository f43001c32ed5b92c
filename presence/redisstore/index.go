package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// An index tells every node which topics there are. A topic is noted before
// something is written to it, and again while it is in use, so that an index
// that was lost comes back; it leaves the index after it was empty for idleFor.
// There is one of topics with leases, for Sweep, and one of topics with page
// views or guests, for Age.
type index struct {
	store *Store
	mu    sync.Mutex
	noted map[noteKey]time.Time
}

type noteKey struct {
	list  string // "due" or "views"
	topic presence.Topic
}

// A topic is noted again when a quarter of the time has passed that is written
// to it, so at each heartbeat, or after noteEvery. An empty one stays longer
// than any node believes that it noted it.
const (
	noteEvery = 30 * time.Second
	idleFor   = 2 * time.Minute
	noteWait  = 200 * time.Millisecond
	noteMost  = 500    // topics a script
	noteBound = 10_000 // topics that are remembered
)

func newIndex(s *Store) *index { return &index{store: s, noted: make(map[noteKey]time.Time)} }

func (x *index) key(name string) string { return x.store.cfg.Prefix + ":{index}:" + name }

// note puts the topics of batches that are about to be written into the index.
// Where the index is out of reach, it fails only for topics that it may not have;
// the others wait for it for a moment, for on a cluster their own master may be
// well, and their leases are to be renewed.
func (x *index) note(ctx context.Context, batches []presence.Batch) error {
	now := x.store.localTime()
	due := make(map[string][]string)
	must := false
	x.mu.Lock()
	for _, b := range batches {
		for list, every := range needs(b) {
			at, known := x.noted[noteKey{list, b.Topic}]
			if since := now.Sub(at); !known || since > every {
				due[list] = append(due[list], string(b.Topic))
				must = must || !known || since > idleFor/2
			}
		}
	}
	x.mu.Unlock()
	if !must {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, noteWait)
		defer cancel()
	}
	for list, topics := range due {
		for part := range slices.Chunk(topics, noteMost) {
			if err := x.write(ctx, list, part); err != nil {
				if must {
					return err
				}
				continue
			}
			x.remember(list, part, now)
		}
	}
	return nil
}

func (x *index) write(ctx context.Context, list string, topics []string) error {
	keys := []string{x.key(list), x.key(list + ":idle")}
	if list == "due" {
		keys = append(keys, x.key("seen"))
	}
	args := []any{x.store.now()}
	for _, t := range topics {
		args = append(args, t)
	}
	_, err := x.store.runOne(ctx, "note", eval{indexScript, keys, args})
	return err
}

func (x *index) remember(list string, topics []string, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.noted) > noteBound { // it only spares round trips
		clear(x.noted)
	}
	for _, t := range topics {
		x.noted[noteKey{list, presence.Topic(t)}] = at
	}
}

// forget makes the next write of every topic note it: the server may have lost
// the index.
func (x *index) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.noted)
}

// needs returns the lists that a batch's topic must be on, and how old a note
// may be.
func needs(b presence.Batch) map[string]time.Duration {
	lists := make(map[string]time.Duration, 2)
	need := func(list string, length time.Duration) {
		every := min(noteEvery, length/4)
		if was, ok := lists[list]; !ok || every < was {
			lists[list] = every
		}
	}
	for _, op := range b.Ops {
		switch op.Kind {
		case presence.OpJoin, presence.OpHeartbeat, presence.OpRelease:
			need("due", op.For)
		case presence.OpSeen:
			need("due", op.For)
			need("views", op.For)
		case presence.OpGuest:
			need("views", noteEvery)
		}
	}
	return lists
}
