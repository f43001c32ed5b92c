package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func ageCases() []ruleCase {
	return []ruleCase{
		{"rule 8", "page views count for one to two periods", recentWindow},
		{"rule 8", "a user of both periods counts once", recentUnion},
		{"rule 8", "after two periods without a call both sets are empty", twoPeriods},
		{"rule 8", "each topic has its own period", ownPeriod},
		{"rule 8", "ageing announces nothing", ageQuietly},
	}
}

// wantRecent checks how many users and guests viewed a page.
func (tr *trial) wantRecent(topic presence.Topic, users, guests int) {
	tr.Helper()
	if c := tr.counts(topic); c.Recent != users || c.Guests != guests {
		tr.Errorf("%s: recent %d, guests %d; want %d, %d", topic, c.Recent, c.Guests, users, guests)
	}
}

// Rule 8: a page view is in the current set, then in the old one, then in none.
func recentWindow(tr *trial) {
	tr.do(presence.Site, seen("u"), seen("u"), seen("v"), guest("g"), guest("g"))
	tr.do(presence.Site, join("w", "a.1"))
	tr.wantRecent(presence.Site, 2, 1)
	for _, want := range []int{1, 0} {
		tr.advance(period + slack)
		if got := tr.age(); got != 1 {
			tr.Errorf("turned %d topics, want 1", got)
		}
		if got := tr.age(); got != 0 {
			tr.Errorf("turned %d topics a moment later, want 0", got)
		}
		tr.wantRecent(presence.Site, 2*want, want)
	}
}

// Rule 8: the window is a union, not a sum.
func recentUnion(tr *trial) {
	tr.do(presence.Site, seen("u"), seen("v"))
	tr.advance(period + slack)
	tr.age()
	tr.do(presence.Site, seen("u"), seen("w"))
	tr.wantRecent(presence.Site, 3, 0)
	tr.do(presence.Site, signOut("u"))
	tr.wantRecent(presence.Site, 2, 0)
	tr.advance(period + slack)
	tr.age()
	tr.wantRecent(presence.Site, 1, 0)
}

// Rule 8: no cron ran for long. The first call of Age empties both sets.
func twoPeriods(tr *trial) {
	tr.do(presence.Site, seen("u"), guest("g"))
	tr.advance(2*period + slack)
	tr.age()
	tr.wantRecent(presence.Site, 0, 0)
}

// Rule 8: a topic whose first page view came later is not turned with the others.
func ownPeriod(tr *trial) {
	tr.do(presence.Site, seen("u"))
	tr.advance(period + slack)
	tr.age() // from here the site's period is known, whatever the calendar
	tr.do("thread:1", seen("v"))
	tr.advance(period + slack)
	tr.age()
	tr.wantRecent(presence.Site, 0, 0)
	tr.wantRecent("thread:1", 1, 0)
}

// Rule 8: page views change figures, never rosters or diffs.
func ageQuietly(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, lasting(seen("u"), time.Hour), guest("g"))
	for range 3 {
		tr.advance(period + slack)
		tr.age()
	}
	site.wants("+u")
	tr.wantOnline(presence.Site, "u")
}
