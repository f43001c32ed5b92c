package presencetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func tabCases() []ruleCase {
	return []ruleCase{
		{"rule 3", "a closed tab is not online for minutes", closedTab},
		{"rule 3", "moments count, in whatever order they are written", tabMoments},
		{"rule 3", "a page view that makes no lease does all the rest", viewWithoutLease},
		{"rule 3", "the latest join counts as long as the user is remembered", latestJoin},
	}
}

// Rule 3: a page is viewed, and opens a stream, or its node has one already. That is closed, and the user leaves after the
// grace, long before the page view's lease would end. A page view that came after the stream opened holds the user.
func closedTab(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, seen("released"), seen("dropped"), seen("lapsed"), join("joins", "a.4"), join("viewed", "a.5"))
	tr.do(presence.Site, join("released", "a.1"), join("dropped", "a.2"), join("lapsed", "a.3"), seen("joins"), seen("viewed"))
	tr.do(presence.Site, keep("joins", "a.4"))
	site.wants("+dropped +joins +lapsed +released +viewed")
	tr.do(presence.Site, release("released", "a.1"), drop("dropped", "a.2"), release("joins", "a.4"), drop("viewed", "a.5"))
	site.wants("-dropped")
	tr.pass(grace + slack)
	site.wants("-joins -released")
	tr.pass(ttl - grace)
	site.wants("-lapsed")
	tr.pass(period - ttl)
	site.wants("-viewed")
}

// Rule 3: whichever is written first, in one step or in several.
func tabMoments(tr *trial) {
	ago := func(op backend.Op, of int) backend.Op { return past(op, time.Duration(of)*slack) }
	view := func(of int) backend.Op { return ago(lasting(seen("u"), period-time.Duration(of)*slack), of) }
	enter := func(of int) backend.Op { return ago(join("u", "a.1"), of) }
	renew := func(of int) backend.Op { return ago(keep("u", "b.1"), of) }
	makes := func(of int) backend.Op { return ago(keep("u", "c.1"), of) }
	n := 0
	for _, script := range [][]backend.Op{
		{view(2), enter(1)},
		{view(3), enter(2), enter(1)},
		{view(3), view(2), enter(1)},
		{view(2), renew(1)},
		{view(3), enter(2), renew(1)},
		{view(2), makes(1)},
		{enter(2), view(1)},
		{enter(3), view(2), view(1)},
		{renew(2), view(1)},
		{renew(3), enter(2), view(1)},
		{makes(2), view(1)},
	} {
		want := script[len(script)-1].Kind == backend.OpSeen
		for range 2 {
			for _, steps := range [][][]backend.Op{{script}, slices.Collect(slices.Chunk(script, 1))} {
				n++
				topic := presence.Topic(fmt.Sprint("thread:", n))
				tr.do(topic, ago(join("u", "b.1"), 9))
				for _, ops := range steps {
					tr.do(topic, ops...)
				}
				if s := tr.sighting(topic, "u"); slices.Contains(s.Holders, presence.HolderWeb) != want {
					tr.Errorf("after %s the user is held by %q, by the page view: want %v (rule 3)", describe(steps), s.Holders, want)
				}
			}
			slices.Reverse(script)
		}
	}
}

// Rules 3, 5 and 9: the profile, the sets, the name and the minute. It lengthens no lease, and ends no other one.
func viewWithoutLease(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Active: true}
	tr.startMinute()
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.advance(2 * time.Minute)
	tr.do(presence.Site, past(keep("u", "a.1"), slack))
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

// Rule 3: also after that connection has ended. Later, a user who comes back is one of whom no join is known.
func latestJoin(tr *trial) {
	view := func(id presence.UserID, ago time.Duration) backend.Op {
		return past(lasting(seen(id), period-ago), ago)
	}
	tr.do(presence.Site, join("grace", "a.1"), join("two", "a.1"), join("two", "a.2"), join("gone", "a.1"))
	tr.do(presence.Site, release("grace", "a.1"), drop("two", "a.2"), drop("gone", "a.1"))
	tr.do(presence.Site, view("grace", slack), view("two", slack), view("gone", slack))
	tr.do(presence.Site, drop("two", "a.1"))
	tr.wantOnline(presence.Site, "grace")
	tr.pass(memory + slack)
	tr.do(presence.Site, view("gone", memory+2*slack))
	tr.wantOnline(presence.Site, "gone")
}
