package presencetest

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func tabCases() []ruleCase {
	return []ruleCase{
		{"rule 6", "a closed tab is not online for minutes", closedTab},
		{"rule 6", "a page view after the stream opened keeps the user", viewAfterStream},
		{"rule 6", "a page that joins an open stream is held by it", pageJoinsStream},
		{"rule 6", "moments count, in whatever order they are written", tabMoments},
		{"rule 6", "a page view that makes no lease does all the rest", viewWithoutLease},
		{"rule 6", "the latest join counts as long as the user has a lease", latestJoin},
	}
}

// Rule 6: a page is viewed, opens a stream and closes. The user leaves after the grace,
// long before the page view's lease would end.
func closedTab(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, seen("released"), seen("dropped"), seen("lapsed"))
	tr.do(presence.Site, join("released", "a.1"), join("dropped", "a.2"), join("lapsed", "a.3"), seen("at-once"), join("at-once", "a.4"))
	site.wants("+at-once +dropped +lapsed +released")
	tr.do(presence.Site, release("released", "a.1"), drop("dropped", "a.2"), drop("at-once", "a.4"))
	site.wants("-at-once -dropped")
	tr.pass(grace + slack)
	site.wants("-released")
	tr.pass(ttl - grace)
	site.wants("-lapsed")
}

// Rule 6: a page view that came after the stream opened holds the user.
func viewAfterStream(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("released", "a.1"), join("dropped", "a.2"), join("lapsed", "a.3"), join("at-once", "a.4"), seen("at-once"))
	tr.do(presence.Site, seen("released"), seen("dropped"), seen("lapsed"))
	tr.do(presence.Site, release("released", "a.1"), drop("dropped", "a.2"), drop("at-once", "a.4"))
	tr.pass(ttl + slack)
	site.wants("+at-once +dropped +lapsed +released")
	tr.pass(period - ttl)
	site.wants("-at-once -dropped -lapsed -released")
}

// Rule 6: a second tab views a page and joins the first tab's stream. When both close, the
// user leaves after the grace. A page view that comes later counts.
func pageJoinsStream(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("closed", "a.1"), join("viewed", "a.2"), join("lapsed", "a.3"))
	tr.do(presence.Site, seen("closed"), seen("viewed"), seen("lapsed"))
	tr.do(presence.Site, attach("closed", "a.1"), attach("viewed", "a.2"), attach("lapsed", "a.3"))
	tr.do(presence.Site, seen("viewed"))
	tr.unknown([]int{0, 1}, presence.Site, attach("closed", "a.9"), attach("nobody", "a.1"))
	tr.do(presence.Site, release("closed", "a.1"), release("viewed", "a.2"))
	tr.pass(grace + slack)
	site.wants("+closed -closed +lapsed +viewed")
	tr.pass(ttl)
	site.wants("-lapsed")
	tr.pass(period)
	site.wants("-viewed")
}

// Rule 6: a page is viewed before a connection joins, or after it. Whichever is written first, in one step or in two,
// the page view holds the user or not. So does one of before a page that joined the connection.
func tabMoments(tr *trial) {
	const early, late = 4 * slack, 2 * slack
	view := func(id presence.UserID, ago time.Duration) backend.Op {
		return past(lasting(seen(id), period-ago), ago)
	}
	enter := func(id presence.UserID, ago time.Duration) backend.Op { return past(join(id, "a.1"), ago) }
	follow := func(id presence.UserID, ago time.Duration) backend.Op { return past(attach(id, "a.1"), ago) }
	type steps [][]backend.Op
	held := func(id presence.UserID, how steps, want bool) {
		tr.Helper()
		for _, ops := range how {
			tr.do(presence.Site, ops...)
		}
		if s := tr.sighting(presence.Site, id); !s.Online || slices.Contains(s.Holders, presence.HolderWeb) != want {
			tr.Errorf("after %s %q is held by %q, by the page view: want %v (rule 6)", describe(how), id, s.Holders, want)
		}
	}
	held("a", steps{{view("a", early)}, {enter("a", late)}}, false)
	held("b", steps{{enter("b", late)}, {view("b", early)}}, false)
	held("c", steps{{view("c", early), enter("c", late)}}, false)
	held("d", steps{{enter("d", late), view("d", early)}}, false)
	held("e", steps{{view("e", late)}, {enter("e", early)}}, true)
	held("f", steps{{enter("f", early)}, {view("f", late)}}, true)
	held("g", steps{{view("g", late), enter("g", early)}}, true)
	held("h", steps{{enter("h", early), view("h", late)}}, true)
	held("i", steps{{enter("i", early+late)}, {view("i", early)}, {follow("i", late)}}, false)
	held("j", steps{{enter("j", early+late)}, {follow("j", late)}, {view("j", early)}}, false)
	held("k", steps{{enter("k", early+late)}, {view("k", late)}, {follow("k", early)}}, true)
	held("l", steps{{enter("l", late)}, {enter("l", early)}, {view("l", (early+late)/2)}}, false)
	held("m", steps{{view("m", 0)}, {enter("m", late)}, {view("m", early)}}, true)
}

// Rules 6, 7, 15 and 16: the profile, the sets, the name and the minute. It lengthens no lease, and ends no other one.
func viewWithoutLease(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Active: true}
	tr.startMinute()
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.advance(2 * time.Minute)
	tr.do(presence.Site, past(attach("u", "a.1"), slack))
	viewed := tr.now().Add(-time.Minute)
	u := named("u")
	u.Name = "Another"
	tr.do(presence.Site, past(seenAs(u), time.Minute))
	m := tr.read(presence.Site).members["u"]
	if m.Name != u.Name || !m.Active.Equal(viewed.Truncate(time.Minute)) {
		tr.Errorf("got %+v, want the name and the minute of the page view at %v", m, viewed)
	}
	tr.wantActive(presence.Site, "u", viewed)
	tr.wantRecent(presence.Site, 1, 0)
	if s := tr.sighting(presence.Site, "u"); !slices.Equal(s.Holders, []presence.Holder{"a.1"}) {
		tr.Errorf("the sighting is %+v, want the connection alone", s)
	}
}

// Rule 6: also after that connection has ended. A user who left and comes back is one of whom no join is known.
func latestJoin(tr *trial) {
	view := func(id presence.UserID) backend.Op { return past(lasting(seen(id), period-slack), slack) }
	tr.do(presence.Site, join("grace", "a.1"), join("two", "a.1"), join("two", "a.2"), join("gone", "a.1"), join("lapsed", "a.1"))
	tr.do(presence.Site, release("grace", "a.1"), drop("two", "a.2"), drop("gone", "a.1"))
	tr.do(presence.Site, view("grace"), view("two"), view("gone"))
	tr.do(presence.Site, drop("two", "a.1"))
	tr.wantOnline(presence.Site, "gone grace lapsed")
	tr.advance(ttl + slack)
	tr.do(presence.Site, past(join("lapsed", "a.2"), 2*ttl), past(lasting(seen("lapsed"), period-ttl-2*slack), ttl+2*slack))
	tr.do(presence.Site, drop("lapsed", "a.2"))
	tr.sweep()
	tr.wantOnline(presence.Site, "gone lapsed")
}
