package presencetest

import (
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
)

func graceCases() []ruleCase {
	return []ruleCase{
		{"rule 3", "a release holds for the grace", releaseHolds},
		{"rule 3", "a heartbeat after a release revives nothing", beatAfterRelease},
		{"rule 3", "a user who goes from page to page does not leave", navigation},
		{"rule 3", "the longest grace counts", longestGrace},
		{"rule 3", "a late lapse does not end a user who came back", lateLapse},
		{"rule 3", "a deploy moves all users without a leave", deploy},
	}
}

// Rule 3, scenario 1: the user stays for the grace, and not longer.
func releaseHolds(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("u", "a.2"))
	tr.do(presence.Site, release("u", "a.2"))
	tr.pass(2 * grace)
	site.wants("+u")
	tr.do(presence.Site, beat("u", "a.1"))
	tr.do(presence.Site, release("u", "a.1"))
	tr.pass(grace - slack)
	tr.wantOnline(presence.Site, "u")
	tr.pass(2 * slack)
	site.wants("-u")
	tr.wantOnline(presence.Site, "")
}

// Rule 3, scenario 12: a heartbeat arrives after its connection closed: in the same step,
// in the grace, and after it.
func beatAfterRelease(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.unknown([]int{1}, presence.Site, release("u", "a.1"), beat("u", "a.1"))
	tr.unknown([]int{0}, presence.Site, beat("u", "a.1"))
	tr.pass(grace - slack)
	tr.unknown([]int{0}, presence.Site, beat("u", "a.1"))
	tr.wantOnline(presence.Site, "u")
	tr.pass(2 * slack)
	tr.wantOnline(presence.Site, "")
	tr.unknown([]int{0}, presence.Site, beat("u", "a.1"))
	tr.pass(ttl)
	site.wants("+u -u")
}

// Rule 3: each click closes a stream and opens another: no diff at all.
func navigation(tr *trial) {
	site := tr.follow(presence.Site)
	holder := func(i int) presence.Holder { return presence.Holder(fmt.Sprintf("a.%d", i)) }
	tr.do(presence.Site, seen("u"))
	tr.do(presence.Site, join("u", holder(0)))
	for i := range 10 {
		tr.pass(2 * grace)
		tr.do(presence.Site, beat("u", holder(i)))
		tr.do(presence.Site, release("u", holder(i)))
		tr.pass(grace - slack)
		tr.do(presence.Site, join("u", holder(i+1)))
	}
	site.wants("+u")
	tr.do(presence.Site, release("u", holder(10)))
	tr.pass(grace + slack)
	site.wants("-u")
}

// Rule 3: neither a later release with a shorter grace nor one without shortens an earlier
// grace.
func longestGrace(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.0"), join("u", "a.1"), join("u", "a.2"), join("u", "a.3"))
	tr.do(presence.Site, release("u", "a.0"))
	tr.do(presence.Site, lasting(release("u", "a.1"), 3*grace))
	tr.do(presence.Site, release("u", "a.2"))
	tr.do(presence.Site, drop("u", "a.3"))
	tr.pass(3*grace - slack)
	site.wants("+u")
	tr.pass(2 * slack)
	site.wants("-u")
}

// Rule 1, scenario 6: the former connection lapses after the user came back.
func lateLapse(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.advance(ttl - slack)
	tr.do(presence.Site, join("u", "a.2"))
	tr.pass(2 * slack)
	site.wants("+u")
	tr.unknown([]int{0}, presence.Site, beat("u", "a.1"))
	tr.do(presence.Site, beat("u", "a.2"))
	tr.pass(ttl - slack)
	tr.wantOnline(presence.Site, "u")
}

// Rules 2 and 3, scenarios 34 and 35: a node stops and releases its connections. A user who
// comes back at another node does not leave; any other user leaves once. A node that is
// killed: the same after the TTL, and its late heartbeats revive nothing.
func deploy(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("back", "a.1"), join("gone", "a.2"), join("two", "a.3"), join("two", "b.3"))
	tr.do(presence.Site, release("back", "a.1"), release("gone", "a.2"), release("two", "a.3"))
	tr.do(presence.Site, join("back", "b.1"))
	tr.pass(grace + slack)
	site.wants("+back +gone -gone +two")
	tr.do(presence.Site, beat("back", "b.1"), beat("two", "b.3"), join("two", "c.1"))
	tr.advance(ttl - slack)
	tr.do(presence.Site, beat("two", "c.1"))
	tr.pass(2 * slack)
	site.wants("-back")
	tr.unknown([]int{0, 1}, presence.Site, beat("back", "b.1"), beat("two", "b.3"))
	tr.wantOnline(presence.Site, "two")
}
