package track

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A guest who signs in becomes a user: one guest fewer, and one user more. A diff tells the
// user at once. The number of guests stands in no diff, and housekeeping would tell it up
// to half a second later. So the nodes that hear of the sign-in ask for the figures within
// the merge window. The sign-ins of one window cost one call of the store.

// maxChanged bounds the topics whose figures are asked for out of turn. Housekeeping tells
// those of the others.
const maxChanged = 64

// showSoon tells the figures of topics to readers here within the merge window.
func (l *leases) showSoon(topics ...presence.Topic) {
	topics = slices.DeleteFunc(topics, func(t presence.Topic) bool { return l.topics.peek(t) == nil })
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, topic := range topics {
		if len(l.changed) < maxChanged {
			l.changed[topic] = struct{}{}
		}
	}
	if !l.showing && len(l.changed) > 0 {
		l.showing = true
		l.life.spawn(l.showChanged)
	}
}

// showChanged asks for the figures of changed topics: once the sign-ins are written, and
// then as often as housekeeping does, until there is no sign-in any more.
func (l *leases) showChanged(ctx context.Context) {
	for pause := max(l.cfg.MergeWindow/2, 2*flushInterval); wait.For(ctx, pause); pause = houseKeeping {
		l.mu.Lock()
		topics := slices.Collect(maps.Keys(l.changed))
		clear(l.changed)
		l.showing = len(topics) > 0
		l.mu.Unlock()
		if len(topics) == 0 {
			return
		}
		l.showFigures(ctx, topics)
	}
}

// showFigures tells the figures of topics to readers here. If the store does not answer,
// housekeeping finds out.
func (l *leases) showFigures(ctx context.Context, topics []presence.Topic) {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	counts, err := l.store.Counts(ctx, topics...)
	if err != nil {
		return
	}
	for i, topic := range topics {
		if r := l.topics.peek(topic); r != nil && !counts[i].Unknown {
			r.takeFigures(counts[i])
		}
	}
}

// A figurePace lets figures change at most twice a second, whoever asks for them: each
// change is a heartbeat to every reader.
type figurePace struct {
	last time.Time
	gap  time.Duration // between the last two, twice houseKeeping at most
}

// jitter is how much earlier than planned an answer may come, since the one before came
// late.
const jitter = 100 * time.Millisecond

// pass reports whether figures may change now, and counts the change.
func (p *figurePace) pass() bool {
	now := time.Now()
	gap := min(now.Sub(p.last), 2*houseKeeping)
	if gap+p.gap < 2*houseKeeping-jitter {
		return false
	}
	p.last, p.gap = now, gap
	return true
}

// takeFigures takes figures that were asked for out of turn. Unlike refresh it looks for no
// gap: a diff that is on its way is not missing.
func (r *replica) takeFigures(c backend.Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() || !r.staleSince.IsZero() {
		return
	}
	if c.Guests == r.counts.Guests && c.Recent == r.counts.Recent || !r.pace.pass() {
		return
	}
	r.counts.Guests, r.counts.Recent = c.Guests, c.Recent
	r.renewViewLocked()
	r.out.wakeLocked()
}
