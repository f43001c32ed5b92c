package track

import (
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A wakeSet is the subscribers whom one goroutine reads for. See [Group].
type wakeSet struct {
	ready wait.Wakeup
	solo  bool // of one subscriber: nobody calls take
	quiet bool // no event wakes it

	// These belong to the goroutine that reads: when the oldest change arrived
	// that it has read and not written, and where to count that.
	oldest time.Time
	stats  *counters

	mu      groupMutex
	changed []*audience // since the latest take, once
	woken   []subscriber
	spare   struct { // the lists of the take before, for the next
		changed []*audience
		woken   []subscriber
	}
}

// A subscriber is who has readers, such as a connection.
type subscriber interface {
	// setWoken says whether the subscriber is in its set's list of woken ones, and returns what was
	// said before. The set's mutex guards it.
	setWoken(bool) (was bool)
}

func newWakeSet(solo bool) *wakeSet { return &wakeSet{ready: wait.NewWakeup(), solo: solo} }

// An audience is the readers of one set who read one source.
type audience struct {
	group  *wakeSet
	outlet *outlet

	// The outlet's mutex guards these.
	readers []*reader
	place   int       // in the outlet's armed; negative: woken, and has not read since
	arrived time.Time // when the change arrived that woke it; zero: none did, or it has read
}

// take hands over the readers who may have something to read, of one audience at a time and with its
// outlet's mutex held, and the subscribers who were woken, since the call before. One may come twice.
func (g *wakeSet) take(ready func([]*reader), awake func([]subscriber)) {
	g.mu.Lock()
	changed, woken := g.changed, g.woken
	g.changed, g.woken = g.spare.changed, g.spare.woken
	g.spare.changed, g.spare.woken = nil, nil
	for _, s := range woken {
		s.setWoken(false)
	}
	g.mu.Unlock()
	awake(woken)
	for _, a := range changed {
		a.outlet.take(a, ready)
	}
	clear(changed)
	clear(woken)
	g.mu.Lock()
	g.spare.changed, g.spare.woken = changed[:0], woken[:0]
	g.mu.Unlock()
}

// take hands over the readers of an audience that was woken, which the next event wakes again.
func (o *outlet) take(a *audience, ready func([]*reader)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armLocked(a)
	a.takeArrivalLocked()
	ready(a.readers)
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

// written notes that what was read has been written: see [Group.Written].
func (g *wakeSet) written() {
	if !g.oldest.IsZero() {
		g.stats.screenLag.observe(int64(time.Since(g.oldest)))
		g.oldest = time.Time{}
	}
}

// wake has a subscriber looked at. It never blocks.
func (g *wakeSet) wake(s subscriber) {
	if !g.solo {
		g.mu.Lock()
		if !s.setWoken(true) {
			g.woken = append(g.woken, s)
		}
		g.mu.Unlock()
	}
	g.ready.Wake()
}

// change has an audience looked at, for which there is an event.
func (g *wakeSet) change(a *audience) {
	if g.quiet {
		return
	}
	if !g.solo {
		g.mu.Lock()
		g.changed = append(g.changed, a)
		g.mu.Unlock()
	}
	g.ready.Wake()
}

// wakeLocked wakes each armed audience. An audience that was woken, and has not read
// since, is not armed, so a burst of events wakes each group once.
func (o *outlet) wakeLocked() {
	for _, a := range o.armed {
		a.place, a.arrived = -1, o.arrived
		a.group.change(a)
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
func (o *outlet) attach(s *reader, g *wakeSet) {
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
func (o *outlet) move(s *reader, g *wakeSet) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.audience != nil {
		o.detachLocked(s)
		o.attachLocked(s, g)
	}
}

// audienceLocked returns the audience of a group, a new one if there was none.
func (o *outlet) audienceLocked(g *wakeSet) *audience {
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
		o.audiences = map[*wakeSet]*audience{g: a}
	default:
		o.audiences[g] = a
	}
	return a
}

func (o *outlet) attachLocked(s *reader, g *wakeSet) {
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
