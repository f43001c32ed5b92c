package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func activeCases() []ruleCase {
	return []ruleCase{
		{"rule 9", "a page view in a new minute is an update", activeMinute},
		{"rule 9", "other operations do not move it", activeAlone},
		{"rule 9", "a step makes one diff of it", activeInStep},
		{"rule 9", "a join is activity, also of one who becomes visible", activeJoin},
		{"rule 9", "a topic that does not ask for it has none", activeOff},
		{"rule 9", "it comes and goes with the wish of the site", activeTurned},
		{"rule 9", "a profile that looks like a store's record of it", activeHostile},
	}
}

// wantMinute checks a member's Active.
func (tr *trial) wantMinute(id presence.UserID, want time.Time) {
	tr.Helper()
	m, there := tr.read(presence.Site).members[id]
	if !there || !m.Active.Equal(want) {
		tr.Errorf("%q (there: %v) was active at %v, want %v (rule 9)", id, there, m.Active, want)
	}
}

// Rule 9: in the diff of the page view's step. The time of the join stays.
func activeMinute(tr *trial) {
	tr.keep.Active = true
	site := tr.follow(presence.Site)
	minute := tr.startMinute()
	tr.do(presence.Site, lasting(seen("u"), day))
	tr.wantMinute("u", minute)
	tr.advance(slack)
	tr.do(presence.Site, lasting(seen("u"), day))
	site.wantsDiffs("+u")
	for range 3 {
		minute = tr.startMinute()
		tr.do(presence.Site, lasting(seen("u"), day))
		tr.do(presence.Site, lasting(seen("u"), day))
		site.wantsDiffs("~u")
		tr.wantMinute("u", minute)
	}
	tr.advance(time.Hour)
	minute = tr.startMinute()
	tr.do(presence.Site, lasting(seenAs(full("u")), day))
	site.wantsDiffs("~u")
	tr.wantMinute("u", minute)
}

// Rule 9: only page views, and only of that user.
func activeAlone(tr *trial) {
	tr.keep.Active = true
	site := tr.follow(presence.Site)
	first := tr.startMinute()
	tr.do(presence.Site, lasting(join("u", "a.1"), day), lasting(seen("v"), day))
	site.wantsDiffs("+u +v")
	second := tr.startMinute()
	tr.do(presence.Site, beat("u", "a.1"), keep("u", "a.1"), join("u", "a.2"), guest("u"), bot("u", "Bot"))
	tr.do(presence.Site, release("u", "a.2"), seen("v"))
	site.wantsDiffs("~v")
	tr.do(presence.Site, update(full("u")))
	site.wantsDiffs("~u")
	tr.wantMinute("u", first)
	tr.wantMinute("v", second)
}

// Rules 2 and 9: what else happens in the step is in the same diff.
func activeInStep(tr *trial) {
	tr.keep.Active = true
	site := tr.follow(presence.Site)
	tr.startMinute()
	tr.do(presence.Site, lasting(seen("u"), day), lasting(seen("v"), day), lasting(seen("w"), day), lasting(join("x", "a.1"), day))
	site.wantsDiffs("+u +v +w +x")
	tr.startMinute()
	tr.do(presence.Site, seen("u"), update(full("u")), seen("v"), past(signOut("w"), time.Second), seen("w"), drop("x", "a.1"), seen("y"))
	site.wantsDiffs("~u ~v ~w -x +y")
}

// Rules 2 and 9: page views of an invisible user are not told.
func activeJoin(tr *trial) {
	tr.keep.Active = true
	site := tr.follow(presence.Site)
	minute := tr.startMinute()
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.wantMinute("u", minute)
	tr.do(presence.Site, status("u", presence.Invisible))
	site.wantsDiffs("+u", "-u")
	tr.startMinute()
	tr.do(presence.Site, seen("u"))
	site.wantsDiffs()
	minute = tr.startMinute()
	tr.do(presence.Site, status("u", presence.Online))
	site.wantsDiffs("+u")
	tr.wantMinute("u", minute)
	tr.do(presence.Site, signOut("u"))
	minute = tr.startMinute()
	tr.do(presence.Site, seen("u"))
	tr.wantMinute("u", minute)
	site.wantsDiffs("-u", "+u")
}

// Rule 9: neither in the roster nor by a diff.
func activeOff(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Peak: true}
	site := tr.follow(presence.Site)
	tr.startMinute()
	tr.do(presence.Site, lasting(join("u", "a.1"), day), lasting(seen("v"), day))
	tr.startMinute()
	tr.do(presence.Site, seen("u"), seen("v"))
	site.wantsDiffs("+u +v")
	tr.wantMinute("u", time.Time{})
	tr.wantMinute("v", time.Time{})
}

// Rules 2 and 9: the site was configured anew. Diffs and roster agree on the way.
func activeTurned(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.keep.Active = true
	minute := tr.startMinute()
	tr.do(presence.Site, seen("u"))
	site.wantsDiffs("+u", "~u")
	tr.wantMinute("u", minute)
	tr.keep.Active = false
	tr.do(presence.Site, seen("u"))
	tr.do(presence.Site, seen("u"))
	site.wantsDiffs("~u")
	tr.wantMinute("u", time.Time{})
}

// Rule 9: what a user writes into a profile neither is the minute nor hides it.
func activeHostile(tr *trial) {
	tr.keep.Active = true
	u := presence.User{ID: "u", Name: `,"m":5}`, Data: []byte(`{"m":7}`)}
	for range 2 {
		minute := tr.startMinute()
		tr.do(presence.Site, seenAs(u))
		tr.do(presence.Site, status("u", presence.Busy))
		tr.wantMinute("u", minute)
	}
	got := tr.read(presence.Site).members["u"]
	if got.Name != u.Name || string(got.Data) != string(u.Data) || got.Status != presence.Busy {
		tr.Errorf("got %+v, want the profile as it was sent (rule 9)", got)
	}
}
