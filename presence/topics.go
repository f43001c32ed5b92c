package presence

import (
	"context"
	"math/rand/v2"
	"time"
)

// Waits for a topic that is not in memory yet: of a page, and of a stream.
const (
	viewWait    = 50 * time.Millisecond
	connectWait = 2 * time.Second
	loadTimeout = 10 * time.Second
)

// houseKeeping is how often figures are asked for, so that they lag by less
// than a second.
const houseKeeping = 500 * time.Millisecond

// View returns a topic as it is known here, from memory. For a topic that
// nobody here looked at lately it waits for the store, until the deadline of
// ctx, or 50 ms where that has none, so that a page never waits for long. It
// returns [ErrStoreOut] if nothing is known then.
func (t *Tracker) View(ctx context.Context, topic Topic) (*View, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, viewWait)
		defer cancel()
	}
	r, err := t.replica(ctx, topic)
	if err != nil {
		return nil, err
	}
	return r.view.Load(), nil
}

// replica returns a topic's replica once it is loaded.
func (t *Tracker) replica(ctx context.Context, topic Topic) (*replica, error) {
	t.mu.Lock()
	r, err := t.lookAt(topic)
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case <-r.loaded:
		return r, nil
	default:
	}
	select {
	case <-r.loaded:
		return r, nil
	case <-r.tried:
		return nil, ErrStoreOut
	case <-ctx.Done():
		return nil, ErrStoreOut
	case <-t.life.Done():
		return nil, ErrClosed
	}
}

// lookAt returns a topic's replica, and has one that is new loaded. The caller
// holds mu.
func (t *Tracker) lookAt(topic Topic) (*replica, error) {
	r := t.replicas[topic]
	if r == nil {
		if t.closed {
			return nil, ErrClosed
		}
		if len(t.replicas) >= t.cfg.MaxTopics && !t.makeRoom() {
			return nil, ErrStoreOut
		}
		r = newReplica(topic, t.topicEnv())
		t.replicas[topic] = r
		t.spawn(func(ctx context.Context) { t.load(ctx, r) })
	}
	r.out.touch()
	return r, nil
}

func (t *Tracker) topicEnv() *topicEnv {
	return &topicEnv{store: t.store, cfg: &t.cfg, stats: &t.stats, spawn: t.spawn, restore: t.restore, probes: &t.probes}
}

// load reads a topic, again and again until the store gives it or nobody asks
// any more.
func (t *Tracker) load(ctx context.Context, r *replica) {
	for backoff := backoffFirst; ; backoff = min(2*backoff, backoffLast) {
		try, cancel := context.WithTimeout(ctx, loadTimeout)
		err := r.load(try)
		cancel()
		if err == nil {
			return
		}
		if backoff == backoffFirst {
			close(r.tried) // who waits goes on without
		}
		if !wait(ctx, backoff/2+rand.N(backoff)) {
			return
		}
		if r.out.idle(t.cfg.TopicIdle) {
			t.forget(r)
			return
		}
	}
}

// wait returns false if ctx ended meanwhile.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// forget closes a replica, unless somebody came meanwhile.
func (t *Tracker) forget(r *replica) {
	t.mu.Lock()
	gone := t.replicas[r.out.topic] == r && r.out.idle(t.cfg.TopicIdle)
	if gone {
		delete(t.replicas, r.out.topic)
	}
	t.mu.Unlock()
	if gone {
		r.close()
	}
}

// roomEvery is the least time between two looks for topics that can be forgotten.
const roomEvery = time.Second

// makeRoom forgets the topics that nobody here streams, so that topics made up
// by a stranger cost bounded memory. It looks once a second at most. The caller holds
// mu.
func (t *Tracker) makeRoom() bool {
	if time.Since(t.madeRoom) < roomEvery { // it looks at every topic
		return false
	}
	t.madeRoom = time.Now()
	made := false
	for topic, r := range t.replicas {
		if r.out.idle(time.Second) {
			delete(t.replicas, topic)
			t.spawn(func(context.Context) { r.close() })
			made = true
		}
	}
	return made
}

func (t *Tracker) allReplicas() []*replica {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*replica, 0, len(t.replicas))
	for _, r := range t.replicas {
		all = append(all, r)
	}
	return all
}

// keepHouse keeps the figures of the topics here current, in one round trip
// for all, and forgets topics that nobody looks at.
func (t *Tracker) keepHouse(ctx context.Context) {
	tick := time.NewTicker(houseKeeping)
	defer tick.Stop()
	clean := time.NewTicker(max(t.cfg.Grace, houseKeeping))
	defer clean.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clean.C:
			t.mu.Lock()
			t.past.forget(&t.cfg)
			t.mu.Unlock()
		case <-tick.C:
			t.refresh(ctx)
		}
	}
}

func (t *Tracker) refresh(ctx context.Context) {
	var current []*replica
	var topics []Topic
	var at []int
	for _, r := range t.allReplicas() {
		if r.out.idle(t.cfg.TopicIdle) {
			t.forget(r)
		} else if r.view.Load() != nil {
			current, topics, at = append(current, r), append(topics, r.out.topic), append(at, r.position())
		}
	}
	if len(topics) == 0 {
		topics = []Topic{Site} // Sweep asks whether the store is there
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	counts, err := t.store.Counts(ctx, topics...)
	if t.life.Err() != nil {
		return
	}
	t.writer.report(reads, err)
	if err == nil {
		t.retell(ctx)
	}
	for i, r := range current {
		if err != nil || counts[i].Unknown || t.writer.isOut() {
			r.markStale()
		} else {
			r.refresh(at[i], counts[i])
		}
	}
}
