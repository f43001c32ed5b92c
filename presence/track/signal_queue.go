package track

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A signalKey identifies signals that replace one another: those with the same sender and type.
type signalKey struct {
	kind string // Signal.Type
	from presence.UserID
}

func signalKeyOf(s presence.Signal) signalKey { return signalKey{s.Type, s.From} }

// A signalQueue has the latest signal of each type and sender, in the order in which they came. It holds up
// to maxQueued signals. The zero value is empty.
type signalQueue struct {
	latest map[signalKey]presence.Signal
	order  []signalKey
}

func (q *signalQueue) empty() bool { return len(q.order) == 0 }

// put adds a signal. It returns false if there is no room.
func (q *signalQueue) put(s presence.Signal) bool {
	key := signalKeyOf(s)
	if _, ok := q.latest[key]; !ok {
		if len(q.order) >= maxQueued {
			return false
		}
		if q.latest == nil {
			q.latest = make(map[signalKey]presence.Signal)
		}
		q.order = append(q.order, key)
	}
	q.latest[key] = s
	return true
}

// takeAll returns the signals and empties the queue.
func (q *signalQueue) takeAll() []presence.Signal {
	all := make([]presence.Signal, len(q.order))
	for i, key := range q.order {
		all[i] = q.latest[key]
	}
	*q = signalQueue{}
	return all
}

// An allowance is a rate limit: so much a second, with a burst. The zero value is full.
type allowance struct {
	full time.Time // when it will be full again
}

// spend takes n from an allowance of each a second with a burst. It reports whether that much was left.
func (a *allowance) spend(n, each, burst int, now time.Time) bool {
	full := a.full
	if full.Before(now) {
		full = now
	}
	full = full.Add(time.Duration(n) * time.Second / time.Duration(each))
	if full.Sub(now) > time.Duration(burst)*time.Second/time.Duration(each) {
		return false
	}
	a.full = full
	return true
}
