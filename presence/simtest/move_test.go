package simtest_test

import (
	"math/rand/v2"
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

// comesTo notes that a page of a user comes to a process which is not well: the process may hold up what it writes of the
// user for longer than a grace.
func (u *person) comesTo(p *process) {
	if u != nil && p.well() == 0 {
		u.cameOut.Store(time.Now().UnixNano())
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
