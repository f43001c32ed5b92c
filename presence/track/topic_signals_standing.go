package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// standing is the signals of a topic that stand. The zero value has none.
type standing struct {
	signals map[signalKey]stands
	lapse   *time.Timer // when the next one is over
	count   uint64      // of those that began, for their order
	event   *sharedEvent
	made    time.Time // when event was
}

// stands is a signal that stands.
type stands struct {
	presence.Signal
	until time.Time
	turn  uint64
}

// maxStanding bounds the signals that stand in a topic.
const maxStanding = 100

// standingFresh is for how long those who come share one event of what stands. The rest of each
// For is that much too long, which S5 allows.
const standingFresh = 500 * time.Millisecond

// keep remembers a signal that stands, and forgets one that it ends. It returns false if there
// is no room.
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

// now returns what stands, each with the rest of its For, in the order in which it began.
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

// watchStandingLocked has the next signal that is over end by itself: readers are told so.
func (r *replica) watchStandingLocked(now time.Time) {
	k := &r.signals.standing
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
		k.lapse = time.AfterFunc(next.Sub(now), r.endStanding)
	}
}

// endStanding ends the signals whose time is over.
func (r *replica) endStanding() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.closed || r.signals.lapse == nil {
		return
	}
	for key, s := range r.signals.signals {
		if s.until.After(now) {
			continue
		}
		delete(r.signals.signals, key)
		r.signals.event = nil
		if _, later := r.signals.pending.latest[key]; !later { // a later word takes its place
			r.signals.pending.put(presence.Signal{Type: s.Type, V: s.V, From: s.From, For: -1})
		}
	}
	r.watchStandingLocked(now)
	r.scheduleSignalsLocked()
}

// endStandingOfLocked forgets what users who left said: their leaves tell the readers.
func (r *replica) endStandingOfLocked(left []backend.Departure) {
	if r.signals == nil || len(r.signals.signals) == 0 {
		return
	}
	for _, d := range left {
		for key := range r.signals.signals {
			if key.from == d.ID {
				delete(r.signals.signals, key)
				r.signals.event = nil
			}
		}
	}
}

// standingLocked implements stander.
func (r *replica) standingLocked() *sharedEvent {
	if r.signals == nil || len(r.signals.signals) == 0 {
		return nil
	}
	k, now := &r.signals.standing, time.Now()
	if k.event == nil || k.event.Cursor != r.cursor || now.Sub(k.made) > standingFresh {
		all := k.now(now)
		if len(all) == 0 {
			return nil
		}
		k.event, k.made = newSharedEvent(frame{Event: r.signalEvent(all)}), now
	}
	return k.event
}

// stopSignalsLocked ends the timers.
func (r *replica) stopSignalsLocked() {
	if r.signals != nil {
		r.signals.window.stop()
		if r.signals.lapse != nil {
			r.signals.lapse.Stop()
		}
	}
}

// standing is [Tracker.Standing].
func (t *topics) standing(topic presence.Topic) []presence.Signal {
	r := t.peek(topic)
	if r == nil {
		return nil
	}
	return r.standingNow()
}

func (r *replica) standingNow() []presence.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.signals == nil {
		return nil
	}
	return r.signals.now(time.Now())
}
