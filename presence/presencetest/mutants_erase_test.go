package presencetest_test

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// eraser is a store that erases users, or keeps the list of erasures, wrongly.
type eraser struct {
	backend.Store
	erase func(backend.Store, backend.Erasure) error
	claim func(s backend.Store, most int, hold time.Duration) ([]backend.Erasure, error)
	end   func(backend.Store, backend.Erasure) error
}

func (s eraser) EraseUser(ctx context.Context, e backend.Erasure) error {
	if s.erase == nil {
		return s.Store.EraseUser(ctx, e)
	}
	return s.erase(s.Store, e)
}

func (s eraser) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	if s.claim == nil {
		return s.Store.ClaimErasures(ctx, most, hold)
	}
	return s.claim(s.Store, most, hold)
}

func (s eraser) EndErasure(ctx context.Context, e backend.Erasure) error {
	if s.end == nil {
		return s.Store.EndErasure(ctx, e)
	}
	return s.end(s.Store, e)
}

func eraseMutants() map[string]mutant {
	ctx := context.Background()
	erasing := func(caught string, erase func(backend.Store, backend.Erasure) error) mutant {
		return mutant{func(s backend.Store) backend.Store { return eraser{Store: s, erase: erase} }, "rule 25/" + caught}
	}
	return map[string]mutant{
		"an erasure signs out alone": erasing("nothing is kept", func(s backend.Store, e backend.Erasure) error {
			return s.Apply(ctx, []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{{Kind: backend.OpSignOut, User: presence.User{ID: e.User}}}}})[0].Err
		}),
		"a returned user is erased": erasing("a user who came since", func(s backend.Store, e backend.Erasure) error {
			return s.EraseUser(ctx, backend.Erasure{User: e.User})
		}),
		"an erasure spares who is there": erasing("a user who came since", func(s backend.Store, e backend.Erasure) error {
			if e.Ago > 0 {
				e.Ago = 1000 * time.Hour
			}
			return s.EraseUser(ctx, e)
		}),
		"all whose ids begin so are erased": erasing("only the user", func(s backend.Store, e backend.Erasure) error {
			return firstError(s.EraseUser(ctx, e), s.EraseUser(ctx, backend.Erasure{User: e.User + e.User}))
		}),
		"an erasure is claimed by everybody": {func(s backend.Store) backend.Store {
			return eraser{Store: s, claim: func(s backend.Store, most int, _ time.Duration) ([]backend.Erasure, error) {
				return s.ClaimErasures(ctx, most, 0)
			}}
		}, "rule 25/an erasure is claimed once"},
		"an erasure never ends": {func(s backend.Store) backend.Store {
			return eraser{Store: s, end: func(backend.Store, backend.Erasure) error { return nil }}
		}, "rule 25/an erasure is claimed once"},
	}
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
