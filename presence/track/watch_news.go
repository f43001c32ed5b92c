package track

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Bounds of loud persons, who have many followers here (rule P9).
const (
	loudFollowers = 1_000
	loudEvery     = 10 * time.Second
)

// deviceNews collects what backend.DevicesTopic has published, until people look at it. heard runs with the
// mutex of that topic's outlet held, and the lists have outlets of their own: so it leaves the work to
// people.run.
type deviceNews struct {
	replica atomic.Pointer[replica] // of backend.DevicesTopic; nil until somebody looks at the topic
	kick    wait.Wakeup

	mu   newsMutex
	nets []net
	all  bool      // anything may have changed
	came time.Time // when the oldest news came
}

func newDeviceNews() *deviceNews { return &deviceNews{kick: wait.NewWakeup()} }

// follow collects the news of a replica of backend.DevicesTopic from now on.
func (h *deviceNews) follow(r *replica) {
	r.heard = h.heard
	h.replica.Store(r)
}

// heard is replica.heard of backend.DevicesTopic.
func (h *deviceNews) heard(n *net) {
	h.mu.Lock()
	if n == nil {
		h.nets, h.all = nil, true
	} else if !h.all {
		h.nets = append(h.nets, *n)
	}
	if h.came.IsZero() {
		h.came = time.Now()
	}
	h.mu.Unlock()
	h.kick.Wake()
}

func (h *deviceNews) take() (nets []net, all bool, came time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	nets, all, came = h.nets, h.all, h.came
	h.nets, h.all, h.came = nil, false, time.Time{}
	return nets, all, came
}

// run updates the lists, keeps the roster of devices in memory, and notices when the store is out.
func (p *peopleHere) run(ctx context.Context) {
	tick := time.NewTicker(houseKeeping)
	defer tick.Stop()
	p.pin()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.news.kick:
			p.hear()
		case <-tick.C:
			p.pin()
			p.tellLoud()
			p.relations.keep()
		}
	}
}

// pin looks at the roster of devices, so that no housekeeping forgets it.
func (p *peopleHere) pin() {
	r, err := p.topics.look(backend.DevicesTopic)
	if err != nil {
		return // the Tracker closes
	}
	view := r.view.Load()
	if stale := view != nil && view.Stale; stale != p.stale.Load() {
		p.stale.Store(stale)
		p.wakeAll()
	}
}

// devices returns the devices as this node knows them, nil before they are loaded.
func (p *peopleHere) devices() *View {
	r := p.news.replica.Load()
	if r == nil {
		return nil
	}
	return r.view.Load()
}

// wakeAll wakes the readers of all lists, because their heartbeats have changed.
func (p *peopleHere) wakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lists {
		if l != nil {
			l.wake(time.Time{})
		}
	}
}

// hear renews the people who have changed, and marks them in the lists of their followers.
func (p *peopleHere) hear() {
	nets, all, came := p.news.take()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	if all {
		for _, w := range p.byID {
			w.left = time.Time{} // the time of the latest departure is unknown
			p.changedLocked(w)
		}
	}
	for _, n := range nets {
		for _, departures := range [][]backend.Departure{n.leaves, n.vanished} {
			for _, d := range departures {
				owner, _ := backend.OwnerOf(d.ID)
				if w := p.byID[owner]; w != nil {
					w.leftAt(d.LastSeen)
				}
			}
		}
	}
	for _, n := range nets {
		for _, d := range n.leaves {
			p.deviceChangedLocked(d.ID)
		}
		for _, e := range n.joins {
			p.deviceChangedLocked(e.ID)
		}
		for _, e := range n.silent {
			p.deviceChangedLocked(e.ID)
		}
	}
	p.wakeMarkedLocked(came)
}

func (p *peopleHere) deviceChangedLocked(member presence.UserID) {
	owner, _ := backend.OwnerOf(member)
	if w := p.byID[owner]; w != nil && w.renewed != p.turn {
		p.changedLocked(w)
	}
}

// changedLocked renews a person, and marks the lists of the followers, unless the person is loud (rule P9).
func (p *peopleHere) changedLocked(w *watched) {
	w.renewed = p.turn
	before := w.now.Load()
	if !p.renewLocked(w) {
		return
	}
	now := w.now.Load()
	soon := len(w.followers) <= p.loudOver || time.Since(w.told) >= loudEvery || now.invisible || now.changesSight(before)
	switch {
	case soon:
		p.tellLocked(w)
	case !w.due:
		w.due = true
		p.loud = append(p.loud, w)
	}
}

// renewLocked updates a person from the devices, and reports whether anything has changed.
func (p *peopleHere) renewLocked(w *watched) bool {
	before := w.now.Load()
	now := &seenPerson{visibility: presence.HiddenVisibility}
	if devices := p.devices(); devices != nil {
		switch s, here := devices.sightOf(w.id); {
		case here && s.visibility.Status == presence.Invisible: // looks like a user who left
			now.invisible, now.visibility = true, s.visibility
		case here:
			now.here, now.visibility = true, s.visibility
			if !s.visibility.Hidden() {
				now.json = appendPerson(nil, w.id, &s)
				now.hash = hashOf(now.json)
			}
		}
	}
	switch {
	case before == nil:
	case !now.here && !before.here:
		return false
	case !now.here:
		seen := before.visibility.Seen
		if now.invisible {
			seen = presence.Narrower(seen, now.visibility.Seen) // both may have changed at once
		}
		now.visibility, now.left = before.visibility, w.left
		now.visibility.Seen = seen
	case before.here && before.hash == now.hash && before.visibility.Equal(&now.visibility):
		return false
	}
	w.now.Store(now)
	return true
}

// leftAt notes when a person who is still shown was last seen. It is never earlier than the moment at which
// viewers could begin to see the person.
func (w *watched) leftAt(at time.Time) {
	now := w.now.Load()
	if now == nil || !now.here || now.visibility.Hidden() || at.IsZero() {
		return
	}
	if at.Before(now.visibility.Since) {
		at = now.visibility.Since
	}
	if at.After(w.left) {
		w.left = at
	}
}

// changesSight reports whether the viewers who see the person have changed, by the person's own choice: they
// must be told at once (rule P6).
func (s *seenPerson) changesSight(before *seenPerson) bool {
	a, b := s.visibility, before.visibility
	return s.here && before.here && (a.Online != b.Online || a.Except != b.Except || !a.Since.Equal(b.Since))
}

// tellLocked marks a person in the lists of all followers.
func (p *peopleHere) tellLocked(w *watched) {
	w.told = time.Now()
	for _, f := range w.followers {
		l := p.lists[f.list]
		if l.mark(int(f.slot)) && !l.marked {
			l.marked = true
			p.marked = append(p.marked, l)
		}
	}
}

// wakeMarkedLocked wakes the readers of the lists with news. All persons are marked before the first reader
// wakes, so 200 who come at once are one write.
func (p *peopleHere) wakeMarkedLocked(came time.Time) {
	for _, l := range p.marked {
		l.marked = false
		l.wake(came)
	}
	clear(p.marked)
	p.marked = p.marked[:0]
}

// tellLoud marks loud persons whose time has come in the lists of their followers.
func (p *peopleHere) tellLoud() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loud = slices.DeleteFunc(p.loud, func(w *watched) bool {
		if time.Since(w.told) < loudEvery {
			return false
		}
		w.due = false
		p.tellLocked(w)
		return true
	})
	p.wakeMarkedLocked(time.Time{}) // the delay was intended, and is no lag
}
