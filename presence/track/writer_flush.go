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

// A flusher writes to the store what the cells of a writer are about.
type flusher struct {
	cfg      *Config
	stats    *counters
	store    backend.Store
	outage   *outage
	writer   *writer
	holdings *holdings
	hear     func(context.Context) error // returns once every notice that was published before was heard
	gone     *goneLeases
	logs     minute.Gate
}

// finish writes the remaining operations, and retries for applyTimeout.
func (f *flusher) finish(ctx context.Context) {
	f.writer.end()
	last, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	for {
		pause := flushInterval // for the next part, or for what the store refused
		if !f.flush(last) {
			pause = backoffFirst
		} else if !f.writer.waitsForStore() {
			return
		}
		if !wait.For(last, pause) {
			return
		}
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

// flush writes all that is due, and reports whether the store was reached. What the store refused waits for its next try.
func (f *flusher) flush(ctx context.Context) bool {
	if f.outage.inDoubt() && f.writer.waitsForStore() && !f.hearFirst(ctx) {
		return false
	}
	topics := f.writer.take()
	defer f.writer.landed()
	batches := make([]backend.Batch, 0, len(topics))
	now := time.Now()
	for topic, d := range topics {
		ops := f.holdings.batch(topic, d, now)
		if len(ops) == 0 {
			d.close(nil, nil)
			continue
		}
		f.writer.writes(topic, ops)
		batches = append(batches, backend.Batch{Topic: topic, Ops: ops, Keep: keepOf(f.cfg.Kind(topic))})
	}
	if len(batches) == 0 {
		if !f.writer.waitsForStore() {
			f.outage.givenUp(writes)
		}
		return true
	}
	f.outage.begin(writes)
	try, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	var failed error
	began := time.Now()
	for i, result := range f.store.Apply(try, batches) {
		topic := batches[i].Topic
		switch {
		case errors.Is(result.Err, presence.ErrRefused):
			f.refused(ctx, topic, topics[topic], result.Err)
		case result.Err != nil:
			failed = result.Err
			f.writer.keep(topic, topics[topic])
		default:
			f.applied(topic, topics[topic], batches[i].Ops, result.Unknown)
		}
	}
	if failed == nil || ctx.Err() == nil { // otherwise Close cut it off, and writes it again
		f.outage.report(writes, began, failed)
	}
	return failed == nil
}

// applied closes the acks of what was written. unknown are the indexes of the operations whose lease is gone.
func (f *flusher) applied(topic presence.Topic, d *dirty, ops []backend.Op, unknown []int) {
	type lease struct {
		member presence.UserID
		of     word
	}
	f.holdings.users.written(topic, ops, f.holdings.generation.holder(true))
	gone, own := make(map[lease]bool, len(unknown)), []presence.UserID(nil)
	for _, i := range unknown {
		op := ops[i]
		if op.Holder == f.holdings.generation.holder(true) {
			gone[lease{op.User.ID, wordVisits}] = true
			continue
		}
		gone[lease{op.User.ID, wordPages}] = true
		own = append(own, op.User.ID)
	}
	d.close(nil, func(member presence.UserID, of word) bool { return gone[lease{member, of}] })
	f.gone.add(topic, own)
}

// hearFirst hears the notices that other nodes published while the store was out. It runs before waiting
// operations are written, because a waiting join has the earlier status. It returns false if it fails, and
// then the store would not accept the operations either.
//
// Example: node A cannot reach Redis for a minute. Alice's page there waits to be written as online.
// Meanwhile she turned invisible at node B. A hears that first, and writes her join with that choice, so that nobody
// sees her.
func (f *flusher) hearFirst(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, returningFor)
	defer cancel()
	return f.hear(ctx) == nil || f.outage.readsGoWell()
}

// refused keeps what the store refused for another try, or drops them after
// maxTries. Other topics do not wait for them.
func (f *flusher) refused(ctx context.Context, topic presence.Topic, d *dirty, err error) {
	if d.tries++; d.tries < maxTries && ctx.Err() == nil {
		d.after = time.Now().Add(refusedPause)
		f.writer.keep(topic, d)
		time.AfterFunc(refusedPause, f.writer.kick.Wake)
		return
	}
	f.stats.rejected.Add(uint64(d.size()))
	d.close(err, nil)
	if f.logs.Pass() {
		f.cfg.Logger.Error("presence: the store refuses what a topic was sent; it was given up, and other topics go on",
			slog.String("topic", string(topic)), slog.Int("operations", d.size()), slog.Any("error", err))
	}
}
