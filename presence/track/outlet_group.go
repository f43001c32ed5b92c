package track

import (
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A Group is a set of connections that one goroutine reads. It reports which of them
// may have something, whichever topics changed, with one wake-up for all of them. A
// connection belongs to one Group at a time; until [Group.Add] it has one of its own.
// The methods may be called concurrently, but for Add.
type Group struct {
	ready wait.Wakeup
	solo  bool // of one connection: nobody calls Woken

	// These belong to the goroutine that reads the group: when the oldest change arrived
	// that it has read and not written, and where to count that.
	oldest time.Time
	stats  *counters

	mu      groupMutex
	changed []*audience // since the latest Woken, each once
	woken   []*Connection
	spare   struct { // the lists of the Woken before, for the next
		changed []*audience
		woken   []*Connection
	}
}

// An audience is the connections of one group that read one source.
type audience struct {
	group  *Group
	outlet *outlet

	// The outlet's mutex guards these.
	readers []*reader
	place   int       // in the outlet's armed; negative: woken, and has not read since
	arrived time.Time // when the change arrived that woke it; zero: none did, or it has read
}

// NewGroup returns a Group without connections.
func NewGroup() *Group { return &Group{ready: wait.NewWakeup()} }

// Ready receives when Woken has something. It may receive once too often.
func (g *Group) Ready() <-chan struct{} { return g.ready }

// newSolo returns the group of one connection.
func newSolo() *Group { return &Group{ready: wait.NewWakeup(), solo: true} }

// Add moves a connection into the group, and wakes it. A connection is added to one
// group, once. As with Events, the goroutine that reads the connection calls it.
func (g *Group) Add(c *Connection) {
	c.mu.Lock()
	c.group = g
	readers := c.topics()
	c.mu.Unlock()
	for _, s := range readers {
		s.from.outlet().move(s, g)
	}
	c.wake() // for what came before the move
}

// Woken appends to buf the connections of the group that may have something to
// read, or that have ended, since the call before. A connection may be in it twice.
func (g *Group) Woken(buf []*Connection) []*Connection {
	g.mu.Lock()
	changed, woken := g.changed, g.woken
	g.changed, g.woken = g.spare.changed, g.spare.woken
	g.spare.changed, g.spare.woken = nil, nil
	for _, c := range woken {
		c.woken = false
	}
	g.mu.Unlock()
	buf = append(buf, woken...)
	for _, a := range changed {
		a.outlet.mu.Lock()
		a.outlet.armLocked(a)
		a.takeArrivalLocked()
		for _, s := range a.readers {
			buf = append(buf, s.conn)
		}
		a.outlet.mu.Unlock()
	}
	clear(changed)
	clear(woken)
	g.mu.Lock()
	g.spare.changed, g.spare.woken = changed[:0], woken[:0]
	g.mu.Unlock()
	return buf
}

// takeArrivalLocked tells the group when the change arrived that woke the audience. The
// goroutine that reads the group calls it, with the outlet's mutex held.
func (a *audience) takeArrivalLocked() {
	if a.arrived.IsZero() {
		return
	}
	g := a.group
	if g.oldest.IsZero() || a.arrived.Before(g.oldest) {
		g.oldest, g.stats = a.arrived, a.outlet.stats
	}
	a.arrived = time.Time{}
}

// Written notes that what was read has been written to the readers, for
// [Stats].ScreenLag. It counts once, however many connections were written to, and costs
// nothing if no change was read since the call before. The goroutine that reads the group
// calls it.
func (g *Group) Written() {
	if !g.oldest.IsZero() {
		g.stats.screenLag.observe(int64(time.Since(g.oldest)))
		g.oldest = time.Time{}
	}
}

// Written is [Group.Written] for a connection in no group.
func (c *Connection) Written() {
	c.mu.Lock()
	g := c.group
	c.mu.Unlock()
	if g.solo {
		g.Written()
	}
}

// wake has the connection looked at by the goroutine that reads it. It never blocks.
func (c *Connection) wake() {
	c.mu.Lock()
	g, joining := c.group, c.joining
	c.mu.Unlock()
	if joining != nil {
		joining.ready.Wake()
	}
	if !g.solo {
		g.mu.Lock()
		if !c.woken {
			c.woken = true
			g.woken = append(g.woken, c)
		}
		g.mu.Unlock()
	}
	g.ready.Wake()
}

// wakeLocked wakes each armed audience. An audience that was woken, and has not read
// since, is not armed, so a burst of events wakes each group once.
func (o *outlet) wakeLocked() {
	for _, a := range o.armed {
		a.place, a.arrived = -1, o.arrived
		if !a.group.solo {
			a.group.mu.Lock()
			a.group.changed = append(a.group.changed, a)
			a.group.mu.Unlock()
		}
		a.group.ready.Wake()
	}
	clear(o.armed)
	o.armed, o.arrived = o.armed[:0], time.Time{}
}

// armLocked lets the next event wake an audience. The caller reads after it, so that
// no event is missed between.
func (o *outlet) armLocked(a *audience) {
	if a.place < 0 && len(a.readers) > 0 {
		a.place = len(o.armed)
		o.armed = append(o.armed, a)
	}
}

// disarmLocked undoes armLocked.
func (o *outlet) disarmLocked(a *audience) {
	if a.place < 0 {
		return
	}
	last := len(o.armed) - 1
	o.armed[a.place] = o.armed[last]
	o.armed[a.place].place = a.place
	o.armed[last] = nil
	o.armed = o.armed[:last]
	a.place = -1
}

// attach has a reader's group woken by the outlet's events.
func (o *outlet) attach(s *reader, g *Group) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attachLocked(s, g)
}

// detach undoes attach. It is a no-op for a reader that is not attached.
func (o *outlet) detach(s *reader) {
	o.touch()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.detachLocked(s)
}

// move takes a reader to another group, unless it was detached.
func (o *outlet) move(s *reader, g *Group) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.audience != nil {
		o.detachLocked(s)
		o.attachLocked(s, g)
	}
}

// audienceLocked returns the audience of a group, a new one if there was none.
func (o *outlet) audienceLocked(g *Group) *audience {
	if o.first != nil && o.first.group == g {
		return o.first
	}
	if a := o.audiences[g]; a != nil {
		return a
	}
	a := &audience{group: g, outlet: o, place: -1}
	switch {
	case o.first == nil:
		o.first = a
	case o.audiences == nil:
		o.audiences = map[*Group]*audience{g: a}
	default:
		o.audiences[g] = a
	}
	return a
}

func (o *outlet) attachLocked(s *reader, g *Group) {
	a := o.audienceLocked(g)
	s.audience, s.seat = a, len(a.readers)
	if a.readers = append(a.readers, s); s.seat == 0 {
		o.armLocked(a)
	}
}

func (o *outlet) detachLocked(s *reader) {
	a := s.audience
	if a == nil {
		return
	}
	last := len(a.readers) - 1
	a.readers[s.seat] = a.readers[last]
	a.readers[s.seat].seat = s.seat
	a.readers[last] = nil
	a.readers = a.readers[:last]
	if last == 0 {
		if o.first == a {
			o.first = nil
		} else {
			delete(o.audiences, a.group)
		}
		o.disarmLocked(a)
	}
	s.audience = nil
}
