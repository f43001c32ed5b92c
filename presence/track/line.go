package track

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A LineSource keeps topics that are not rosters, such as the feeds of package feed. Pages follow them over
// the same connections, with the same cursors, as rosters. See [Tracker.Serve].
type LineSource interface {
	// Open returns the line of a topic for a visitor. The handlers have already checked that the visitor may
	// follow it. have is the version that the reader has, or "". Open may wait for data that the topic needs,
	// as long as ctx allows. A LineSource that cannot reach its data returns a stale line and no error, so
	// that the other topics of the connection go on. The errors for a visitor are [presence.ErrGuest],
	// [presence.ErrInvalidTopic] and [presence.ErrTooManyTopicsHere]. It may be called concurrently.
	Open(ctx context.Context, topic presence.Topic, v presence.Visitor, have presence.DiffID) (*Line, error)

	// Hear takes a hint that [Tracker.Hint] sent from any node. from is the name of the node. A hint is
	// untrusted, because anyone who can write to the store can forge one. Hear must not block.
	Hear(from, hint string)
}

// serves is [Tracker.Serves].
func (s *sources) serves(topic presence.Topic) bool {
	return s.openerOf(topic) != nil
}

// sendHint is [Tracker.Hint].
func sendHint(ctx context.Context, store backend.Store, node, hint string) error {
	return storeOut(store.Publish(ctx, backend.Notice{Kind: backend.NoticeHint, Payload: node + " " + hint}))
}

// hearHint passes a hint to each LineSource.
func (t *Tracker) hearHint(payload string) {
	node, hint, ok := strings.Cut(payload, " ")
	if ok {
		t.sources.hear(node, hint)
	}
}

// A LineVersion is a [Line] at one version. Its data never change.
type LineVersion struct {
	// ID names the version in cursors. Two versions that differ in what a page shows have different IDs, even
	// if they are of different visitors. 1 to 30 bytes of 0-9 a-z and -; [NoVersion] if nobody can resume.
	ID presence.DiffID

	Stale     bool   // the data cannot be reached, so that this may be out of date
	Heartbeat []byte // the data of a heartbeat event
	Waiting   []byte // the same, for a reader that waits for a state. Its cursor is that of NoVersion.

	// State and Since build data that few readers need. They may be called concurrently, with locks held:
	// they must not block, and must not call this package except for [presence.NewCursor].

	// State returns the data of a state event. nil: they are not in memory. Then the reader waits, and the
	// owner is asked for a version that has them.
	State func() []byte

	// Since returns the data of the diff that leads from a version to this one; nil if
	// nothing has changed. It returns false where the reader needs a state.
	Since func(have presence.DiffID) (data []byte, ok bool)
}

// NoVersion is the version of a reader that has none yet.
const NoVersion presence.DiffID = "0"

// A Line is a topic that a [LineSource] keeps: its latest version, and the latest events. All connections
// with the same Line share its events, which are encoded once. Its methods may be called concurrently, except
// Publish, Replace and Restate, of which one may run at a time.
type Line struct {
	out    *outlet
	wanted func()
	mu     outletMutex
	now    atomic.Pointer[lineNow]
}

// A lineNow is a LineVersion with its events.
type lineNow struct {
	LineVersion
	topic     presence.Topic
	wanted    func()
	heartbeat atomic.Pointer[sharedEvent]
	state     *sharedEvent // the outlet's mutex guards it, and resumed
	resumed   *generations.Map[presence.DiffID, *sharedEvent]
}

// newLine is [Tracker.NewLine].
func newLine(topic presence.Topic, v LineVersion, wanted func(), stats *counters) *Line {
	l := &Line{wanted: wanted}
	l.out = newOutlet(topic, stats, &l.mu)
	l.now.Store(l.at(v))
	return l
}

func (l *Line) at(v LineVersion) *lineNow {
	return &lineNow{LineVersion: v, topic: l.out.topic, wanted: l.wanted}
}

