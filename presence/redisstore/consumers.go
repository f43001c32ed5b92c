package redisstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The record of a consumer (rule 20) is one hash. It has the entries, and the store's own fields, which begin
// with "=", so that the two cannot be lost separately. A short log of its steps is beside it. Other nodes use
// the log to keep a copy up to date, which survives if the store loses its data and the holder dies. No topic
// has the tag of these keys, because "=" is not allowed in topics.
var (
	consumerClaimScript  = newScript("time", "keep", "consumer_claim")
	consumerCommitScript = newScript("time", "keep", "consumer_commit")
	consumerReadScript   = newScript("consumer_read")
)

// Bounds of the log of steps: about how many it keeps, and how many are read at once.
const (
	maxConsumerSteps = 128
	maxConsumerRead  = 10
)

// consumers keep the records of consumers.
type consumers struct{ *fleet }

// ClaimConsumer implements [backend.Store].
func (s *consumers) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return backend.ConsumerClaimed{}, err
	}
	epoch := ""
	if claim.Create {
		epoch = strings.ToLower(rand.Text()[:12])
	}
	answer, err := s.runOne(ctx, s.writes, "claim a consumer", eval{consumerClaimScript, s.consumerKeys(consumer), []any{
		s.now(), claim.Holder, claim.For.Milliseconds(), epoch,
	}})
	if err != nil {
		return backend.ConsumerClaimed{}, err
	}
	r, err := answer.Int64Slice()
	if err != nil || len(r) < 2 {
		return backend.ConsumerClaimed{}, wrap("claim a consumer", errAnswer)
	}
	if claim.Create || r[1] > 0 {
		if err := s.note(ctx, consumer); err != nil {
			return backend.ConsumerClaimed{}, err
		}
	}
	return backend.ConsumerClaimed{State: backend.ConsumerState(r[0]), Idle: time.Duration(r[1]) * time.Millisecond}, nil
}

// CommitConsumer implements [backend.Store].
func (s *consumers) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return 0, err
	}
	args := []any{s.now(), step.Holder, step.For.Milliseconds(), maxConsumerSteps, 2 * len(step.Expect), 2 * len(step.Set)}
	for _, entries := range []map[string]string{step.Expect, step.Set} {
		for key, value := range entries {
			args = append(args, key, value)
		}
	}
	for _, key := range step.Delete {
		args = append(args, key)
	}
	answer, err := s.runOne(ctx, s.writes, "commit for a consumer", eval{consumerCommitScript, s.consumerKeys(consumer), args})
	if err != nil {
		return 0, err
	}
	state, err := answer.Int64()
	if err != nil {
		return 0, wrap("commit for a consumer", errAnswer)
	}
	return backend.ConsumerState(state), nil
}

// ReadConsumer implements [backend.Store]. A whole record is scanned in pieces, and may change meanwhile. So
// the version is from before the scan, and the next call returns the changes since.
func (s *consumers) ReadConsumer(ctx context.Context, consumer string, after backend.ConsumerVersion) (backend.ConsumerChanges, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return backend.ConsumerChanges{}, err
	}
	epoch, n, _ := strings.Cut(string(after), "-")
	answer, err := s.runOne(ctx, s.reads, "read a consumer", eval{consumerReadScript, s.consumerKeys(consumer), []any{epoch, n, maxConsumerRead}})
	if err != nil {
		return backend.ConsumerChanges{}, err
	}
	r, err := answer.StringSlice()
	if err != nil || len(r) < 3 {
		return backend.ConsumerChanges{}, wrap("read a consumer", errAnswer)
	}
	if r[0] == "" {
		return backend.ConsumerChanges{Missing: true}, nil
	}
	changes := backend.ConsumerChanges{
		Version: backend.ConsumerVersion(r[0] + "-" + r[1]), Whole: r[2] == "whole", More: r[2] == "more",
		Set: make(map[string]string),
	}
	if changes.Whole {
		changes.More = true // changes during the scan
		return changes, s.scan(ctx, consumer, changes.Set)
	}
	deleted := make(map[string]bool)
	for r = r[3:]; len(r) >= 2; r = r[2:] {
		sign, key := r[0][:1], r[0][1:]
		if deleted[key] = sign == "-"; deleted[key] {
			delete(changes.Set, key)
		} else {
			changes.Set[key] = r[1]
		}
	}
	for key, is := range deleted {
		if is {
			changes.Delete = append(changes.Delete, key)
		}
	}
	return changes, nil
}

// maxConsumerScan is about how many entries are read in one round trip.
const maxConsumerScan = 500

func (s *consumers) scan(ctx context.Context, consumer string, entries map[string]string) error {
	type piece struct {
		fields []string
		cursor uint64
	}
	for cursor := uint64(0); ; {
		p, err := call(ctx, s.reads, "read a consumer", func(ctx context.Context) (p piece, err error) {
			p.fields, p.cursor, err = s.client.HScan(ctx, s.consumerKeys(consumer)[0], cursor, "", maxConsumerScan).Result()
			return p, err
		})
		if err != nil {
			return err
		}
		if len(p.fields)%2 != 0 {
			return fmt.Errorf("redisstore: read a consumer: %w", errAnswer)
		}
		for f := p.fields; len(f) >= 2; f = f[2:] {
			if !strings.HasPrefix(f[0], "=") {
				entries[f[0]] = f[1]
			}
		}
		if cursor = p.cursor; cursor == 0 {
			return nil
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
