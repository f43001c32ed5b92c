package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// standing has the standing signals of a topic. The zero value has none.
type standing struct {
	signals map[signalKey]stands
	lapse   *time.Timer // runs when the next signal's time is over
	count   uint64      // how many began, for their order
	event   *sharedEvent
	made    time.Time // when event was encoded
}

// stands is a standing signal.
type stands struct {
	presence.Signal
	until time.Time
	turn  uint64
}

// maxStanding bounds the signals that stand in a topic.
const maxStanding = 100

// standingFresh is how long new readers share one event with the standing signals. The remaining times in it
// are too long by that much, which S5 allows.
const standingFresh = 500 * time.Millisecond

// keep stores a standing signal, and removes the one that it ends or replaces. It returns false if there is
// no room.
func (k *standing) keep(s presence.Signal, now time.Time) bool {
	k.event = nil
	key := signalKeyOf(s)
	was, stood := k.signals[key]
	switch {
	case s.For <= 0:
		delete(k.signals, key)
		return true
	case !stood && len(k.signals) >= maxStanding:
		return false
	case k.signals == nil:
		k.signals = make(map[signalKey]stands)
	}
	if !stood {
		k.count++
		was.turn = k.count
	}
	k.signals[key] = stands{s, now.Add(s.For), was.turn}
	return true
}

// now returns the standing signals, each with its remaining time, in the order in which they began.
func (k *standing) now(at time.Time) []presence.Signal {
	var all []stands
	for _, s := range k.signals {
		if s.until.After(at) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b stands) int { return cmp.Compare(a.turn, b.turn) })
	signals := make([]presence.Signal, len(all))
	for i, s := range all {
		signals[i] = s.Signal
		signals[i].For = s.until.Sub(at)
	}
	return signals
}

// watch schedules lapse for the next signal whose time will be over.
func (k *standing) watch(now time.Time, lapse func()) {
	if k.lapse != nil {
		k.lapse.Stop()
		k.lapse = nil
	}
	var next time.Time
	for _, s := range k.signals {
		if next.IsZero() || s.until.Before(next) {
			next = s.until
		}
	}
	if !next.IsZero() {
		k.lapse = time.AfterFunc(next.Sub(now), lapse)
	}
}

// end ends the signals whose time is over. That is told by a signal each.
func (t *topicSignals) end(now time.Time) {
	for key, s := range t.signals {
		if s.until.After(now) {
			continue
		}
		delete(t.signals, key)
		t.event = nil
		if _, later := t.pending.latest[key]; !later { // otherwise a later signal takes its place
			t.pending.put(presence.Signal{Type: s.Type, V: s.V, From: s.From, For: -1})
		}
	}
}

// endOf removes the standing signals of users who left. Readers learn of it by the leaves.
func (t *topicSignals) endOf(left []backend.Departure) {
	if t == nil || len(t.signals) == 0 {
		return
	}
	for _, d := range left {
		for key := range t.signals {
			if key.from == d.ID {
				delete(t.signals, key)
				t.event = nil
			}
		}
	}
}

// shared returns the event with the standing signals, or nil.
func (t *topicSignals) shared(at presence.Cursor, l *ledger) *sharedEvent {
	if t == nil || len(t.signals) == 0 {
		return nil
	}
	now := time.Now()
	if t.event == nil || t.event.Cursor != at || now.Sub(t.made) > standingFresh {
		all := t.now(now)
		if len(all) == 0 {
			return nil
		}
		t.event, t.made = newSharedEvent(frame{Event: signalEvent(t.topic, at, all, l)}), now
	}
	return t.event
}

// stop ends the timers.
func (t *topicSignals) stop() {
	if t != nil {
		t.merging.stop()
		if t.lapse != nil {
			t.lapse.Stop()
		}
	}
}

// endStanding runs when the time of a standing signal is over.
func (r *replica) endStanding() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.closed || r.signals.lapse == nil {
		return
	}
	r.signals.end(now)
	r.signals.watch(now, r.endStanding)
	r.scheduleSignalsLocked()
}

// standingLocked implements stander.
func (r *replica) standingLocked() *sharedEvent { return r.signals.shared(r.cursor, &r.ledger) }

// standing is [Tracker.Standing].
func (t *topics) standing(topic presence.Topic) []presence.Signal {
	r := t.peek(topic)
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.signals == nil {
		return nil
	}
	return r.signals.now(time.Now())
}
