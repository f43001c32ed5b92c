package presence

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MemoryStore is a [Store] in the memory of one process: the whole truth for a
// site that runs as one, and the reference for stores that are shared. Its
// round trips cost nothing. Diffs are delivered before Apply and Sweep return.
//
// It holds what is present, the diffs of the last period and who was last
// seen; nothing of a topic remains when that is gone. Restarting the process
// forgets everything, and the pages that come back put it together again.
type MemoryStore struct {
	epoch string

	mu       sync.Mutex
	seq      uint64
	topics   map[Topic]*memoryTopic
	watchers map[Topic]map[*func(Diff)]struct{}

	notices   sync.Mutex
	listeners map[*func(Notice)]struct{}
	chosen    chosenStatuses
	secret    []byte
}

// NewMemoryStore returns an empty MemoryStore. It needs no closing.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{
		epoch:     strings.ToLower(rand.Text()[:8]),
		topics:    make(map[Topic]*memoryTopic),
		watchers:  make(map[Topic]map[*func(Diff)]struct{}),
		listeners: make(map[*func(Notice)]struct{}),
		chosen:    make(chosenStatuses),
	}
}

var _ Store = (*MemoryStore)(nil)

// nextID names the next diff of any topic. The epoch keeps ids of a process
// apart from those of the one before it.
func (s *MemoryStore) nextID() DiffID {
	s.seq++
	return DiffID(s.epoch + "-" + strconv.FormatUint(s.seq, 36))
}

// topic returns what is known of a topic, and makes room for it where nothing
// is. The caller holds mu.
func (s *MemoryStore) topic(name Topic) *memoryTopic {
	t := s.topics[name]
	if t == nil {
		t = newMemoryTopic()
		s.topics[name] = t
	}
	return t
}

// Apply implements [Store]. It never fails.
func (s *MemoryStore) Apply(_ context.Context, batches []Batch) []Result {
	results := make([]Result, len(batches))
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
func (s *MemoryStore) commit(topic Topic, step *memoryStep) (leaves int) {
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

// Sweep implements [Store].
func (s *MemoryStore) Sweep(_ context.Context, limit int) (Swept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var swept Swept
	for name, t := range s.topics {
		for t.due(time.Now()) {
			if swept.Leases >= limit {
				swept.More = true
				return swept, nil
			}
			step := t.begin(time.Now())
			swept.Leases += step.sweep(min(sweepStep, limit-swept.Leases))
			swept.Leaves += s.commit(name, step)
		}
	}
	return swept, nil
}

// SweepRecent implements [Store]. It looks at every lease.
func (s *MemoryStore) SweepRecent(_ context.Context, within time.Duration, _ int) (Swept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var swept Swept
	for name, t := range s.topics {
		step := t.begin(time.Now())
		swept.Leases += step.sweepRecent(within)
		swept.Leaves += s.commit(name, step)
	}
	return swept, nil
}

// Age implements [Store].
func (s *MemoryStore) Age(_ context.Context, period time.Duration) (int, error) {
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

// Trim implements [Store].
func (s *MemoryStore) Trim(_ context.Context, keep time.Duration, most int) (int, error) {
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

// Watch implements [Store]. fn is called in the middle of the step that made
// the diff.
func (s *MemoryStore) Watch(_ context.Context, topic Topic, fn func(Diff)) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := &fn
	if s.watchers[topic] == nil {
		s.watchers[topic] = make(map[*func(Diff)]struct{})
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
