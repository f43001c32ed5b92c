package memstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Store is a [presence.Store] in the memory of one process: the whole truth for a
// site that runs as one, and the reference for stores that are shared. Its
// round trips cost nothing. Diffs are delivered before Apply and Sweep return.
//
// It holds what is present, the diffs of the last period and who was last
// seen; nothing of a topic remains when that is gone. Restarting the process
// forgets everything, and the pages that come back put it together again.
type Store struct {
	epoch string

	mu       sync.Mutex
	seq      uint64
	topics   map[presence.Topic]*topicState
	watchers map[presence.Topic]map[*func(presence.Diff)]struct{}

	notices   sync.Mutex
	listeners map[*func(presence.Notice)]struct{}
	chosen    chosenStatuses
	secret    []byte
}

// New returns an empty Store. It needs no closing.
func New() *Store {
	return &Store{
		epoch:     strings.ToLower(rand.Text()[:8]),
		topics:    make(map[presence.Topic]*topicState),
		watchers:  make(map[presence.Topic]map[*func(presence.Diff)]struct{}),
		listeners: make(map[*func(presence.Notice)]struct{}),
		chosen:    make(chosenStatuses),
	}
}

var _ presence.Store = (*Store)(nil)

// nextID names the next diff of any topic. The epoch keeps ids of a process
// apart from those of the one before it.
func (s *Store) nextID() presence.DiffID {
	s.seq++
	return presence.DiffID(s.epoch + "-" + strconv.FormatUint(s.seq, 36))
}

// topic returns what is known of a topic, and makes room for it where nothing
// is. The caller holds mu.
func (s *Store) topic(name presence.Topic) *topicState {
	t := s.topics[name]
	if t == nil {
		t = newTopicState()
		s.topics[name] = t
	}
	return t
}

// Apply implements [presence.Store]. It never fails.
func (s *Store) Apply(_ context.Context, batches []presence.Batch) []presence.Result {
	results := make([]presence.Result, len(batches))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range batches {
		step := s.topic(b.Topic).begin(time.Now())
		for j, op := range b.Ops {
			if !step.apply(op) {
				results[i].Unknown = append(results[i].Unknown, j)
			}
		}
		s.commit(b.Topic, step)
	}
	return results
}

// commit ends a step: state, log entry and delivery belong together (rule 3).
// The caller holds mu.
func (s *Store) commit(topic presence.Topic, step *atomicStep) (leaves int) {
	diff := step.diff()
	if diff == nil {
		return 0
	}
	diff.ID, diff.Prev = s.nextID(), step.topic.head
	step.topic.record(*diff, step.now)
	for fn := range s.watchers[topic] {
		(*fn)(*diff)
	}
	return len(diff.Leaves)
}

// sweepStep is the most expired leases that one step of a sweep removes.
const sweepStep = 500

// Sweep implements [presence.Store]. With RenewedWithin it looks at every lease.
func (s *Store) Sweep(_ context.Context, opts presence.SweepOptions) (presence.Swept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if opts.RenewedWithin != 0 {
		return s.sweepRecent(opts.RenewedWithin), nil
	}
	var swept presence.Swept
	for name, t := range s.topics {
		for t.due(time.Now()) {
			if swept.Leases >= opts.Limit {
				swept.More = true
				return swept, nil
			}
			step := t.begin(time.Now())
			swept.Leases += step.sweep(min(sweepStep, opts.Limit-swept.Leases))
			swept.Leaves += s.commit(name, step)
		}
	}
	return swept, nil
}

func (s *Store) sweepRecent(within time.Duration) (swept presence.Swept) {
	for name, t := range s.topics {
		step := t.begin(time.Now())
		swept.Leases += step.sweepRecent(within)
		swept.Leaves += s.commit(name, step)
	}
	return swept
}

// Age implements [presence.Store].
func (s *Store) Age(_ context.Context, period time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Trim implements [presence.Store].
func (s *Store) Trim(_ context.Context, keep time.Duration, most int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forgotten, now := 0, time.Now()
	for _, t := range s.topics {
		forgotten += t.trim(now.Add(-keep), most)
	}
	s.notices.Lock()
	defer s.notices.Unlock()
	return forgotten + s.chosen.trim(now.Add(-keep), most), nil
}

// Watch implements [presence.Store]. fn is called in the middle of the step that made
// the diff.
func (s *Store) Watch(_ context.Context, topic presence.Topic, fn func(presence.Diff)) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := &fn
	if s.watchers[topic] == nil {
		s.watchers[topic] = make(map[*func(presence.Diff)]struct{})
	}
	s.watchers[topic][key] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers[topic], key)
		if len(s.watchers[topic]) == 0 {
			delete(s.watchers, topic)
		}
	}, nil
}
