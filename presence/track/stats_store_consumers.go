package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

func (s *timedStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	began := time.Now()
	claimed, err := s.store.ClaimConsumer(ctx, consumer, claim)
	s.done(ctx, callClaimConsumer, began, err)
	return claimed, err
}

func (s *timedStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	began := time.Now()
	state, err := s.store.CommitConsumer(ctx, consumer, step)
	s.done(ctx, callCommitConsumer, began, err)
	return state, err
}

func (s *timedStore) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	began := time.Now()
	entries, err := s.store.ReadConsumer(ctx, consumer)
	s.done(ctx, callReadConsumer, began, err)
	return entries, err
}
