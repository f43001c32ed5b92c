package track

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A flusher writes the operations of a writer to the store.
type flusher struct {
	cfg        *Config
	stats      *counters
	store      backend.Store
	outage     *outage
	writer     *writer
	generation *generation
	unknown    func(presence.Topic, backend.Op) // called with each heartbeat whose lease is gone
	hear       func(context.Context) error      // returns once every notice that was published before was heard
	logs       minute.Gate
}

// finish writes the remaining operations, and retries for applyTimeout.
func (f *flusher) finish(ctx context.Context) {
	f.writer.end()
	last, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	for !f.flush(last) && wait.For(last, backoffFirst) {
	}
}

// run writes until ctx ends, and then once more. Operations are collected for
// flushInterval, so that those of one moment are one batch and one diff, and for longer
// under load: see writer_pace.go.
func (f *flusher) run(ctx context.Context) {
	defer close(f.writer.done)
	backoff := backoffFirst
	for collect := flushInterval; ; {
		select {
		case <-ctx.Done():
		case <-f.writer.kick:
			wait.Until(ctx, f.writer.retry, collect)
		}
		if ctx.Err() != nil {
			f.finish(context.WithoutCancel(ctx))
			return
		}
		if f.flush(ctx) {
			collect, backoff = flushInterval, backoffFirst
			continue
		}
		collect = backoff/2 + rand.N(backoff)
		backoff = min(2*backoff, backoffLast, heartbeatFor(f.cfg.shortestTTL())/2)
		f.writer.kick.Wake()
	}
}

// flush writes all waiting operations, and reports whether the store was reached. Operations that the store
// refused wait for their next try.
func (f *flusher) flush(ctx context.Context) bool {
	if f.outage.leasesMayHaveExpired() && f.writer.size() > 0 && !f.hearFirst(ctx) {
		return false
	}
	topics := f.writer.take()
	if len(topics) == 0 {
		if f.writer.size() == 0 {
			f.outage.nothingWaits()
		}
		return true
	}
	f.outage.begin(writes)
	batches := make([]backend.Batch, 0, len(topics))
	now := time.Now()
	for topic, p := range topics {
		batches = append(batches, backend.Batch{Topic: topic, Ops: f.generation.sign(p.batch(now)), Keep: keepOf(f.cfg.Kind(topic))})
	}
	defer f.writer.landed()
	try, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	var failed error
	began := time.Now()
	for i, result := range f.store.Apply(try, batches) {
		topic := batches[i].Topic
		switch {
		case errors.Is(result.Err, presence.ErrRefused):
			f.refused(ctx, topic, topics[topic], result.Err)
			continue
		case result.Err != nil:
			failed = result.Err
			f.writer.keep(topic, topics[topic])
			continue
		}
		unknown := make([]backend.Op, 0, len(result.Unknown))
		for _, j := range result.Unknown {
			unknown = append(unknown, f.generation.unsigned(batches[i].Ops[j]))
		}
		topics[topic].acknowledge(unknown)
		for _, op := range unknown {
			f.unknown(topic, op)
		}
	}
	if failed == nil || ctx.Err() == nil { // otherwise Close cut it off, and writes it again
		f.outage.report(writes, began, failed)
	}
	return failed == nil
}

// hearFirst hears the notices that other nodes published while the store was out. It runs before waiting
// operations are written, because a waiting join has the earlier status. It returns false if it fails, and
// then the store would not accept the operations either.
//
// Example: node A cannot reach Redis for a minute. Alice's page there waits to be written as online.
// Meanwhile she turned invisible at node B. A hears that first, and puts it behind her join, so that nobody
// sees her.
func (f *flusher) hearFirst(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, returningFor)
	defer cancel()
	return f.hear(ctx) == nil || f.outage.readsGoWell()
}

// refused keeps operations that the store refused for another try, or drops them after
// maxTries. Other topics do not wait for them.
func (f *flusher) refused(ctx context.Context, topic presence.Topic, p *pending, err error) {
	if p.tries++; p.tries < maxTries && ctx.Err() == nil {
		p.after = time.Now().Add(refusedPause)
		f.writer.keep(topic, p)
		time.AfterFunc(refusedPause, f.writer.kick.Wake)
		return
	}
	f.stats.rejected.Add(uint64(p.size()))
	p.fail(err)
	if f.logs.Pass() {
		f.cfg.Logger.Error("presence: the store refuses what a topic was sent; it was given up, and other topics go on",
			slog.String("topic", string(topic)), slog.Int("operations", p.size()), slog.Any("error", err))
	}
}
