package presencetest_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A journal keeps a changed copy of the log of the store below: edit returns the diffs that
// are logged and delivered in place of a diff.
type journal struct {
	backend.Store
	edit func(presence.Topic, backend.Diff) []backend.Diff
	// quiet is called with batches that made no diff, and returns diffs to announce.
	quiet func(backend.Batch, backend.Snapshot) []backend.Diff
	loose bool // prev is left as edit made it

	mu     sync.Mutex
	topics map[presence.Topic]*journalTopic
}

type journalTopic struct {
	below, head presence.DiffID
	log         []backend.Diff
	watchers    map[*func(backend.Diff)]bool
}

func newJournal(below backend.Store) *journal {
	return &journal{Store: below, topics: make(map[presence.Topic]*journalTopic)}
}

func (j *journal) topic(name presence.Topic) *journalTopic {
	t := j.topics[name]
	if t == nil {
		t = &journalTopic{below: backend.Origin, head: backend.Origin, watchers: make(map[*func(backend.Diff)]bool)}
		j.topics[name] = t
	}
	return t
}

// read copies new diffs of the store below.
func (j *journal) read(name presence.Topic) (n int) {
	t := j.topic(name)
	diffs, err := j.Store.Log(context.Background(), name, t.below)
	if err != nil { // it was forgotten
		t.below, t.head, t.log = backend.Origin, backend.Origin, nil
		diffs, _ = j.Store.Log(context.Background(), name, t.below)
	}
	for _, d := range diffs {
		t.below = d.ID
		told := []backend.Diff{d}
		if j.edit != nil {
			told = j.edit(name, d)
		}
		j.announce(t, told)
	}
	return len(diffs)
}

func (j *journal) announce(t *journalTopic, diffs []backend.Diff) {
	for _, d := range diffs {
		if !j.loose {
			d.Prev = t.head
		}
		t.head = d.ID
		t.log = append(t.log, d)
		t.log = slices.Delete(t.log, 0, max(0, len(t.log)-1024))
		for fn := range t.watchers {
			(*fn)(d)
		}
	}
}

func (j *journal) Apply(ctx context.Context, batches []backend.Batch) (results []backend.Result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range batches {
		results = append(results, j.Store.Apply(ctx, []backend.Batch{b})...)
		if j.read(b.Topic) == 0 && j.quiet != nil {
			s, _ := j.Store.Snapshot(ctx, b.Topic)
			j.announce(j.topic(b.Topic), j.quiet(b, s))
		}
	}
	return results
}

func (j *journal) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	swept, err := j.Store.Sweep(ctx, opts)
	for name := range j.topics {
		j.read(name)
	}
	return swept, err
}

func (j *journal) Age(ctx context.Context, period time.Duration) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	turned, err := j.Store.Age(ctx, period)
	for name := range j.topics {
		j.read(name)
	}
	return turned, err
}

func (j *journal) Snapshot(ctx context.Context, name presence.Topic) (backend.Snapshot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s, err := j.Store.Snapshot(ctx, name)
	s.ID = j.topic(name).head
	return s, err
}

func (j *journal) Log(_ context.Context, name presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.topic(name)
	if after == t.head {
		return nil, nil
	}
	if after == "" {
		return slices.Clone(t.log), nil
	}
	i := slices.IndexFunc(t.log, func(d backend.Diff) bool { return d.ID == after })
	if i < 0 && (after != backend.Origin || len(t.log) == 1024) {
		return nil, presence.ErrGap
	}
	return slices.Clone(t.log[i+1:]), nil
}

func (j *journal) Counts(ctx context.Context, names ...presence.Topic) ([]backend.Counts, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all, err := j.Store.Counts(ctx, names...)
	for i := range all {
		all[i].Head = j.topic(names[i]).head
	}
	return all, err
}

func (j *journal) Watch(_ context.Context, name presence.Topic, fn func(backend.Diff)) (func(), error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.topic(name)
	t.watchers[&fn] = true
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(t.watchers, &fn)
	}, nil
}

// EraseUser restarts the logs that name the user, as the store below does.
func (j *journal) EraseUser(ctx context.Context, e backend.Erasure) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := make(map[presence.Topic]backend.Snapshot)
	for name := range j.topics {
		j.read(name)
		before[name], _ = j.Store.Snapshot(ctx, name)
	}
	err := j.Store.EraseUser(ctx, e)
	for name, t := range j.topics {
		after, _ := j.Store.Snapshot(ctx, name)
		if gone := leftOf(before[name], after); len(gone) > 0 {
			j.announce(t, []backend.Diff{{ID: after.ID, Leaves: gone, Total: len(after.Members)}})
		}
		t.below = after.ID
		if slices.ContainsFunc(t.log, e.NamesDiff) {
			t.log = nil
		}
	}
	return err
}

// leftOf returns who is in a snapshot and not in a later one.
func leftOf(before, after backend.Snapshot) (gone []backend.Departure) {
	for _, m := range before.Members {
		if !slices.ContainsFunc(after.Members, func(n presence.Member) bool { return n.ID == m.ID }) {
			gone = append(gone, backend.Departure{ID: m.ID, LastSeen: m.Since})
		}
	}
	return gone
}
