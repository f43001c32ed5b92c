package presencetest_test

import (
	"context"
	"maps"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// forgetful is a store that keeps the records of consumers wrongly.
type forgetful struct {
	backend.Store
	claim  func(backend.ConsumerClaim) backend.ConsumerClaim
	commit func(context.Context, string, backend.ConsumerStep) (backend.ConsumerState, error)
	read   func(entries map[string]string)
	name   func(string) string
}

func (f forgetful) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	if f.name != nil {
		consumer = f.name(consumer)
	}
	if f.claim != nil {
		claim = f.claim(claim)
	}
	return f.Store.ClaimConsumer(ctx, consumer, claim)
}

func (f forgetful) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	if f.name != nil {
		consumer = f.name(consumer)
	}
	if f.commit != nil {
		return f.commit(ctx, consumer, step)
	}
	return f.Store.CommitConsumer(ctx, consumer, step)
}

func (f forgetful) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	if f.name != nil {
		consumer = f.name(consumer)
	}
	entries, err := f.Store.ReadConsumer(ctx, consumer)
	if f.read != nil {
		f.read(entries)
	}
	return entries, err
}

// consumerMutants keep the records of consumers wrongly.
func consumerMutants() map[string]mutant {
	committing := func(caught string, commit func(context.Context, backend.Store, string, backend.ConsumerStep) (backend.ConsumerState, error)) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store {
			return forgetful{Store: s, commit: func(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
				return commit(ctx, s, consumer, step)
			}}
		}}
	}
	claiming := func(caught string, claim func(backend.ConsumerClaim) backend.ConsumerClaim) mutant {
		return mutant{caught: caught, plant: func(s backend.Store) backend.Store { return forgetful{Store: s, claim: claim} }}
	}
	return map[string]mutant{
		"every claim makes a record": claiming("rule 20/a missing record", func(c backend.ConsumerClaim) backend.ConsumerClaim {
			c.Create = true
			return c
		}),
		"a claim takes the record from its holder": claiming("rule 20/one holder", func(c backend.ConsumerClaim) backend.ConsumerClaim {
			c.For = 0
			return c
		}),
		"a record is held for ever": claiming("rule 20/one holder", func(c backend.ConsumerClaim) backend.ConsumerClaim {
			c.For *= 1000
			return c
		}),
		"a commit makes a record": committing("rule 20/a missing record", func(ctx context.Context, s backend.Store, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
			_, _ = s.ClaimConsumer(ctx, consumer, backend.ConsumerClaim{Holder: step.Holder, For: step.For, Create: true})
			return s.CommitConsumer(ctx, consumer, step)
		}),
		"a commit does not lengthen": committing("rule 20/a commit lengthens", func(ctx context.Context, s backend.Store, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
			if len(step.Set)+len(step.Delete) == 0 && step.For > 0 {
				return backend.ConsumerHeld, nil
			}
			return s.CommitConsumer(ctx, consumer, step)
		}),
		"a record is not given up": committing("rule 20/a commit lengthens", func(ctx context.Context, s backend.Store, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
			step.For = max(step.For, 1e9)
			return s.CommitConsumer(ctx, consumer, step)
		}),
		"a former holder may write": committing("rule 20/a commit of a former holder", func(ctx context.Context, s backend.Store, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
			state, err := s.CommitConsumer(ctx, consumer, step)
			if state == backend.ConsumerTaken {
				step.Holder = "b"
				_, _ = s.CommitConsumer(ctx, consumer, step)
			}
			return state, err
		}),
		"a step is not atomic": committing("rule 20/a step is read", func(ctx context.Context, s backend.Store, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
			step.Delete = nil // lost with the answer
			return s.CommitConsumer(ctx, consumer, step)
		}),
		"a step expects nothing": committing("rule 20/a step that finds", func(ctx context.Context, s backend.Store, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
			step.Expect = nil
			return s.CommitConsumer(ctx, consumer, step)
		}),
		"a step that is repeated appends": {caught: "rule 20/a step that is repeated", plant: func(s backend.Store) backend.Store {
			return forgetful{Store: s, commit: func(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
				now, _ := s.ReadConsumer(ctx, consumer)
				step.Set = maps.Clone(step.Set)
				for key := range step.Set {
					if was, ok := now[key]; ok && consumer != "" && key == "k" {
						step.Set[key] = was + step.Set[key]
					}
				}
				return s.CommitConsumer(ctx, consumer, step)
			}}
		}},
		"a large record is cut": {caught: "rule 20/a large record", plant: func(s backend.Store) backend.Store {
			return forgetful{Store: s, read: func(entries map[string]string) {
				n := 0
				for key := range entries {
					if n++; n > 1000 {
						delete(entries, key)
					}
				}
			}}
		}},
		"one record for all consumers": {caught: "rule 20/records of two", plant: func(s backend.Store) backend.Store {
			return forgetful{Store: s, name: func(string) string { return "one" }}
		}},
	}
}
