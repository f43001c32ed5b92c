package presencetest_test

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// deadlineMutants do what comes too late.
func deadlineMutants() map[string]mutant {
	const caught = "rule 26/what comes after"
	return map[string]mutant{
		"a late batch is applied": {caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, apply: func(ctx context.Context, batches []backend.Batch) []backend.Result {
				return s.Apply(context.WithoutCancel(ctx), batches)
			}}
		}},
		"a late renewal counts": {caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, renewNode: func(ctx context.Context, process string, term time.Duration) (bool, time.Duration, error) {
				return s.RenewNode(context.WithoutCancel(ctx), process, term)
			}}
		}},
		"a late choice is kept": {caught: caught, plant: func(s backend.Store) backend.Store {
			return planted{Store: s, publish: func(ctx context.Context, n backend.Notice) error {
				return s.Publish(context.WithoutCancel(ctx), n)
			}}
		}},
	}
}
