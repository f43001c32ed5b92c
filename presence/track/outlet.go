package track

import (
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A source is what a Connection reads; a roster's replica is one, and sources.go may
// open others. Readers know a source only through its outlet and these methods.
type source interface {
	outlet() *outlet

	// latest returns the source's latest version. It takes no lock.
	latest() sourceView
}

// A resumer is a source whose readers follow its log. All are, but for windows.
type resumer interface {
	source

	// resumeLocked returns the one event that leads from a cursor to the latest
	// version, nil if nothing happened since. It returns false where the reader
	// needs a state, of up to limit users, instead. It may publish what is pending.
	resumeLocked(from presence.Cursor, limit int) (missed *sharedEvent, ok bool)
}

// A sourceView is a source at one version. It never changes.
type sourceView interface {
	cursor() presence.Cursor
	figures() figures
	stateEvent(limit int) *sharedEvent
	heartbeatEvent() *sharedEvent
}

// figures are what a heartbeat tells and a diff does not, such as the number of
// guests. Each source gives them its own meaning.
type figures [4]int

// unknownFigures differ from all that a source has.
var unknownFigures = figures{-1}

// An outlet is how a source reaches its readers: a log of events, each encoded once,
// and the groups that the next event wakes. It knows no roster, store or user.
//
// A source guards its own state with one mutex, which it hands to its outlet, as to a
// [sync.Cond]. So an event and the version that it leads to change together, and a read takes
// one lock. The lock order is written down in doc.go.
type outlet struct {
	topic  presence.Topic
	stats  *counters
	looked atomic.Bool  // the source was used since the latest call of unused
	used   atomic.Int64 // when unused last found looked set, in Unix nanoseconds

	mu        *outletMutex // the source's
	log       frameLog
	first     *audience              // most lines and watch lists have one, and need no map
	audiences map[*wakeSet]*audience // the others
	armed     []*audience            // those that the next event wakes
	arrived   time.Time              // when the change of the next event reached this node; zero: its lag is not measured
}

// newOutlet returns an outlet without events. stats counts the readers that fell out of
// its log, and how long events take to be written.
func newOutlet(topic presence.Topic, stats *counters, mu *outletMutex) *outlet {
	o := &outlet{topic: topic, stats: stats, mu: mu}
	o.touch()
	return o
}

// touch marks the source as used. Every page view calls it, so it leaves the clock
// to unused.
func (o *outlet) touch() {
	if !o.looked.Load() {
		o.looked.Store(true)
	}
}

// unused reports whether the source has been unused, and without readers, for a
// duration. The answer is exact to within one interval between calls.
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

// restartLocked drops all events and wakes the readers: each gets a state next.
func (o *outlet) restartLocked() {
	o.log.restart()
	o.wakeLocked()
}
