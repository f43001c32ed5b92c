package memstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Store implements [backend.Store]. All methods may be called concurrently. Diffs are
// delivered before Apply and Sweep return, notices before Publish returns.
//
// It holds the users who are online, the diffs of the last period, when users were last
// seen, and what a [presence.Kind] asks for. A topic without these takes no memory.
type Store struct {
	epoch string // of this process, in every diff's id

	mu       sync.Mutex // guards the fields down to watchers; held while watchers are called
	seq      uint64
	inner    uint64 // the same for reserved topics, so that versions of other topics do not reveal changes in them
	topics   map[presence.Topic]*topicState
	peaks    map[presence.Topic]backend.Peak // separate from topics, because topics are forgotten
	watchers map[presence.Topic][]*backend.Watcher
	nodes    map[string]nodeLease

	// These have mutexes of their own.
	*bus
	*consumers
	*erasures
}

// New returns an empty Store. It needs no closing.
func New() *Store {
	epoch := strings.ToLower(rand.Text()[:8])
	return &Store{
		epoch:     epoch,
		topics:    make(map[presence.Topic]*topicState),
		peaks:     make(map[presence.Topic]backend.Peak),
		watchers:  make(map[presence.Topic][]*backend.Watcher),
		nodes:     make(map[string]nodeLease),
		bus:       &bus{listeners: make(map[*func(backend.Notice)]struct{}), chosen: make(map[presence.UserID]backend.ChosenStatus)},
		consumers: &consumers{byName: make(map[string]*consumer)},
		erasures:  &erasures{byUser: make(map[presence.UserID]keptErasure)},
	}
}

var _ backend.Store = (*Store)(nil)

// String returns what a log calls the store: "memory".
func (s *Store) String() string { return "memory" }

// Check implements [backend.Store]: memory is always fit.
func (s *Store) Check(context.Context) error { return nil }

// Stats implements [backend.Store].
func (s *Store) Stats() backend.StoreStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return backend.StoreStats{Topics: len(s.topics)}
}

// nextIDLocked returns the id of the next diff of any topic. Ids of two processes never coincide. The caller
// holds mu.
func (s *Store) nextIDLocked(topic presence.Topic) presence.DiffID {
	seq := &s.seq
	if topic.Reserved() {
		seq = &s.inner
	}
	*seq++
	return presence.DiffID(s.epoch + "-" + strconv.FormatUint(*seq, 36))
}

// Apply implements [backend.Store]. It fails only if ctx has ended. All operations of a call have one time,
// however long the listeners take.
func (s *Store) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	results := make([]backend.Result, len(batches))
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i, b := range batches {
		if results[i].Err = ctx.Err(); results[i].Err != nil { // rule 4
			continue
		}
		t := s.topics[b.Topic]
		if t == nil {
			t = newTopicState()
			s.topics[b.Topic] = t
		}
		t.setKeep(b.Keep)
		step := t.begin(now)
		step.peak = s.peaks[b.Topic]
		results[i].Unknown = step.merge(b.Ops)
		s.commitLocked(b.Topic, step)
		if record := step.record(); b.Keep.Peak && record != (backend.Peak{}) {
			s.peaks[b.Topic] = record
		}
	}
	return results
}

// commitLocked ends a step: it logs and delivers the step's diff (rule 2). It returns how
// many users left. The caller holds mu.
func (s *Store) commitLocked(topic presence.Topic, step *atomicStep) (leaves int) {
	diff := step.diff()
	if diff == nil {
		return 0
	}
	diff.ID, diff.Prev, diff.At = s.nextIDLocked(topic), step.topic.head, step.now
	step.topic.append(*diff, step.now)
	for _, w := range s.watchers[topic] {
		if w.Diff != nil {
			w.Diff(*diff)
		}
	}
	return len(diff.Leaves)
}

// maxSweepStep is how many expired leases one step of a sweep removes at most.
const maxSweepStep = 500

// Sweep implements [backend.Store].
func (s *Store) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return backend.Swept{}, err
	}
	var swept backend.Swept
	if opts.Limit == 0 {
		return swept, nil
	}
	if opts.Nodes {
		swept = s.sweepNodesLocked()
	}
	expired, next := 0, opts.Soonest
	for name, t := range s.topics {
		for t.due(time.Now()) {
			if expired >= opts.Limit {
				swept.More = true
				return swept, nil
			}
			step := t.begin(time.Now())
			n := step.sweep(min(maxSweepStep, opts.Limit-expired))
			expired, swept.Leases = expired+n, swept.Leases+n
			swept.Leaves += s.commitLocked(name, step)
		}
		if first, any := t.expiry.Min(); any {
			next = min(next, time.Until(first.expires))
		}
	}
	if opts.Soonest > 0 {
		swept.Next = next
	}
	return swept, nil
}

// Age implements [backend.Store].
func (s *Store) Age(ctx context.Context, period time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	turned, now := 0, time.Now()
	for name, t := range s.topics {
		if t.age(now, period) {
			turned++
		}
		t.forget(now, period)
		if t.empty() {
			delete(s.topics, name)
		}
	}
	return turned, nil
}

// Trim implements [backend.Store].
func (s *Store) Trim(ctx context.Context, keep time.Duration, most int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	forgotten, now := 0, time.Now()
	for _, t := range s.topics {
		forgotten += trim(t.seen, func(at time.Time) time.Time { return at }, now.Add(-keep), most)
	}
	return forgotten + s.bus.trim(now.Add(-keep), most), nil
}
