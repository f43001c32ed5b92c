package presencetest_test

import (
	"context"
	"strconv"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A teller tells the topics that were written, and forgets some of them.
type teller struct {
	backend.Store
	forgets func(backend.Op) bool
	trusts  bool // any mark is good

	mu    sync.Mutex
	calls []presence.Topic
}

func (s *teller) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	results := s.Store.Apply(ctx, batches)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range batches {
		if !s.forgets(b.Ops[0]) {
			s.calls = append(s.calls, b.Topic)
		}
	}
	return results
}

func (s *teller) Changes(_ context.Context, mark string) (backend.Changes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := backend.Changes{Mark: strconv.Itoa(len(s.calls))}
	at, err := strconv.Atoi(mark)
	if (err != nil || at > len(s.calls) || mark == "0") && !s.trusts {
		c.All = true
		return c, nil
	}
	c.Topics = s.calls[min(max(at, 0), len(s.calls)):]
	return c, nil
}

func changesMutants() map[string]mutant {
	return map[string]mutant{
		"a guest is not told": {func(s backend.Store) backend.Store {
			return &teller{Store: s, forgets: func(op backend.Op) bool { return op.Kind == backend.OpGuest }}
		}, "rule 27/each topic"},
		"sweeps are not told": {func(s backend.Store) backend.Store {
			return &teller{Store: s, forgets: func(backend.Op) bool { return false }}
		}, "rule 27/each topic"},
		"any mark is good": {func(s backend.Store) backend.Store {
			return &teller{Store: s, forgets: func(backend.Op) bool { return false }, trusts: true}
		}, "rule 27/an unknown mark"},
	}
}
