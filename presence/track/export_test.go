package track

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// ID returns the name of the connection among all nodes.
func (c *Connection) ID() presence.Holder { return c.id }

// SetProfile makes a person look like a profile.
var SetProfile = setProfile

// TopicsOf returns the topics that a token names.
func TopicsOf(token presence.Token) []presence.Topic {
	c, err := readClaim(string(token[:strings.LastIndexByte(string(token), '~')]))
	if err != nil {
		panic(err)
	}
	return c.topics
}

// RememberAtMost makes the tracker remember n users without a connection, and the choices of as many.
func (t *Tracker) RememberAtMost(n int) {
	t.users.max, t.users.records.choices.Max, t.lastSeen.waiting.Max = n, n, n
}

// PendAtMost bounds the operations that wait for the store, and those that wait for choices.
func (t *Tracker) PendAtMost(n int) {
	t.writer.mu.Lock()
	defer t.writer.mu.Unlock()
	t.writer.max = n
}

// StreamingGuests returns how many guests the tracker remembers because of their streams.
func (t *Tracker) StreamingGuests() int {
	t.users.mu.Lock()
	defer t.users.mu.Unlock()
	return len(t.users.guests)
}

// PassingGuests returns how many passing guests the tracker remembers.
func (t *Tracker) PassingGuests() int {
	t.users.mu.Lock()
	defer t.users.mu.Unlock()
	return len(t.users.passing)
}

// ServeCounter opens topics of a counter's kind as that counter.
func (t *Tracker) ServeCounter(s *Counter) {
	t.sources.openers[s.out.topic.Kind()] = func(context.Context, presence.Topic, opening, presence.Cursor) (source, error) { return s, nil }
}

// A Counter is a source that is no roster: a number, whose versions are its values. It
// remembers no more than counterMemory of them for readers that resume.
type Counter struct {
	out     *outlet
	mu      outletMutex
	view    atomic.Pointer[counterView]
	counted counters
}

const counterMemory = 10

type counterView struct {
	topic        presence.Topic
	value, watts int
}

// NewCounter returns a counter at 0.
func NewCounter(topic presence.Topic) *Counter {
	c := &Counter{}
	c.out = newOutlet(topic, &c.counted, &c.mu)
	c.view.Store(&counterView{topic: topic})
	return c
}

// Add publishes the next value.
func (c *Counter) Add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := *c.view.Load()
	now.value++
	c.view.Store(&now)
	c.out.publishLocked(frame{Event: now.event(presence.EventDiff, "+1")})
}

// Lagged returns how many readers fell out of the log.
func (c *Counter) Lagged() uint64 { return c.counted.resyncs.Load() }

// Burn changes the figure that only heartbeats tell.
func (c *Counter) Burn(watts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := *c.view.Load()
	now.watts = watts
	c.view.Store(&now)
	c.out.wakeLocked()
}

// Idle reports whether nobody reads the counter.
func (c *Counter) Idle() bool {
	c.out.unused(0) // forgets that it was used
	return c.out.unused(-1)
}

func (c *Counter) outlet() *outlet { return c.out }

func (c *Counter) latest() sourceView { return c.view.Load() }

func (c *Counter) resumeLocked(from presence.Cursor, _ int) (*sharedEvent, bool) {
	id, _ := from.Version(c.out.topic)
	value, err := strconv.Atoi(string(id))
	now := c.view.Load()
	missed := now.value - value
	if err != nil || missed < 0 || missed > counterMemory {
		return nil, false
	}
	if missed == 0 {
		return nil, true
	}
	return newSharedEvent(frame{Event: now.event(presence.EventDiff, fmt.Sprint("+", missed))}), true
}

func (v *counterView) event(kind presence.EventType, data string) presence.Event {
	return presence.Event{Type: kind, Topic: v.topic, Cursor: v.cursor(), Data: []byte(data)}
}

func (v *counterView) cursor() presence.Cursor {
	return presence.NewCursor(v.topic, presence.DiffID(strconv.Itoa(v.value)))
}
func (v *counterView) figures() figures { return figures{v.watts} }

func (v *counterView) stateEvent(int) *sharedEvent {
	return newSharedEvent(frame{Event: v.event(presence.EventState, fmt.Sprint("=", v.value))})
}

func (v *counterView) heartbeatEvent() *sharedEvent {
	return newSharedEvent(frame{Event: v.event(presence.EventHeartbeat, fmt.Sprint(v.watts, " W"))})
}

// MaxChanged is maxChanged.
const MaxChanged = maxChanged

// FlushInterval is flushInterval.
const FlushInterval = flushInterval

// LatelyKept returns how many topics have their recently active users in memory.
func (t *Tracker) LatelyKept() int {
	t.recent.lately.mu.Lock()
	defer t.recent.lately.mu.Unlock()
	return len(t.recent.lately.byKey)
}

