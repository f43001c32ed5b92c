package presencetest_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// nodeMutants get the leases of processes wrong.
func nodeMutants() map[string]mutant {
	sweeping := func(caught string, change func(*backend.SweepOptions)) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			sweep := func(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
				change(&opts)
				return s.Sweep(ctx, opts)
			}
			return planted{Store: s, sweepNodes: sweep, sweep: func(ctx context.Context, limit int) (backend.Swept, error) {
				return sweep(ctx, backend.SweepOptions{Limit: limit})
			}}
		}}
	}
	renewing := func(caught string, renew func(context.Context, backend.Store, string, time.Duration) (bool, time.Duration, error)) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, renewNode: func(ctx context.Context, process string, term time.Duration) (bool, time.Duration, error) {
				return renew(ctx, s, process, term)
			}}
		}}
	}
	return map[string]mutant{
		"what was attended for less outlives its process": {caught: "rule 23/what was renewed for less", plant: func(s backend.Store) backend.Store {
			var less atomic.Bool
			return planted{Store: s, op: func(_ presence.Topic, op backend.Op) []backend.Op {
				if op.Kind == backend.OpAttend && op.For < 45*time.Second {
					less.Store(true)
				}
				return []backend.Op{op}
			}, sweepNodes: func(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
				opts.Nodes = opts.Nodes && !less.Load()
				return s.Sweep(ctx, opts)
			}}
		}},
		"every attend is a proof of its moment": rewriting("rule 7/a renewal for less", func(op backend.Op) []backend.Op {
			if op.Kind == backend.OpAttend && op.For < 45*time.Second {
				op.User.Name = "Name of " + string(op.User.ID)
				return []backend.Op{with(op, backend.OpJoin, op.Holder)}
			}
			return []backend.Op{op}
		}),
		"no process is swept":        sweeping("rule 23/what hangs on a lapsed process", func(o *backend.SweepOptions) { o.Nodes = false }),
		"processes are swept always": sweeping("rule 23/only a sweep that is asked", func(o *backend.SweepOptions) { o.Nodes = true }),
		"a process always had a lease": renewing("rule 23/a renewal says", func(ctx context.Context, s backend.Store, process string, term time.Duration) (bool, time.Duration, error) {
			_, next, err := s.RenewNode(ctx, process, term)
			return true, next, err
		}),
		"a process never had a lease": renewing("rule 23/a renewal says", func(ctx context.Context, s backend.Store, process string, term time.Duration) (bool, time.Duration, error) {
			_, next, err := s.RenewNode(ctx, process, term)
			return false, next, err
		}),
		"processes of one node are one": renewing("rule 23/a renewal says", func(ctx context.Context, s backend.Store, _ string, term time.Duration) (bool, time.Duration, error) {
			return s.RenewNode(ctx, "a.p", term)
		}),
		"no process is about to lapse": renewing("rule 23/a renewal says when", func(ctx context.Context, s backend.Store, process string, term time.Duration) (bool, time.Duration, error) {
			alive, _, err := s.RenewNode(ctx, process, term)
			return alive, term, err
		}),
		"a process that ends lapses": renewing("rule 23/a process that ends", func(ctx context.Context, s backend.Store, process string, term time.Duration) (bool, time.Duration, error) {
			return s.RenewNode(ctx, process, max(term, 1))
		}),
		"a term of twice the length": renewing("rule 23/", func(ctx context.Context, s backend.Store, process string, term time.Duration) (bool, time.Duration, error) {
			return s.RenewNode(ctx, process, 2*term)
		}),
		"a term of half the length": renewing("rule 23/", func(ctx context.Context, s backend.Store, process string, term time.Duration) (bool, time.Duration, error) {
			return s.RenewNode(ctx, process, term/2)
		}),
	}
}
