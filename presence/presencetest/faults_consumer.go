package presencetest

import (
	"context"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// ClaimConsumer implements [backend.Store].
func (f *Faults) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	return ask(ctx, f, CallClaimConsumer, func() (backend.ConsumerClaimed, error) {
		return f.store.ClaimConsumer(ctx, consumer, claim)
	})
}

// CommitConsumer implements [backend.Store].
func (f *Faults) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	return ask(ctx, f, CallCommitConsumer, func() (backend.ConsumerState, error) {
		return f.store.CommitConsumer(ctx, consumer, step)
	})
}

// ReadConsumer implements [backend.Store].
func (f *Faults) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	return ask(ctx, f, CallReadConsumer, func() (map[string]string, error) {
		return f.store.ReadConsumer(ctx, consumer)
	})
}
