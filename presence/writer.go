package presence

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// A writer collects operations for a few milliseconds, merges them by topic,
// user and holder, and applies them in one call of the store. Who adds never
// waits. What the store cannot take now is kept and done when it is back.
type writer struct {
	store   Store
	cfg     *Config
	stats   *counters
	unknown func(Topic, Op) // told of heartbeats whose lease is gone

	mu     sync.Mutex
	topics map[Topic]*pending
	ops    int
	out    [calls]bool // the latest call of a kind failed
	heard  time.Time   // when a call last went well
	asked  time.Time   // when the write under way began; zero: none is
	back   time.Time   // when the store was found to be back after it was out for long

	complained time.Time // when a refusal was last logged

	kick chan struct{} // something was added
	done chan struct{} // closed when run returned
}

// Waits after a call that failed: doubled from the first to the last, with
// jitter, so that a fleet does not come back at once.
const (
	backoffFirst = 50 * time.Millisecond
	backoffLast  = 2 * time.Second
	applyTimeout = 3 * time.Second
)

// A batch that the store refuses is tried so often, with this pause.
const (
	maxTries     = 5
	refusedPause = 200 * time.Millisecond
)

func newWriter(store Store, cfg *Config, stats *counters, unknown func(Topic, Op)) *writer {
	return &writer{
		store: store, cfg: cfg, stats: stats, unknown: unknown,
		topics: make(map[Topic]*pending),
		heard:  time.Now(),
		kick:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
}

// add takes an operation. Over the bound it is forgotten, if it is of a kind that
// others follow: a page view, a heartbeat, a token's release. Joins, and the ends of
// connections and users, are kept, since their number is that of the connections
// and users here.
func (w *writer) add(topic Topic, op Op) {
	w.mu.Lock()
	w.put(topic, op)
	w.mu.Unlock()
	w.wake()
}

// addAcked is add, and returns an ack.
func (w *writer) addAcked(topic Topic, op Op) *ack {
	a := &ack{key: keyOf(op), done: make(chan struct{})}
	w.mu.Lock()
	if p := w.put(topic, op); p != nil {
		p.acks = append(p.acks, a)
	} else {
		a.err = ErrStoreOut
		close(a.done)
	}
	w.mu.Unlock()
	w.wake()
	return a
}

// addForeign is add for the release of another node's connection. Pages may ask for
// more of these than there are connections here, so the bound holds for them.
func (w *writer) addForeign(topic Topic, op Op) {
	w.mu.Lock()
	if w.ops >= w.cfg.MaxPending {
		w.stats.dropped.Add(1)
	} else {
		w.put(topic, op)
	}
	w.mu.Unlock()
	w.wake()
}

// put takes an operation, and returns what it waits with; nil if it was dropped.
func (w *writer) put(topic Topic, op Op) *pending {
	if w.ops >= w.cfg.MaxPending && (op.Kind == OpSeen || op.Kind == OpGuest || op.Kind == OpHeartbeat || op.Kind == OpFollow) {
		w.stats.dropped.Add(1)
		return nil
	}
	p := w.topics[topic]
	if p == nil {
		p = newPending()
		w.topics[topic] = p
	}
	w.ops += p.add(op)
	return p
}

// giveUp takes a join back that was not sent yet, and reports whether it could.
func (w *writer) giveUp(topic Topic, join Op) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.topics[topic]
	if p == nil || p.sent {
		return false
	}
	i, ok := p.latest[keyOf(join)]
	if !ok || p.ops[i].Kind != OpJoin {
		return false
	}
	drop := join
	drop.Kind = OpDrop // of a lease that was never made: it does nothing
	w.ops += p.add(drop)
	return true
}

func (w *writer) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *writer) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ops
}

// finish writes what waits, again and again for a while.
func (w *writer) finish(ctx context.Context) {
	last, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	for !w.flush(last) && wait(last, backoffFirst) {
	}
}

// run writes until ctx ends, and what waits then. What happens at once is
// collected for Config.FlushInterval, so that it is one batch and one diff.
func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	backoff := backoffFirst
	for collect := w.cfg.FlushInterval; ; {
		select {
		case <-ctx.Done():
		case <-w.kick:
			wait(ctx, collect)
		}
		if ctx.Err() != nil {
			w.finish(context.WithoutCancel(ctx))
			return
		}
		if w.flush(ctx) {
			collect, backoff = w.cfg.FlushInterval, backoffFirst
			continue
		}
		collect = backoff/2 + rand.N(backoff)
		backoff = min(2*backoff, backoffLast, w.cfg.Heartbeat()/2)
		w.wake()
	}
}

// flush writes all that waits, and reports whether the store was reached. A topic
// that the store refused waits for its next try.
func (w *writer) flush(ctx context.Context) bool {
	topics := w.take()
	if len(topics) == 0 {
		return true
	}
	batches := make([]Batch, 0, len(topics))
	for topic, p := range topics {
		p.order()
		batches = append(batches, Batch{Topic: topic, Ops: p.ops})
	}
	try, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	var failed error
	for i, result := range w.store.Apply(try, batches) {
		topic := batches[i].Topic
		switch {
		case errors.Is(result.Err, ErrRefused):
			w.refused(ctx, topic, topics[topic], result.Err)
			continue
		case result.Err != nil:
			failed = result.Err
			w.keep(topic, topics[topic])
			continue
		}
		topics[topic].acknowledge(batches[i].Ops, result.Unknown)
		for _, j := range result.Unknown {
			w.unknown(topic, batches[i].Ops[j])
		}
	}
	if failed == nil || ctx.Err() == nil { // who closes cut it off, and writes it once more
		w.report(writes, failed)
	}
	return failed == nil
}

// take returns what is to be written now, by topic.
func (w *writer) take() map[Topic]*pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	topics := w.topics
	w.topics, w.ops = make(map[Topic]*pending), 0
	for topic, p := range topics {
		if p.after.After(now) {
			w.topics[topic] = p
			w.ops += len(p.ops)
			delete(topics, topic)
			continue
		}
		p.sent = true
	}
	if len(topics) > 0 {
		w.asked = now
	}
	return topics
}

// refused keeps what the store did not take of a topic for another try, or gives it
// up after some. Other topics do not wait for it.
func (w *writer) refused(ctx context.Context, topic Topic, p *pending, err error) {
	if p.tries++; p.tries < maxTries && ctx.Err() == nil {
		p.after = time.Now().Add(refusedPause)
		w.keep(topic, p)
		time.AfterFunc(refusedPause, w.wake)
		return
	}
	w.stats.rejected.Add(uint64(len(p.ops)))
	p.fail(err)
	w.mu.Lock()
	due := time.Since(w.complained) >= time.Minute
	if due {
		w.complained = time.Now()
	}
	w.mu.Unlock()
	if due {
		w.cfg.Logger.Error("presence: the store refuses what a topic was sent; it was given up, and other topics go on",
			slog.String("topic", string(topic)), slog.Int("operations", len(p.ops)), slog.Any("error", err))
	}
}

// keep puts back what the store did not take, before what came since. Some of
// it may have taken effect: doing it again changes nothing (rule 12).
func (w *writer) keep(topic Topic, p *pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := w.topics[topic]
	w.topics[topic] = p
	w.ops += len(p.ops)
	if since == nil {
		return
	}
	w.ops -= len(since.ops)
	for _, op := range since.ops {
		w.put(topic, op)
	}
	p.acks = append(p.acks, since.acks...)
}
