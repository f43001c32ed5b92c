package simtest_test

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A page moves as its network changes: the connection breaks, and the page comes back a moment
// later, at any node, with the cursor of its last event. Nobody may see it. Most pages move just
// after something failed, when the nodes differ in what they know.

// moveActs returns when pages move, in every other game.
func (g game) moveActs() (acts []act) {
	rnd := rand.New(rand.NewPCG(g.seed, 6))
	if rnd.IntN(2) == 0 {
		return nil
	}
	for _, a := range g.acts {
		switch {
		case isFailure(a):
			for range rnd.IntN(4) {
				acts = append(acts, moveAct(rnd, a.at+upTo(rnd, min(a.d, g.ttl())+6*time.Second)))
			}
		case rnd.IntN(10) == 0, a.do == "type" && rnd.IntN(2) == 0:
			acts = append(acts, moveAct(rnd, a.at+upTo(rnd, 4*time.Second)))
		}
	}
	return acts
}

func moveAct(rnd *rand.Rand, at time.Duration) act {
	return act{at: at, do: "move", who: rnd.IntN(100)}
}

// hearsFirst is how long a node that is back hears what it missed, at most, before it writes.
const hearsFirst = time.Second

// loses is for when the process gets no answers for some time.
func (p *process) loses(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = time.Now().Add(d)
}

// unanswered reports whether the process does not reach the store now, or gets no answers.
func (p *process) unanswered() bool {
	p.mu.Lock()
	mute := time.Now().Before(p.mute)
	p.mu.Unlock()
	return mute || p.cutOff()
}

// asks is for when a page asks a process for a connection. One that has not noticed yet that the store is out lets the
// page wait until the store has the join, for two seconds at most. So the grace may be over when the page arrives.
func (u *person) asks(p *process) {
	if u != nil && p.unanswered() {
		u.cameOut.Store(time.Now().UnixNano())
	}
}

// arrives is for when a page has come to a process. One that does not reach the store, and to which notices
// come late, may write of the page's user too late for a grace as short as hearsFirst. So may one that stood still
// from when the page asked until the grace was over, while another process stood still for so short a time that it
// noticed nothing: that one sweeps. This is asked of now, and of when the process went on: where the diff with the
// page's join is lost, the page arrives later. broke is when the page's connection before that ended, or zero.
func (u *person) arrives(p *process, asked, broke time.Time) {
	if u == nil || u.w.game.grace() > hearsFirst {
		return
	}
	out := p.unanswered()
	over := func(at time.Time) bool {
		stood := !broke.IsZero() && at.Sub(broke) > u.w.game.grace() && p.link.upFor(asked, at) < at.Sub(asked)
		blinked := func(p *process) bool { return p.link.blinked(at) }
		return stood && slices.ContainsFunc(u.w.everyProcess(), blinked)
	}
	if out && p.link.hearsLate() || over(time.Now()) || over(p.link.wentOn()) {
		u.delayed.Add(1)
	}
	if out {
		u.cameOut.Store(time.Now().UnixNano())
	}
}

// delays is for when something fails of the store, or of the way to it. A page that has just come to a process which
// did not reach the store then, or still waits there for its connection, may wait for both: no grace as short as
// hearsFirst outlasts that.
func (w *world) delays() {
	for _, u := range w.persons {
		if w.game.grace() <= hearsFirst && time.Since(time.Unix(0, u.cameOut.Load())) < w.game.grace() {
			u.delayed.Add(1)
		}
	}
}

// move moves one of all pages.
func (w *world) move(which int) {
	pages := w.everyPage()
	select {
	case pages[which%len(pages)].moves <- struct{}{}:
	default: // it is about to
	}
}
