package track

import (
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A source is what a Connection reads: the replica of a roster, or what sources.go opens for other topics.
// Readers know a source only by its outlet and these methods.
type source interface {
	outlet() *outlet

	// latest returns the source's latest version. It takes no lock.
	latest() sourceView
}

// A resumer is a source that has one event for all readers at a cursor: every source except windows, whose readers go
// from stage to stage.
type resumer interface {
	source

	// resumeLocked returns the one event that leads from a cursor to the latest version, or nil if nothing
	// happened since. It returns false if the reader needs a state instead, of up to limit users. It may
	// publish pending changes.
	resumeLocked(from presence.Cursor, limit int) (missed *sharedEvent, ok bool)
}

// A sourceView is a source at one version. It never changes.
type sourceView interface {
	cursor() presence.Cursor
	figures() figures
	stateEvent(limit int) *sharedEvent
	heartbeatEvent() *sharedEvent
}

// figures are the numbers in a heartbeat that diffs do not have, such as the number of guests. Each source
// gives them its own meaning.
type figures [3]int

// unknownFigures differ from the figures of every source.
var unknownFigures = figures{-1}

// An outlet delivers the events of a source to its readers. It has a log of events, each encoded once, and
// the groups that the next event wakes. It knows nothing of rosters, stores and users.
//
// The outlet uses the mutex with which the source guards its own state, like a [sync.Cond]. So an event and
// its version change together, and a read takes one lock. The lock order is in doc.go.
type outlet struct {
	topic  presence.Topic
	stats  *counters
	looked atomic.Bool  // the source was used since the latest call of unused
	used   atomic.Int64 // when unused last found looked set, in Unix nanoseconds

	mu        *outletMutex // the source's
	log       frameLog
	first     *audience              // most lines and watch lists have only this one, and need no map
	audiences map[*wakeSet]*audience // the others
	armed     []*audience            // the audiences that the next event wakes
	arrived   time.Time              // when the change of the next event reached this node; zero: its lag is not measured
}

// newOutlet returns an outlet without events. stats counts readers that fell behind the log, and how long
// events take to be written.
func newOutlet(topic presence.Topic, stats *counters, mu *outletMutex) *outlet {
	o := &outlet{topic: topic, stats: stats, mu: mu}
	o.touch()
	return o
}

// touch marks the source as used. Every page view calls it, so it does not read the clock: unused does.
func (o *outlet) touch() {
	if !o.looked.Load() {
		o.looked.Store(true)
	}
}

// unused reports whether the source has had no readers and no use for a duration. It is exact to within the
// interval between calls.
func (o *outlet) unused(after time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unusedLocked(after)
}

func (o *outlet) unusedLocked(after time.Duration) bool {
	if o.looked.Swap(false) {
		o.used.Store(time.Now().UnixNano())
		return false
	}
	return !o.readLocked() && time.Since(time.Unix(0, o.used.Load())) > after
}

// readLocked reports whether the source has readers.
func (o *outlet) readLocked() bool { return o.first != nil || len(o.audiences) > 0 }

// after calls fn after a time, with the mutex held.
func (o *outlet) after(d time.Duration, fn func()) *time.Timer {
	return time.AfterFunc(d, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		fn()
	})
}

// publishLocked adds an event to the log and wakes the readers. The source's latest
// version is already the one after the event.
func (o *outlet) publishLocked(f frame) {
	o.log.push(f)
	o.wakeLocked()
}

// restartLocked drops all events and wakes the readers. Each gets a state next.
func (o *outlet) restartLocked() {
	o.log.restart()
	o.wakeLocked()
}
