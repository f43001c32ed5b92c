package presencetest

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// ClaimConsumer implements [presence.Store].
func (f *Faults) ClaimConsumer(ctx context.Context, consumer string, claim presence.ConsumerClaim) (presence.ConsumerClaimed, error) {
	return ask(ctx, f, CallClaimConsumer, func() (presence.ConsumerClaimed, error) {
		return f.store.ClaimConsumer(ctx, consumer, claim)
	})
}

// CommitConsumer implements [presence.Store].
func (f *Faults) CommitConsumer(ctx context.Context, consumer string, step presence.ConsumerStep) (presence.ConsumerState, error) {
	return ask(ctx, f, CallCommitConsumer, func() (presence.ConsumerState, error) {
		return f.store.CommitConsumer(ctx, consumer, step)
	})
}

// ReadConsumer implements [presence.Store].
func (f *Faults) ReadConsumer(ctx context.Context, consumer string, after presence.ConsumerVersion) (presence.ConsumerChanges, error) {
	return ask(ctx, f, CallReadConsumer, func() (presence.ConsumerChanges, error) {
		return f.store.ReadConsumer(ctx, consumer, after)
	})
}
