package presencetest_test

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// dropping removes leases that a list names as expired, without looking at them again.
func dropping(ctx context.Context, s backend.Store, keys []leaseKey, kind backend.OpKind) (swept backend.Swept) {
	for _, k := range keys {
		before, _ := s.Counts(ctx, k.topic)
		s.Apply(ctx, []backend.Batch{{Topic: k.topic, Ops: []backend.Op{
			{Kind: kind, User: presence.User{ID: k.user}, Holder: k.holder},
		}}})
		after, _ := s.Counts(ctx, k.topic)
		swept.Leases++
		swept.Leaves += before[0].Total - after[0].Total
	}
	return swept
}

// bookkeeping is a mutant that sweeps by a list of its own.
func bookkeeping(caught string, sweep func(context.Context, backend.Store, *leaseBook) backend.Swept) mutant {
	return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
		book := newLeaseBook()
		return planted{
			Store: s,
			op: func(t presence.Topic, op backend.Op) []backend.Op {
				book.note(t, op)
				return []backend.Op{op}
			},
			sweep: func(ctx context.Context, limit int) (backend.Swept, error) {
				swept := sweep(ctx, s, book)
				rest, err := s.Sweep(ctx, backend.SweepOptions{Limit: limit})
				rest.Leases += swept.Leases
				rest.Leaves += swept.Leaves
				return rest, err
			},
		}
	}}
}

// sweepMutants get sweeps and ageing wrong.
func sweepMutants() map[string]mutant {
	return map[string]mutant{
		"leave at lapse though another lease lives": bookkeeping("rule 1/a user is online while one lease lives",
			func(ctx context.Context, s backend.Store, book *leaseBook) backend.Swept {
				return dropping(ctx, s, book.expired(), backend.OpSignOut)
			}),
		// Which case sees it first is up to the scheduler.
		"gap between read and remove": bookkeeping("rule 2/",
			func(ctx context.Context, s backend.Store, book *leaseBook) backend.Swept {
				keys := book.expired()
				time.Sleep(time.Millisecond)
				return dropping(ctx, s, keys, backend.OpDrop)
			}),
		"leaves counted by every sweeper": {caught: "rule 2/four sweepers", plant: func(s backend.Store) backend.Store {
			var mu sync.Mutex
			var last backend.Swept
			return planted{Store: s, sweep: func(ctx context.Context, limit int) (backend.Swept, error) {
				swept, err := s.Sweep(ctx, backend.SweepOptions{Limit: limit})
				mu.Lock()
				defer mu.Unlock()
				if swept.Leases > 0 {
					last = swept
				} else {
					swept.Leaves, last = last.Leaves, backend.Swept{}
				}
				return swept, err
			}}
		}},
		"a sweep that never says more": {caught: "rule 9/a sweep keeps to its limit", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, sweep: func(ctx context.Context, limit int) (backend.Swept, error) {
				swept, err := s.Sweep(ctx, backend.SweepOptions{Limit: limit})
				swept.More = false
				return swept, err
			}}
		}},
		"a sweep without a limit": {caught: "rule 9/a sweep keeps to its limit", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, sweep: func(ctx context.Context, _ int) (backend.Swept, error) {
				return s.Sweep(ctx, backend.SweepOptions{Limit: 1 << 30})
			}}
		}},
		"no sweep at all": {caught: "rule 2/four sweepers", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, sweep: func(context.Context, int) (backend.Swept, error) {
				return backend.Swept{}, nil
			}}
		}},
		"rotation run twice": {caught: "rule 8/four agers", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, age: func(ctx context.Context, period time.Duration) (int, error) {
				turned, err := s.Age(ctx, period)
				if turned > 0 {
					again, _ := s.Age(ctx, 0)
					turned += again
				}
				return turned, err
			}}
		}},
		"rotation at every call": {caught: "rule 8/page views count for one to two periods", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, age: func(ctx context.Context, _ time.Duration) (int, error) {
				return s.Age(ctx, 0)
			}}
		}},
		"rotation of all topics at once": {caught: "rule 8/each topic has its own period", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, age: func(ctx context.Context, period time.Duration) (int, error) {
				turned, err := s.Age(ctx, period)
				if turned > 0 {
					_, _ = s.Age(ctx, period/2)
					_, _ = s.Age(ctx, 0)
				}
				return turned, err
			}}
		}},
		"no rotation": {caught: "rule 8/after two periods", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, age: func(context.Context, time.Duration) (int, error) { return 0, nil }}
		}},
		"trim by age alone": {caught: "rule 7/it is trimmed by number", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, trim: func(ctx context.Context, keep time.Duration, _ int) (int, error) {
				return s.Trim(ctx, keep, 1<<30)
			}}
		}},
		"trim by number alone": {caught: "rule 7/it is trimmed by age", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, trim: func(ctx context.Context, _ time.Duration, most int) (int, error) {
				return s.Trim(ctx, 10000*time.Hour, most)
			}}
		}},
		"trim forgets everybody": {caught: "rule 7/it is trimmed by number", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, trim: func(ctx context.Context, keep time.Duration, _ int) (int, error) {
				return s.Trim(ctx, keep, 0)
			}}
		}},
	}
}
