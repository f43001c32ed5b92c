package redisstore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Watch implements [presence.Store]. It costs one round trip, or none if the topic is
// watched here already.
func (s *Store) Watch(ctx context.Context, topic presence.Topic, fn func(presence.Diff)) (func(), error) {
	return s.subscribe(ctx, "watch", s.diffTap(topic, fn))
}

func (s *Store) diffTap(topic presence.Topic, fn func(presence.Diff)) *tap {
	t := &tap{store: s, base: s.channel(topic)}
	t.fn = func(message string) {
		if isBroadcast(message) {
			return
		}
		d, err := decodeMessage(message)
		if err != nil {
			s.invalid.Add(1) // it shows as a gap
			return
		}
		fn(d)
	}
	t.look = func(message string) {
		id, _, _ := strings.Cut(message, " ")
		if id == "" {
			id = string(unknownDiff)
		} else if !validDiffID(id) {
			s.invalid.Add(1)
			return
		}
		fn(presence.Diff{ID: presence.DiffID(id), Prev: unknownDiff})
	}
	return t
}

// unknownDiff is an id that no diff has. A diff with this Prev is a gap to every reader,
// who then reads the log.
const unknownDiff = presence.DiffID("unknown")

// A tap is a subscription whose channels change: the keyspace gets a new id after it was
// wiped, and nodes of version 1 come and go.
type tap struct {
	store *Store
	base  string       // the channel's name without the keyspace's id; that of version 1
	fn    func(string) // takes a message
	// look takes a message of version 1, or "": the log may have a new diff. Nil: version 1
	// has no such channel.
	look func(string)

	mu      sync.Mutex // around the calls of fn and look
	stopped bool
	again   *time.Timer

	on, old       string // names of the channels, by the mutex of the store's taps
	leave, depart func() // end the subscriptions to on and to old
}

// taps are the taps of a store.
type taps struct {
	mu  sync.Mutex
	all map[*tap]struct{}
}

// subscribe starts a tap, under the breaker of reads. It needs no goroutine of the breaker:
// waiting for a subscription ends with ctx.
func (s *Store) subscribe(ctx context.Context, op string, t *tap) (stop func(), err error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	if !s.reads.enter() {
		return nil, wrap(op, presence.ErrStoreOut)
	}
	bound, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	t.on = t.base + s.place()
	t.leave, err = s.pubsub.subscribe(bound, t.on, s.sharded(bound), t.take)
	if err == nil && t.look != nil && s.legacy() {
		t.old = t.base
		if t.depart, err = s.pubsub.subscribe(bound, t.old, s.sharded(bound), t.hint); err != nil {
			t.leave()
		}
	}
	if err = s.reads.leave(ctx, err); err != nil {
		return nil, wrap(op, err)
	}
	s.taps.mu.Lock()
	s.taps.all[t] = struct{}{}
	s.taps.mu.Unlock()
	return t.stop, nil
}

// stop ends the tap. After it has returned, no call of its functions is under way.
func (t *tap) stop() {
	t.mu.Lock()
	t.stopped = true
	if t.again != nil {
		t.again.Stop()
	}
	t.mu.Unlock()
	s := t.store
	s.taps.mu.Lock()
	defer s.taps.mu.Unlock()
	delete(s.taps.all, t)
	for _, leave := range []func(){t.leave, t.depart} {
		if leave != nil {
			leave()
		}
	}
	t.leave, t.depart = nil, nil
}

func (t *tap) take(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.fn(message)
	}
}

// hintAgain is the time after which a hint is repeated: the reader may have been reading
// the log when the first one came.
const hintAgain = 150 * time.Millisecond

// hint takes a message of version 1, or an empty one.
func (t *tap) hint(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || t.look == nil {
		return
	}
	t.look(message)
	if t.again != nil {
		t.again.Stop()
	}
	t.again = time.AfterFunc(hintAgain, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.stopped {
			t.look(message)
		}
	})
}

// tend moves all taps to their present channels. A tap that moved makes its reader read the
// log once the new subscription is confirmed.
func (s *Store) tend() {
	place, legacy := s.place(), s.legacy()
	if place == "" {
		return
	}
	sharded := s.sharded(s.pubsub.life)
	s.taps.mu.Lock()
	defer s.taps.mu.Unlock()
	for t := range s.taps.all {
		if on := t.base + place; on != t.on {
			if leave := s.follow(t, on, sharded, t.take); leave != nil {
				t.leave()
				t.on, t.leave = on, leave
			}
		}
		switch want := legacy && t.look != nil; {
		case want && t.depart == nil:
			t.old = t.base
			t.depart = s.follow(t, t.old, sharded, t.hint)
		case !want && t.depart != nil:
			t.depart()
			t.depart = nil
		}
	}
}

// follow subscribes to a channel in the background. It returns nil if the store is closed.
func (s *Store) follow(t *tap, name string, sharded bool, fn func(string)) (leave func()) {
	key := &fn
	c := s.pubsub.join(name, sharded, key)
	if c == nil {
		return nil
	}
	s.pubsub.background(func(ctx context.Context) {
		if s.pubsub.await(ctx, c) == nil {
			t.hint("")
		}
	})
	return func() { s.pubsub.leave(c, key) }
}

// channel is the name of a topic's channel without the keyspace's id.
func (s *Store) channel(topic presence.Topic) string { return s.key(topic, "diffs") }
