package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func invisibleCases() []ruleCase {
	return []ruleCase{
		{"rule 2", "an invisible user comes and goes unseen", invisibleUnseen},
		{"rule 2", "going invisible is a leave, coming back a join", goingInvisible},
		{"rule 2", "a second device does not give an invisible user away", secondDevice},
		{"rule 2", "what an invisible user does is not recent", invisibleRecent},
		{"rule 2", "an invisible user leaves no trace in last seen", invisibleTrace},
		{"rule 2", "turning invisible is leaving at that moment", invisibleLeaves},
		{"rule 2", "turning invisible is told late as of that moment", invisibleLate},
		{"rule 2", "coming back invisible before the sweep is turning invisible", invisibleReturns},
		{"rule 2", "an invisible user's sign-out changes nothing", invisibleSignOut},
		{"rule 2", "turning visible is a proof of life", visibleFromNowOn},
	}
}

func invisible(id presence.UserID) presence.User {
	u := named(id)
	u.Status = presence.Invisible
	return u
}

// Rule 2: joining, lapsing, closing and signing out make no diff, count or sighting.
func invisibleUnseen(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, lasting(join("v", "a.9"), period))
	site.wants("+v")
	for _, end := range []backend.Op{drop("u", "a.1"), release("u", "a.1"), signOut("u"), beat("u", "a.1")} {
		tr.do(presence.Site, joinAs(invisible("u"), "a.1"))
		tr.wantOnline(presence.Site, "v")
		if s := tr.sighting(presence.Site, "u"); !nothing(s) {
			tr.Errorf("sighting is %+v, want none", s)
		}
		tr.do(presence.Site, end)
		tr.advance(ttl + slack)
		if swept := tr.sweep(); swept.Leaves != 0 {
			tr.Errorf("swept %d leaves, want 0", swept.Leaves)
		}
		site.wants("")
	}
}

// Rule 2: to others the user leaves and comes back. The leases go on.
func goingInvisible(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.advance(slack)
	tr.do(presence.Site, status("u", presence.Invisible))
	site.wantsDiffs("+u", "-u")
	tr.wantOnline(presence.Site, "")
	tr.do(presence.Site, beat("u", "a.1"))
	tr.do(presence.Site, status("u", presence.Invisible))
	site.wantsDiffs()
	since := tr.now()
	tr.do(presence.Site, status("u", presence.Away))
	site.wantsDiffs("+u")
	if m := tr.read(presence.Site).members["u"]; m.Since.Before(since) || m.Status != presence.Away || m.Name != named("u").Name {
		tr.Errorf("came back as %+v, want away, with the same name, since %v or later", m, since)
	}
	tr.do(presence.Site, joinAs(invisible("u"), "a.2"))
	site.wantsDiffs("-u")
	tr.do(presence.Site, seenAs(presence.User{ID: "u", Status: presence.Online}))
	site.wantsDiffs("+u")
}

// Rule 2: the status belongs to the user, not to the connection. A profile without a status
// keeps the former one.
func secondDevice(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(invisible("u"), "a.1"))
	tr.do(presence.Site, join("u", "b.1"))
	tr.do(presence.Site, seen("u"))
	tr.do(presence.Site, update(presence.User{ID: "u", Name: "Another"}))
	tr.do(presence.Site, drop("u", "a.1"))
	tr.wantOnline(presence.Site, "")
	tr.do(presence.Site, release("u", "b.1"))
	tr.pass(period + slack)
	site.wants("")
}

// Rule 2: a page view counts as long as that of a user who left, and those of an invisible user
// never do.
func invisibleRecent(tr *trial) {
	tr.do(presence.Site, seenAs(invisible("u")))
	tr.wantRecent(presence.Site, 0, 0)
	tr.advance(period - slack)
	tr.do(presence.Site, seen("v"))
	tr.do(presence.Site, status("v", presence.Invisible))
	tr.wantRecent(presence.Site, 1, 0)
	tr.advance(2 * slack)
	tr.age() // nothing, since the sets began with the page view of v
	tr.do(presence.Site, seenAs(invisible("v")))
	tr.advance(period)
	tr.age()
	tr.do(presence.Site, seenAs(invisible("v")))
	tr.wantRecent(presence.Site, 1, 0)
	tr.advance(period + slack)
	tr.age()
	tr.wantRecent(presence.Site, 0, 0)
}

// Rules 2, 5 and 9: with that moment as last seen, though the last lease was renewed long ago.
func invisibleLeaves(tr *trial) {
	tr.keep.Names = 10
	site := tr.follow(presence.Site)
	tr.do(presence.Site, seen("u"), join("v", "a.1"))
	site.wantsDiffs("+u +v")
	tr.advance(ttl - slack)
	hid := tr.now()
	tr.do(presence.Site, status("u", presence.Invisible), joinAs(invisible("v"), "a.2"))
	site.wantsDiffs("-u -v")
	for _, id := range []presence.UserID{"u", "v"} {
		tr.wantSeen(presence.Site, id, hid)
		tr.wantActive(presence.Site, id, hid)
	}
}

