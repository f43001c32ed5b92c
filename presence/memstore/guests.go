package memstore

import (
	"maps"

	"github.com/axiomhq/hyperloglog"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// guestSets are the guests of the current period and of the previous one (rule 8). Up to backend.ExactGuests
// they are listed by their ids. Over that bound both periods turn into sketches, until a period with few
// guests has ended. A sketch takes at most 16 KiB, and a list 70 KiB.
type guestSets struct {
	listed window[string] // by id
	many   bool           // too many came in this period for listed to hold them

	// The sketches of the two periods. Both are nil while listed holds every guest of both periods. Otherwise
	// listed holds the guests of the current period, unless many is true.
	current, old *hyperloglog.Sketch
	estimate     int
	signed       window[string] // guests who signed in, and are in the sketches
	stale        bool           // estimate must be computed again
}

func (g *guestSets) exact() bool { return g.current == nil && g.old == nil }

func (g *guestSets) add(guest string) {
	delete(g.signed, guest)
	if !g.exact() {
		g.insert(&g.current, guest)
	}
	if g.many {
		return
	}
	g.listed.add(guest)
	if len(g.listed) > backend.ExactGuests {
		g.spill()
	}
}

// maxSigned bounds guestSets.signed.
const maxSigned = 4096

// remove removes a guest. A sketch cannot forget a guest, so it gets the guest for certain, and count subtracts those.
func (g *guestSets) remove(guest string) {
	delete(g.listed, guest)
	if g.exact() || len(g.signed) >= maxSigned {
		return
	}
	g.insert(&g.current, guest)
	g.signed.add(guest)
}

// spill adds the listed guests to the sketches. It keeps the list of the current period, if that is still
// short.
func (g *guestSets) spill() {
	if g.exact() {
		for guest, now := range g.listed {
			if now {
				g.insert(&g.current, guest)
			} else {
				g.insert(&g.old, guest)
			}
		}
		maps.DeleteFunc(g.listed, func(_ string, now bool) bool { return !now })
	}
	if len(g.listed) > backend.ExactGuests {
		g.listed, g.many = nil, true
	}
}

func (g *guestSets) insert(into **hyperloglog.Sketch, guest string) {
	if *into == nil {
		*into = hyperloglog.New14()
	}
	(*into).Insert([]byte(guest))
	g.stale = true
}

// turn makes the current period the previous one.
func (g *guestSets) turn() {
	if g.many {
		g.old, g.current, g.many, g.stale = g.current, nil, false, true
		g.signed.turn()
		return
	}
	g.old, g.current, g.signed = nil, nil, nil
	g.listed.turn()
}

func (g *guestSets) empty() bool { return g.exact() && len(g.listed) == 0 }

func (g *guestSets) count() int {
	if g.exact() {
		return len(g.listed)
	}
	if g.stale {
		both := hyperloglog.New14()
		for _, s := range []*hyperloglog.Sketch{g.current, g.old} {
			if s != nil {
				_ = both.Merge(s) // fails only if the precisions differ
			}
		}
		g.estimate, g.stale = int(both.Estimate()), false
	}
	return max(g.estimate-len(g.signed), 0)
}
