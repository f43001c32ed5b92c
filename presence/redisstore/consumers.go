package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The record of a consumer (rule 20) is one hash. It has the entries, and the store's own fields, which begin
// with "=", so that the two cannot be lost separately. No topic has the tag of its key, because "=" is not
// allowed in topics.
var (
	consumerClaimScript  = newScript("time", "keep", "consumer_claim")
	consumerCommitScript = newScript("time", "keep", "consumer_commit")
)

// consumers keep the records of consumers.
type consumers struct{ *fleet }

// ClaimConsumer implements [backend.Store].
func (s *consumers) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return backend.ConsumerClaimed{}, err
	}
	r, err := s.claim(ctx, consumer, claim, 0)
	if err == nil && r[0] == 3 { // another holder's time is over: also if the server has started again with an old file
		if err = s.trusted(ctx, "claim a consumer"); err == nil {
			r, err = s.claim(ctx, consumer, claim, 1)
		}
	}
	if err != nil {
		return backend.ConsumerClaimed{}, err
	}
	if claim.Create || r[1] > 0 {
		if err := s.note(ctx, consumer); err != nil {
			return backend.ConsumerClaimed{}, err
		}
	}
	return backend.ConsumerClaimed{State: backend.ConsumerState(r[0]), Idle: time.Duration(r[1]) * time.Millisecond}, nil
}

// claim runs the script of a claim. take is 1 if the record may be taken from another holder.
func (s *consumers) claim(ctx context.Context, consumer string, claim backend.ConsumerClaim, take int) ([]int64, error) {
	create := 0
	if claim.Create {
		create = 1
	}
	answer, err := s.runOne(ctx, s.writes, "claim a consumer", eval{consumerClaimScript, []string{s.consumerKey(consumer)}, []any{
		s.now(), claim.Holder, claim.For.Milliseconds(), create, take,
	}})
	if err != nil {
		return nil, err
	}
	r, err := answer.Int64Slice()
	if err != nil || len(r) < 2 {
		return nil, wrap("claim a consumer", errAnswer)
	}
	return r, nil
}

// CommitConsumer implements [backend.Store].
func (s *consumers) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return 0, err
	}
	args := []any{s.now(), step.Holder, step.For.Milliseconds(), 2 * len(step.Expect), 2 * len(step.Set)}
	for _, entries := range []map[string]string{step.Expect, step.Set} {
		for key, value := range entries {
			args = append(args, key, value)
		}
	}
	for _, key := range step.Delete {
		args = append(args, key)
	}
	answer, err := s.runOne(ctx, s.writes, "commit for a consumer", eval{consumerCommitScript, []string{s.consumerKey(consumer)}, args})
	if err != nil {
		return 0, err
	}
	state, err := answer.Int64()
	if err != nil {
		return 0, wrap("commit for a consumer", errAnswer)
	}
	return backend.ConsumerState(state), nil
}

// maxConsumerScan is about how many entries are read in one round trip.
const maxConsumerScan = 500

// ReadConsumer implements [backend.Store].
func (s *consumers) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	type piece struct {
		fields []string
		cursor uint64
	}
	var entries map[string]string
	for cursor := uint64(0); ; {
		p, err := call(ctx, s.reads, "read a consumer", func(ctx context.Context) (p piece, err error) {
			p.fields, p.cursor, err = s.client.HScan(ctx, s.consumerKey(consumer), cursor, "", maxConsumerScan).Result()
			return p, err
		})
		if err != nil {
			return nil, err
		}
		if len(p.fields)%2 != 0 {
			return nil, fmt.Errorf("redisstore: read a consumer: %w", errAnswer)
		}
		if entries == nil && len(p.fields) > 0 {
			entries = make(map[string]string)
		}
		for f := p.fields; len(f) >= 2; f = f[2:] {
			if !strings.HasPrefix(f[0], "=") {
				entries[f[0]] = f[1]
			}
		}
		if cursor = p.cursor; cursor == 0 {
			return entries, nil
		}
	}
}

// note adds a consumer to the list of those whose records an erasure must search.
func (s *consumers) note(ctx context.Context, consumer string) error {
	_, err := call(ctx, s.writes, "note a consumer", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.pipelined(ctx, func(p redis.Pipeliner) {
			p.SAdd(ctx, s.consumersKey(), consumer)
			p.PExpire(ctx, s.consumersKey(), keepAtRest)
		})
	})
	return err
}
