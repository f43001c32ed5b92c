package presencetest

import (
	"fmt"
	"strings"
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

func guestCases() []ruleCase {
	return []ruleCase{
		{"rule 11", "guests are counted within a few percent", guestEstimate},
		{"rule 11", "guests of both periods count once", guestUnion},
		{"rule 11", "guests are in no roster and no diff", guestUnnamed},
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

// Rule 11: few guests are counted nearly exactly, many within 3 %, each guest once.
func guestEstimate(tr *trial) {
	total := 0
	for _, n := range []int{1, 10, 100, 1000, 10_000} {
		var ops []presence.Op
		for i := range n {
			ops = append(ops, guest(fmt.Sprintf("guest-%d", i)))
		}
		tr.do(presence.Site, ops...)
		tr.do(presence.Site, ops[:min(n, 50)]...)
		total = n
		tr.wantGuests(total)
	}
}

func (tr *trial) wantGuests(want int) {
	tr.Helper()
	if got := tr.counts(presence.Site).Guests; max(got-want, want-got) > want*3/100 {
		tr.Errorf("guests are %d, want %d within 3 %%", got, want)
	}
}

// Rule 11: a guest who came in both periods counts once.
func guestUnion(tr *trial) {
	some := func(from, to int) {
		var ops []presence.Op
		for i := from; i < to; i++ {
			ops = append(ops, guest(strings.Repeat("x", i%5)+fmt.Sprint(i)))
		}
		tr.do(presence.Site, ops...)
	}
	some(0, 1000)
	tr.advance(period + slack)
	tr.age()
	some(500, 1500)
	tr.wantGuests(1500)
	tr.advance(period + slack)
	tr.age()
	tr.wantGuests(1000)
	tr.advance(period + slack)
	tr.age()
	tr.wantGuests(0)
}

// Rule 11: also if a guest's id equals a user's id.
func guestUnnamed(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, guest("u"), guest("v"), guest("web"))
	tr.wantOnline(presence.Site, "")
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, signOut("u"), signOut("v"))
	tr.pass(ttl)
	site.wants("+u -u")
	tr.wantRecent(presence.Site, 0, 3)
}
