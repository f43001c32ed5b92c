package presencetest

import (
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func choiceCases() []ruleCase {
	return []ruleCase{
		{"rule 3", "the choice with the greatest revision counts", greatestRevision},
		{"rule 3", "an older choice shows nobody who hides", olderChoice},
		{"rule 3", "a revision lasts as long as the user is remembered", revisionEnds},
		{"rule 3", "a visibility has a revision too", revisedVisibility},
	}
}

// chose is a user as named, with a choice of a revision.
func chose(id presence.UserID, s presence.Status, rev int64) presence.User {
	u := named(id)
	u.Status, u.Rev = s, rev
	return u
}

// Rule 3: whatever comes first, and with whatever operation.
func greatestRevision(tr *trial) {
	site := tr.follow(presence.Site)
	const rev = 1_795_947_320_000_000 // microseconds: a float may not round it
	for i, step := range []struct {
		op   backend.Op
		want presence.Status
		told string
	}{
		{join("u", "a.1"), presence.Online, "+u"},
		{update(chose("u", presence.Busy, rev+5)), presence.Busy, "~u"},
		{update(chose("u", presence.Away, rev+4)), presence.Busy, ""},
		{joinAs(chose("u", presence.Away, rev+3), "a.2"), presence.Busy, ""},
		{seenAs(chose("u", presence.Away, 0)), presence.Busy, ""},
		{update(chose("u", presence.Away, rev+5)), presence.Away, "~u"},
		{update(chose("u", presence.Away, rev+8)), presence.Away, ""},
		{update(chose("u", presence.Busy, rev+7)), presence.Away, ""},
		{update(named("u")), presence.Away, ""},
		{update(chose("u", presence.Online, rev+9)), presence.Online, "~u"},
	} {
		tr.do(presence.Site, step.op)
		if got := tr.read(presence.Site).members["u"].Status; got != step.want {
			tr.Errorf("after operation %d: got %q, want %q", i, got, step.want)
		}
		if step.told == "" {
			site.wantsDiffs()
		} else {
			site.wantsDiffs(step.told)
		}
	}
}

// Rule 3: nor does a sign-out that is older than the choice hide somebody.
func olderChoice(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(chose("u", presence.Online, 1), "a.1"), join("v", "a.2"))
	site.wants("+u +v")
	tr.do(presence.Site, update(chose("u", presence.Invisible, 3)))
	site.wantsDiffs("-u")
	tr.do(presence.Site, joinAs(chose("u", presence.Online, 2), "b.1"), seenAs(chose("u", presence.Busy, 1)), status("u", presence.Away))
	site.wantsDiffs()
	tr.wantOnline(presence.Site, "v")
	tr.do(presence.Site, update(chose("u", presence.Online, 4)))
	site.wantsDiffs("+u")
	out := signOff("u")
	out.User.Status, out.User.Rev = presence.Invisible, 3
	tr.do(presence.Site, out)
	site.wantsDiffs()
	tr.wantOnline(presence.Site, "u v")
	out.User.Rev = 6
	tr.do(presence.Site, out, update(chose("u", presence.Online, 5)))
	site.wantsDiffs("-u")
}

// Rule 3: whether something holds the user or not. Who comes anew after that is shown by the choice of then.
func revisionEnds(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(chose("u", presence.Busy, 5), "a.1"))
	site.wantsDiffs("+u")
	tr.do(presence.Site, drop("u", "a.1"))
	site.wantsDiffs("-u")
	for _, want := range []presence.Status{presence.Busy, presence.Away} {
		tr.do(presence.Site, joinAs(chose("u", presence.Away, 2), "a.2"))
		if got := tr.read(presence.Site).members["u"].Status; got != want {
			tr.Errorf("got %q, want %q", got, want)
		}
		tr.do(presence.Site, drop("u", "a.2"))
		site.wantsDiffs("+u", "-u")
		tr.pass(memory + slack)
	}
}

// Rule 3: an older one neither widens nor narrows what viewers may see.
func revisedVisibility(tr *trial) {
	device := func(v presence.Audience, rev int64) presence.User {
		u := named("u")
		u.Visibility, u.Rev = &presence.Visibility{Online: v, Seen: v, Status: presence.Online}, rev
		return u
	}
	tr.do(presence.Site, joinAs(device(presence.Contacts, 2), "a.1"))
	tr.do(presence.Site, seenAs(device(presence.Everyone, 1)), update(device(presence.Nobody, 0)))
	if got := tr.read(presence.Site).members["u"].Visibility; got == nil || got.Online != presence.Contacts {
		tr.Errorf("got %+v, want that of revision 2", got)
	}
	tr.do(presence.Site, update(device(presence.Everyone, 3)))
	if got := tr.read(presence.Site).members["u"].Visibility; got == nil || got.Online != presence.Everyone {
		tr.Errorf("got %+v, want that of revision 3", got)
	}
}
