package redisstore

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The record of a consumer (rule 11) is one hash. It has the entries, and the store's own fields, which begin
// with "=", so that the two cannot be lost separately.

// ClaimConsumer implements [backend.Store].
func (s *fleet) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	r, err := s.claimConsumer(ctx, consumer, claim, false)
	if err == nil && r[0] == 3 { // another holder's time is over: also if the server has started again with an old file
		if err = s.trusted(ctx, "claim a consumer"); err == nil {
			r, err = s.claimConsumer(ctx, consumer, claim, true)
		}
	}
	if err == nil && (claim.Create || r[1] > 0) { // an erasure must search the record
		err = s.send(ctx, s.writes, "note a consumer", func(ctx context.Context, p redis.Pipeliner) {
			p.SAdd(ctx, s.consumersKey(), consumer)
			p.PExpire(ctx, s.consumersKey(), keepAtRest)
		})
	}
	if err != nil {
		return backend.ConsumerClaimed{}, err
	}
	return backend.ConsumerClaimed{State: backend.ConsumerState(r[0]), Idle: time.Duration(r[1]) * time.Millisecond}, nil
}

// claimConsumer runs the script of a claim. take says that the record may be taken from another holder.
func (s *fleet) claimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim, take bool) ([]int64, error) {
	args := []any{s.now(), claim.Holder, claim.For.Milliseconds(), claim.Create, take}
	return s.numbers(ctx, s.writes, "claim a consumer", 2, eval{consumerClaimScript, []string{s.consumerKey(consumer)}, args})
}

// CommitConsumer implements [backend.Store].
func (s *fleet) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	args := []any{s.now(), step.Holder, step.For.Milliseconds(), 2 * len(step.Expect), 2 * len(step.Set)}
	for _, entries := range []map[string]string{step.Expect, step.Set} {
		for key, value := range entries {
			args = append(args, key, value)
		}
	}
	args = with(args, step.Delete...)
	r, err := s.numbers(ctx, s.writes, "commit for a consumer", 1, eval{consumerCommitScript, []string{s.consumerKey(consumer)}, args})
	if err != nil {
		return 0, err
	}
	return backend.ConsumerState(r[0]), nil
}

const maxConsumerScan = 500 // entries a round trip, about

// ReadConsumer implements [backend.Store].
func (s *fleet) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	var entries map[string]string
	all := scan{"HSCAN", s.consumerKey(consumer), "", maxConsumerScan}
	err := s.scanAll(ctx, s.reads, "read a consumer", all, func(fields []string) error {
		if entries == nil && len(fields) > 0 {
			entries = make(map[string]string)
		}
		for ; len(fields) >= 2; fields = fields[2:] {
			if !strings.HasPrefix(fields[0], "=") {
				entries[fields[0]] = fields[1]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}
