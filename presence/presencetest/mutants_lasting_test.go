package presencetest_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// lastingMutants keep chosen statuses and the secret wrongly.
func lastingMutants() map[string]mutant {
	telling := func(caught string, publish func(context.Context, backend.Store, backend.Notice) error) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, publish: func(ctx context.Context, n backend.Notice) error { return publish(ctx, s, n) }}
		}}
	}
	return map[string]mutant{
		"a sign-out forgets the choice": telling("rule 13/a chosen status outlives", func(ctx context.Context, s backend.Store, n backend.Notice) error {
			if n.Kind == backend.NoticeSignedOut {
				was, _ := s.Statuses(ctx, n.User)
				forgotten := backend.StatusNotice(n.User, presence.Online)
				forgotten.Order = was[0].Order
				_ = s.Publish(ctx, forgotten)
			}
			return s.Publish(ctx, n)
		}),
		"only invisible is kept": {caught: "rule 13/a chosen status outlives", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, statuses: func(all []backend.ChosenStatus) []backend.ChosenStatus {
				for i, chosen := range all {
					if chosen.Status != presence.Invisible {
						all[i] = backend.ChosenStatus{}
					}
				}
				return all
			}}
		}},
		"statuses in another order": {caught: "rule 13/a chosen status outlives", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, statuses: func(all []backend.ChosenStatus) []backend.ChosenStatus {
				slices.Reverse(all)
				return all
			}}
		}},
		"the first choice wins": {caught: "rule 13/the latest choice wins", plant: func(s backend.Store) backend.Store {
			chosen := make(map[presence.UserID]bool)
			return planted{Store: s, publish: func(ctx context.Context, n backend.Notice) error {
				if n.Kind == backend.NoticeStatus {
					if chosen[n.User] {
						n.Ago, n.Order = time.Hour, 0
					}
					chosen[n.User] = true
				}
				return s.Publish(ctx, n)
			}}
		}},
		"a late choice undoes a newer one": telling("rule 13/a choice that is published late", func(ctx context.Context, s backend.Store, n backend.Notice) error {
			n.Ago = 0
			return s.Publish(ctx, n)
		}),
		"a choice replaces one that it does not know": telling("rule 13/a choice does not replace", func(ctx context.Context, s backend.Store, n backend.Notice) error {
			if n.Kind == backend.NoticeStatus && n.Ago == 0 {
				was, _ := s.Statuses(ctx, n.User)
				n.Order = max(n.Order, was[0].Order)
			}
			return s.Publish(ctx, n)
		}),
		"who is refused is not told": telling("rule 13/a choice does not replace", func(ctx context.Context, s backend.Store, n backend.Notice) error {
			if err := s.Publish(ctx, n); !errors.Is(err, presence.ErrLaterChoice) {
				return err
			}
			return nil
		}),
		"a choice forgets the order before it": telling("rule 13/a later choice has a greater order", func(ctx context.Context, s backend.Store, n backend.Notice) error {
			if n.Ago == 0 {
				n.Order = 0
			}
			return s.Publish(ctx, n)
		}),
		"orders are not told": {caught: "rule 13/a later choice has a greater order", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, listen: func(ctx context.Context, fn func(backend.Notice)) (func(), error) {
				return s.Listen(ctx, func(n backend.Notice) {
					n.Order = 0
					fn(n)
				})
			}}
		}},
		"a late choice is ordered by its age": telling("rule 13/a choice that is published late keeps", func(ctx context.Context, s backend.Store, n backend.Notice) error {
			if n.Ago > 0 {
				n.Order = 0
			}
			return s.Publish(ctx, n)
		}),
		"choices are never trimmed": {caught: "rule 13/chosen statuses are trimmed by age", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, trim: func(context.Context, time.Duration, int) (int, error) { return 0, nil }}
		}},
		"the newest choices are trimmed": {caught: "rule 13/chosen statuses are trimmed by number", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, trim: func(ctx context.Context, keep time.Duration, most int) (int, error) {
				return s.Trim(ctx, keep, most-1)
			}}
		}},
		"each node has a secret": {caught: "rule 14/", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, secret: func(_ context.Context, offer []byte) ([]byte, error) { return offer, nil }}
		}},
		"a follow is a heartbeat": {caught: "rule 6/a page that joins an open stream", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpFollow {
					op.Kind = backend.OpHeartbeat
				}
				return []backend.Op{op}
			}}
		}},
		"a follow makes a lease": {caught: "rule 6/a page that joins an open stream", plant: func(s backend.Store) backend.Store {
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpFollow {
					op.Kind = backend.OpJoin
				}
				return []backend.Op{op}
			}}
		}},
	}
}