// Rules 2, 5 and 9: an update that is written late says when the user hid. Whatever else the step
// does, and a repetition, changes nothing of that. Who turns visible and hides again leaves anew.
func invisibleLate(tr *trial) {
	tr.keep.Names = 10
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.1"))
	site.wantsDiffs("+u +v")
	tr.advance(4 * slack)
	hid := tr.now()
	tr.advance(4 * slack)
	late := func(id presence.UserID) backend.Op {
		return past(status(id, presence.Invisible), tr.now().Sub(hid))
	}
	tr.do(presence.Site, late("u"), beat("u", "a.1"), joinAs(invisible("u"), "b.1"), release("u", "a.1"),
		late("v"), status("v", presence.Online), status("v", presence.Invisible))
	site.wantsDiffs("-u -v")
	tr.do(presence.Site, late("u"))
	for id, at := range map[presence.UserID]time.Time{"u": hid, "v": tr.now()} {
		tr.wantSeen(presence.Site, id, at)
		tr.wantActive(presence.Site, id, at)
	}
}

// Rules 2 and 5: who was not swept yet is there to others, and leaves now.
func invisibleReturns(tr *trial) {
	tr.keep.Names = 10
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.2"), join("w", "a.3"))
	tr.advance(ttl + slack)
	if len(tr.read(presence.Site).members) == 0 {
		return // the store sweeps by itself
	}
	hid := tr.now()
	tr.do(presence.Site, joinAs(invisible("u"), "b.1"), drop("v", "a.2"), seenAs(invisible("v")), hidden(signOut("w")))
	site.wantsDiffs("+u +v +w", "-u -v -w")
	for _, id := range []presence.UserID{"u", "v", "w"} {
		tr.wantSeen(presence.Site, id, hid)
		tr.wantActive(presence.Site, id, hid)
	}
}

// Rules 2 and 9: also where the topic knows nothing of the user, since all leases have ended.
func invisibleSignOut(tr *trial) {
	tr.keep.Names, tr.keep.ForgetSignedOut = 10, true
	tr.do(presence.Site, seen("u"), seen("v"), seen("w"))
	tr.do(presence.Site, status("u", presence.Invisible), status("v", presence.Invisible), hidden(signOff("w")))
	tr.do(presence.Site, signOut("u"))
	tr.do(presence.Site, signOff("v"))
	for _, id := range []presence.UserID{"u", "v", "w"} {
		tr.do(presence.Site, hidden(signOut(id)))
		tr.do(presence.Site, hidden(signOff(id)))
		if tr.sighting(presence.Site, id).LastSeen.IsZero() {
			tr.Errorf("%q has no last seen", id)
		}
	}
	tr.wantNames(presence.Site, backend.MaxWithin, "u v w")
	tr.wantNames(presence.Site, 0, "u v w")
	tr.wantRecent(presence.Site, 3, 0)
}

// hidden is a sign-out of a user of whom the sender knows that the user is invisible.
func hidden(op backend.Op) backend.Op {
	op.User.Status = presence.Invisible
	return op
}

// Rules 2 and 5: nothing is ever told of the time before.
func visibleFromNowOn(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(invisible("u"), "a.1"))
	tr.advance(ttl - 2*slack)
	shown := tr.now()
	tr.do(presence.Site, status("u", presence.Online))
	tr.advance(4 * slack)
	tr.sweep()
	site.wants("+u -u")
	tr.wantSeen(presence.Site, "u", shown)
}

// Rules 2 and 5: last seen stays what it was when the user was last visible.
func invisibleTrace(tr *trial) {
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, status("u", presence.Invisible))
	want := tr.sighting(presence.Site, "u")
	if want.Online || want.LastSeen.IsZero() {
		tr.Fatalf("sighting is %+v, want offline with a last seen", want)
	}
	tr.advance(ttl - slack)
	tr.do(presence.Site, beat("u", "a.1"), joinAs(invisible("u"), "a.2"), seen("u"))
	tr.do(presence.Site, release("u", "a.1"), drop("u", "a.2"), signOut("u"))
	tr.pass(ttl)
	tr.do(presence.Site, joinAs(invisible("u"), "a.3"))
	tr.do(presence.Site, drop("u", "a.3"))
	if got := tr.sighting(presence.Site, "u"); got.Online || !sameTime(got.LastSeen, want.LastSeen) {
		tr.Errorf("sighting is %+v, want %+v as before", got, want)
	}
}