// Publish makes v the latest version. It sends readers the event with the data diff, which leads from the
// previous version to v.
func (l *Line) Publish(v LineVersion, diff []byte) {
	now := l.at(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Store(now)
	l.out.arrived = time.Now()
	l.out.publishLocked(frame{Event: presence.Event{Type: presence.EventDiff, Topic: now.topic, Cursor: now.cursor(), Data: diff}})
}

// Replace makes v the latest version, and sends its readers a state.
func (l *Line) Replace(v LineVersion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Store(l.at(v))
	l.out.restartLocked()
}

// Restate replaces a version by one that shows the same, but may differ in Stale and in what is in memory.
// Readers learn when Stale changes.
func (l *Line) Restate(v LineVersion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.now.Load().Stale != v.Stale
	l.now.Store(l.at(v))
	if told {
		l.out.wakeLocked()
	}
}

// Forget drops the events that are in memory, to make a quiet line small. A reader that has
// not read them gets a state.
func (l *Line) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now.Load()
	now.state, now.resumed = nil, nil
	now.heartbeat.Store(nil)
	if n := len(l.out.log.frames); n > 0 {
		l.out.log.drop(n)
		l.out.log.frames, l.out.log.encoded, l.out.log.bytes = nil, nil, 0
	}
}

// Touch marks the line as used.
func (l *Line) Touch() { l.out.touch() }

// Unused reports whether the line has had no readers and no use for a duration. It is exact to within the
// interval between calls.
func (l *Line) Unused(after time.Duration) bool { return l.out.unused(after) }

func (l *Line) outlet() *outlet    { return l.out }
func (l *Line) latest() sourceView { return l.now.Load() }

// resumeLocked implements resumer. It ignores the limit, which is for rosters.
func (l *Line) resumeLocked(from presence.Cursor, _ int) (missed *sharedEvent, ok bool) {
	now := l.now.Load()
	have, ok := from.Version(now.topic)
	if !ok {
		return nil, false
	}
	if now.resumed == nil {
		now.resumed = generations.New[presence.DiffID, *sharedEvent](maxResumedLine, nil)
	}
	if missed, ok := now.resumed.Get(have); ok {
		return missed, true
	}
	data, ok := now.Since(have)
	if !ok || data == nil {
		return nil, ok
	}
	missed = now.event(presence.EventDiff, data)
	now.resumed.Set(have, missed)
	return missed, true
}

// maxResumedLine bounds the number of earlier versions for which a line keeps the diff to its latest one.
const maxResumedLine = 8

func (n *lineNow) cursor() presence.Cursor { return presence.NewCursor(n.topic, n.ID) }

func (n *lineNow) event(t presence.EventType, data []byte) *sharedEvent {
	return newSharedEvent(frame{Event: presence.Event{Type: t, Topic: n.topic, Cursor: n.cursor(), Data: data}})
}

func (n *lineNow) figures() figures {
	if n.Stale {
		return figures{1}
	}
	return figures{}
}

// stateEvent implements sourceView. The outlet's mutex is held. If the state is not in memory, it returns a
// heartbeat instead, and the reader waits.
func (n *lineNow) stateEvent(int) *sharedEvent {
	if n.state == nil && n.State == nil {
		n.wanted()
		return n.waitingEvent()
	}
	if n.state == nil {
		n.state = n.event(presence.EventState, n.State())
	}
	return n.state
}

// waitingEvent implements waiter. Its cursor names no version, so a reader that resumes from it gets a state.
func (n *lineNow) waitingEvent() *sharedEvent {
	return newSharedEvent(frame{Event: presence.Event{Type: presence.EventHeartbeat, Topic: n.topic, Cursor: presence.NewCursor(n.topic, NoVersion), Data: n.Waiting}})
}

func (n *lineNow) heartbeatEvent() *sharedEvent {
	if e := n.heartbeat.Load(); e != nil {
		return e
	}
	e := n.event(presence.EventHeartbeat, n.Heartbeat)
	n.heartbeat.Store(e)
	return e
}
