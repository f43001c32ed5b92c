package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func boundCases() []ruleCase {
	return []ruleCase{
		{"rule 10", "nothing remains of a topic that all users left", nothingRemains},
		{"rule 10", "a topic with a user in it is not forgotten", notForgotten},
	}
}

// Rule 10, scenario 11: a period after the last leave, nothing is left but last seen. The
// next join follows the origin or the last diff.
func nothingRemains(tr *trial) {
	site := tr.follow(presence.Site)
	left := tr.now()
	tr.do(presence.Site, join("u", "a.1"), lasting(seen("v"), ttl), guest("g"))
	tr.do(presence.Site, release("u", "a.1"))
	tr.pass(ttl + slack)
	site.wants("+u -u +v -v")
	last := site.roster.id
	for range 3 {
		tr.advance(period + slack)
		tr.age()
	}
	empty := tr.read(presence.Site)
	if len(empty.members) != 0 || empty.id != backend.Origin && empty.id != last {
		tr.Errorf("it is at %q with %q, want nobody, at the origin or at %q", empty.id, empty.names(), last)
	}
	if got, want := tr.counts(presence.Site), (backend.Counts{Head: empty.id}); !sameCounts(got, want) {
		tr.Errorf("counts are %+v, want %+v", got, want)
	}
	tr.wantSeen(presence.Site, "u", left)
	tr.unknown([]int{0}, presence.Site, beat("u", "a.1"))
	tr.do(presence.Site, join("u", "a.1"))
	site.wantsDiffs("+u")
	if got := tr.log(presence.Site, empty.id); len(got) != 1 || got[0].ID == last {
		tr.Errorf("the log after %q is %v, want one new diff", empty.id, ids(got))
	}
}

// Rules 2 and 10: users who stay without a diff keep their topic and its log, invisible
// users too.
func notForgotten(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, lasting(join("u", "a.1"), 24*time.Hour))
	tr.do("thread:1", lasting(joinAs(invisible("u"), "a.1"), 24*time.Hour))
	site.wants("+u")
	for range 5 {
		tr.advance(period + slack)
		tr.age()
		tr.sweep()
	}
	site.wants("")
	tr.wantOnline(presence.Site, "u")
	tr.do(presence.Site, beat("u", "a.1"))
	tr.do("thread:1", beat("u", "a.1"), status("u", presence.Online))
	tr.wantOnline("thread:1", "u")
	if got := tr.log(presence.Site, backend.Origin); len(got) != 1 {
		tr.Errorf("the log after the origin has %d diffs, want the join", len(got))
	}
}