// ErasureHold is how long the claim of an erasure lasts.
const ErasureHold = erasureHold

// ToldTopics returns how many topics a node remembers of which polls told.
func (t *Tracker) ToldTopics() int {
	t.poller.mu.Lock()
	defer t.poller.mu.Unlock()
	return len(t.poller.changed)
}

// FiguresKept returns how many topics that are not loaded have their figures in memory.
func (t *Tracker) FiguresKept() int {
	return t.counts.memory.Len()
}

// PeaksKept returns how many records a node that remembers at most max remembers of as many
// topics.
func PeaksKept(max, topics int, at time.Time) int {
	p := newPeaks(func(int) {})
	p.known.Max = max
	for i := range topics {
		p.merge(presence.Topic(fmt.Sprint("thread:", i)), backend.Peak{Total: 1, At: at})
	}
	return p.known.Len()
}

// An Untils ends statuses, as a tracker does.
type Untils struct {
	*untils
	life *lifetime
}

// NewUntils returns an Untils that calls ended.
func NewUntils(ended func(presence.UserID)) Untils {
	u := Untils{life: newLifetime()}
	u.untils = newUntils(u.life, ended, func(int) {})
	return u
}

// Set notes when the status of a user ends.
func (u Untils) Set(user presence.UserID, until time.Time) { u.set(user, until) }

// Stop ends the goroutine, if there is one.
func (u Untils) Stop() {
	u.life.stop()
	u.life.wait()
}

// DevicesOf returns the ids of a user's devices that the tracker knows of.
func (t *Tracker) DevicesOf(user presence.UserID) (ids []string) {
	for m := range t.devices.of(user) {
		_, id := backend.OwnerOf(m.ID)
		ids = append(ids, string(id))
	}
	return ids
}

// WordStatus returns the status that a user's devices show.
func (t *Tracker) WordStatus(user presence.UserID) presence.Status {
	for m := range t.devices.of(user) {
		return m.visibility().Status
	}
	return ""
}

// Write adds an operation to those that wait for the store.
func (t *Tracker) Write(topic presence.Topic, op backend.Op) { t.writer.add(topic, op) }

// StatusesAsked returns the status of a user in Site, as each call of the store tells a node.
func StatusesAsked(ctx context.Context, t *Tracker, user presence.UserID) map[string]presence.Status {
	told := make(map[string]presence.Status)
	member := func(what string, members []presence.Member) {
		for _, m := range members {
			told[what] = m.Status
		}
	}
	snap, _ := t.store.Snapshot(ctx, presence.Site)
	log, _ := t.store.Log(ctx, presence.Site, "")
	for what, members := range map[string][]presence.Member{"snapshot": snap.Members, "log": log[0].Joins} {
		told[what] = ""
		member(what, members)
	}
	seen, _ := t.store.Sightings(ctx, presence.Site, user)
	inspected, _ := t.store.Inspect(ctx, presence.Site, "", 1)
	told["sighting"], told["inspect"] = seen[0].Status, inspected[0].Status
	return told
}

// Hear makes the tracker hear a notice.
func (t *Tracker) Hear(n backend.Notice) { t.hear(n) }

// TopicShares returns how many places and tenants have topics here.
func (t *Tracker) TopicShares() int {
	t.topics.mu.Lock()
	defer t.topics.mu.Unlock()
	if t.topics.shared == nil {
		return 0
	}
	return len(t.topics.shared.tenants) + len(t.topics.shared.addresses)
}

// TopicsByMemory returns the default of Config.MaxTopics.
func TopicsByMemory(bytes int64) int { return topicsByMemory(bytes) }

// BroadcastAges finds out how late broadcasts come.
type BroadcastAges = broadcastAges

// TooLate notes a broadcast, and reports whether it comes too late to be shown.
func (a *broadcastAges) TooLate(node string, sent, now time.Time) bool {
	return a.tooLate(node, sent, now)
}

// KnowsDevice reports whether the tracker has read a device of a user from the store.
func (t *Tracker) KnowsDevice(user presence.UserID, device presence.DeviceID) bool {
	view := t.topics.peek(backend.DevicesTopic).view.Load()
	return view.roster.get(backend.MemberOf(user, device)) != nil
}

// ShareHash puts a topic's window under the name of another one, as if their lists had the same hash.
func (t *Tracker) ShareHash(topic presence.Topic, of, as Window) {
	r := t.topics.peek(topic)
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.windows.all[of.name()]
	delete(r.windows.all, of.name())
	r.windows.all[as.name()] = w
}

// SharesWindow reports whether windows of two sizes are one.
func SharesWindow(v *View, a, b int) bool { return v.first(a) == v.first(b) }
