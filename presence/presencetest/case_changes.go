package presencetest

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func changesCases() []ruleCase {
	return []ruleCase{
		{"rule 12", "each topic whose figures change is told", changesTold},
		{"rule 12", "an unknown mark tells that all may have changed", unknownMark},
	}
}

func (tr *trial) changes(mark string) backend.Changes {
	tr.Helper()
	p, err := tr.store.Poll(tr.ctx, backend.Poll{Mark: mark})
	if err != nil {
		tr.Fatalf("poll: %v", err)
	}
	return p.Changes
}

func changesTold(tr *trial) {
	topics := []presence.Topic{presence.Site, "thread:1", "index", "notices"}
	figures := func() []backend.Counts {
		counts, err := tr.store.Counts(tr.ctx, topics...)
		if err != nil {
			tr.Fatal(err)
		}
		return counts
	}
	// tells does something that changes the figures of a topic, or of several.
	tells := func(what string, act func()) {
		tr.Helper()
		mark, before := tr.changes("").Mark, figures()
		act()
		after, c := figures(), tr.changes(mark)
		if slices.EqualFunc(before, after, sameCounts) {
			tr.Errorf("%s changes no figures, so that it tests nothing", what)
		}
		for i, topic := range topics {
			if !sameCounts(before[i], after[i]) && !c.All && !slices.Contains(c.Topics, topic) {
				tr.Errorf("%s changed the figures of %q from %+v to %+v, and %q are told", what, topic, before[i], after[i], c.Topics)
			}
		}
	}
	tr.keep.Peak = true
	for _, topic := range topics {
		does := func(what string, ops ...backend.Op) { tells(what, func() { tr.do(topic, ops...) }) }
		does("a join", join("u", "a.1"))
		does("a page view", seen("v"))
		does("a guest", guest("g"))
		does("a guest who is forgotten", forget("g"))
		does("another guest", guest("h"))
		does("a status", status("u", presence.Busy))
		does("a user who hides", status("u", presence.Invisible))
		does("a user who is back", status("u", presence.Online))
		does("a leave", drop("u", "a.1"))
		does("a join that lapses", lasting(join("w", "a.2"), ttl), join("x", "b.1"), join("y", "b.2"))
		does("a sign-out", signOut("y"))
		does("a sign-out of one browser", drop("x", "b.1"), signOff("x"))
		does("a bot", bot("b", "Bingbot"))
		does("a bot with another name", bot("b", "Googlebot"))
		does("a record", peak(backend.Peak{Total: 9, At: tr.now()}))
		does("a record that starts anew", resetPeak)
	}
	tr.advance(ttl + slack)
	tells("a sweep", func() { tr.sweep() })
	tr.advance(period + slack)
	tr.sweep()
	tr.age()
	tr.advance(period + slack)
	tells("a turn, after which nobody has viewed a page", func() { tr.age() })
	tr.renews("p", false)
	tr.do("thread:1", lasting(join("u", "p.1"), 24*ttl))
	tr.advance(term + slack)
	tells("a node that lapses", func() {
		if _, err := tr.store.Sweep(tr.ctx, backend.SweepOptions{Limit: 1000, Nodes: true}); err != nil {
			tr.Fatal(err)
		}
	})
	tr.do("thread:1", join("u", "a.1"))
	tr.advance(slack)
	tells("an erasure", func() { tr.erase("u", 0) })
}

func unknownMark(tr *trial) {
	for _, mark := range []string{"", "0", "unknown", "99999999999999 x", "-1 "} {
		if c := tr.changes(mark); !c.All || len(c.Topics) > 0 {
			tr.Errorf("the mark %q tells %+v, want that all may have changed", mark, c)
		}
	}
}
