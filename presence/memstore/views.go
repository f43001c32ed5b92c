package memstore

import (
	"github.com/axiomhq/hyperloglog"
	"github.com/rollcall-go/rollcall/presence"
)

// viewSets are the users who viewed a page in this period, and in the one before.
type viewSets struct {
	current, old map[presence.UserID]struct{}
	oldOnly      int // users in old who are not in current
}

func (v *viewSets) add(id presence.UserID) {
	if _, ok := v.current[id]; ok {
		return
	}
	if v.current == nil {
		v.current = make(map[presence.UserID]struct{})
	}
	v.current[id] = struct{}{}
	if _, ok := v.old[id]; ok {
		v.oldOnly--
	}
}

func (v *viewSets) remove(id presence.UserID) {
	_, inCurrent := v.current[id]
	if _, ok := v.old[id]; ok && !inCurrent {
		v.oldOnly--
	}
	delete(v.current, id)
	delete(v.old, id)
}

func (v *viewSets) turn() { v.old, v.current, v.oldOnly = v.current, nil, len(v.current) }

func (v *viewSets) count() int { return len(v.current) + v.oldOnly }

// guestSketches estimate how many guests came in this period and in the one before. A
// sketch takes at most 16 KiB, however many guests there are (rule 11).
type guestSketches struct {
	current, old *hyperloglog.Sketch
	estimate     int
	stale        bool // estimate must be computed again
}

func (g *guestSketches) add(guest string) {
	if g.current == nil {
		g.current = hyperloglog.New14()
	}
	g.current.Insert([]byte(guest))
	g.stale = true
}

func (g *guestSketches) turn() { g.old, g.current, g.stale = g.current, nil, true }

func (g *guestSketches) empty() bool { return g.current == nil && g.old == nil }

func (g *guestSketches) count() int {
	if g.stale {
		both := hyperloglog.New14()
		for _, s := range []*hyperloglog.Sketch{g.current, g.old} {
			if s != nil {
				_ = both.Merge(s) // fails only for another precision
			}
		}
		g.estimate, g.stale = int(both.Estimate()), false
	}
	return g.estimate
}
