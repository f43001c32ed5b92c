package track

import (
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A wakeSet is the set of subscribers that one goroutine reads. See [Group].
type wakeSet struct {
	ready wait.Wakeup
	solo  bool // it has one subscriber, and take is never called
	quiet bool // no event wakes it

	// The goroutine that reads owns these: when the oldest change arrived that it has read and not written,
	// and where its lag is counted.
	oldest time.Time
	stats  *counters

	mu      groupMutex
	changed []*audience // audiences with changes since the latest take, each once
	woken   []subscriber
	spare   struct { // the lists of the previous take, to be reused
		changed []*audience
		woken   []subscriber
	}
}

// A subscriber has readers. A connection is one.
type subscriber interface {
	// setWoken sets whether the subscriber is in its set's list of woken ones, and returns the previous
	// value. The set's mutex guards it.
	setWoken(bool) (was bool)
}

func newWakeSet(solo bool) *wakeSet { return &wakeSet{ready: wait.NewWakeup(), solo: solo} }

// An audience is the readers of one source that belong to one wakeSet.
type audience struct {
	group  *wakeSet
	outlet *outlet

	// The outlet's mutex guards these.
	readers []*reader
	place   int       // index in the outlet's armed; negative: it was woken and has not read since
	arrived time.Time // when the change arrived that woke it; zero: it has read, or nothing woke it
}

// take passes on what was woken since the previous call: to ready the readers that may have something to
// read, one audience at a time, with its outlet's mutex held, and to awake the subscribers. A subscriber may
// come twice.
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

// take passes the readers of a woken audience to ready, and arms the audience again.
func (o *outlet) take(a *audience, ready func([]*reader)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armLocked(a)
	a.takeArrivalLocked()
	ready(a.readers)
}

// takeArrivalLocked tells the group when the change arrived that woke the audience. The goroutine that reads
// the group calls it, with the outlet's mutex held.
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

// written notes that the events that were read have been written: see [Group.Written].
func (g *wakeSet) written() {
	if !g.oldest.IsZero() {
		g.stats.screenLag.observe(int64(time.Since(g.oldest)))
		g.oldest = time.Time{}
	}
}

// wake puts a subscriber on the list of woken ones. It never blocks.
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

// change puts an audience on the list, because there is an event for it.
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

// wakeLocked wakes each armed audience. An audience that was woken and has not read since is not armed, so a
// burst of events wakes each group once.
func (o *outlet) wakeLocked() {
	for _, a := range o.armed {
		a.place, a.arrived = -1, o.arrived
		a.group.change(a)
	}
	clear(o.armed)
	o.armed, o.arrived = o.armed[:0], time.Time{}
}

// armLocked makes the next event wake an audience. The caller must read after that, so that it misses no
// event.
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

// attach makes the outlet's events wake a reader's group.
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

// move moves a reader to another group, unless it was detached.
func (o *outlet) move(s *reader, g *wakeSet) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.audience != nil {
		o.detachLocked(s)
		o.attachLocked(s, g)
	}
}

// audienceLocked returns the audience of a group, and creates it if there was none.
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
