package presencetest

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func recentCases() []ruleCase {
	return []ruleCase{
		{"rule 9", "the latest page view, join or leave counts", activity},
		{"rule 9", "other operations are no activity", noActivity},
		{"rule 9", "a leave counts at last seen, not at the sweep", activeAtLeave},
		{"rule 9", "who left keeps the name, without a status", namesOfTheGone},
		{"rule 9", "the newest profile is the one that others saw last", newestName},
		{"rule 9", "an invisible user stays as one who left", invisibleNames},
		{"rule 9", "a sign-out takes the user out where the site says so", signOutForgets},
		{"rule 9", "what counts is the end of a step", namesAtTheEnd},
		{"rule 9", "the bound evicts who was active least lately", namesBound},
		{"rule 9", "a batch that asks for fewer names shortens the list", fewerNames},
		{"rule 9", "a topic that asks for no names has none", noNames},
		{"rule 9", "page views at once on several nodes", namesAtOnce},
	}
}

const day = backend.MaxWithin

// Rule 9: also of a user who comes back.
func activity(tr *trial) {
	tr.keep.Names = 10
	joined := tr.now()
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.wantActive(presence.Site, "u", joined)
	tr.advance(2 * slack)
	tr.do(presence.Site, lasting(join("v", "a.2"), day), lasting(join("w", "a.3"), day))
	tr.wantNames(presence.Site, day, "+v +w +u")
	tr.advance(2 * slack)
	viewed := tr.now()
	tr.do(presence.Site, seen("u"))
	tr.wantNames(presence.Site, day, "+u +v +w")
	tr.wantActive(presence.Site, "u", viewed)
	tr.advance(2 * slack)
	left := tr.now()
	tr.do(presence.Site, signOut("w"))
	tr.wantNames(presence.Site, day, "w +u +v")
	tr.wantActive(presence.Site, "w", left)
	tr.advance(2 * slack)
	back := tr.now()
	tr.do(presence.Site, join("w", "a.3"))
	tr.wantNames(presence.Site, day, "+w +u +v")
	tr.wantActive(presence.Site, "w", back)
	tr.wantNames("thread:1", day, "")
}

// Rule 9: a heartbeat, a second connection, one of two that closes, a new profile, a
// status; and what is about nobody.
func noActivity(tr *trial) {
	tr.keep.Names = 10
	joined := tr.now()
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.advance(2 * slack)
	tr.do(presence.Site, lasting(join("v", "b.1"), day))
	tr.advance(2 * slack)
	tr.do(presence.Site, beat("u", "a.1"), join("u", "a.2"), keep("u", "a.1"), update(full("u")), status("u", presence.Away))
	tr.do(presence.Site, release("u", "a.2"))
	tr.do(presence.Site, drop("nobody", "a.1"), update(full("nobody")), signOut("nobody"), release("nobody", "a.1"))
	tr.wantNames(presence.Site, day, "+v +u")
	tr.wantActive(presence.Site, "u", joined)
}

// Rules 5 and 9: the user leaves by a sweep. Nobody goes back in time: who became visible
// is not active before that, though it is no proof of life.
func activeAtLeave(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, join("u", "a.1"))
	tr.advance(ttl - slack)
	beaten := tr.now()
	tr.do(presence.Site, beat("u", "a.1"))
	tr.pass(period)
	tr.wantNames(presence.Site, day, "u")
	tr.wantActive(presence.Site, "u", beaten)

	tr.do(presence.Site, joinAs(invisible("v"), "a.2"))
	tr.advance(ttl - slack)
	shown := tr.now()
	tr.do(presence.Site, status("v", presence.Online))
	tr.pass(period)
	tr.wantNames(presence.Site, day, "v u")
	tr.wantActive(presence.Site, "v", shown)
}

// Rule 9: names outlive leases, with every field. The status is what an online user
// chose.
func namesOfTheGone(tr *trial) {
	tr.keep.Names = 10
	want := full("u")
	for _, online := range []bool{true, false, true} {
		if online {
			tr.do(presence.Site, joinAs(want, "a.1"))
		} else {
			tr.do(presence.Site, drop("u", "a.1"))
			tr.pass(2 * period)
			tr.age()
		}
		got := tr.names(presence.Site, day)
		if len(got) != 1 || got[0].Online != online {
			tr.Fatalf("recent are %+v, want u, online %v", got, online)
		}
		u := want
		if !online {
			u.Status = ""
		}
		if !sameMember(presence.Member{User: got[0].User}, presence.Member{User: u}) {
			tr.Errorf("the recent user is %+v, want %+v", got[0].User, u)
		}
	}
}

// Rule 9: a profile that came by whatever operation.
func newestName(tr *trial) {
	tr.keep.Names = 2
	name := func(want string) {
		tr.Helper()
		got := tr.names(presence.Site, day)
		i := slices.IndexFunc(got, func(u backend.RecentUser) bool { return u.ID == "u" })
		if i < 0 || got[i].Name != want {
			tr.Errorf("recent are %+v, want u as %q", got, want)
		}
	}
	profile := func(name string) presence.User { return presence.User{ID: "u", Name: name} }
	tr.do(presence.Site, joinAs(profile("first"), "a.1"))
	name("first")
	tr.do(presence.Site, joinAs(profile("second"), "a.2"))
	name("second")
	tr.do(presence.Site, seenAs(profile("third")))
	name("third")
	tr.do(presence.Site, past(joinAs(profile("older"), "a.2"), slack))
	name("third")
	tr.do(presence.Site, joinAs(profile("fourth"), "a.2"), signOut("u"))
	name("fourth")
	tr.do(presence.Site, past(joinAs(profile("late"), "a.3"), slack))
	name("fourth")

	// A profile alone brings nobody in whom the bound evicted.
	tr.advance(slack)
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.advance(slack)
	tr.do(presence.Site, join("v", "a.2"), join("w", "a.3"))
	tr.do(presence.Site, joinAs(profile("seventh"), "a.1"))
	tr.wantNames(presence.Site, day, "+v +w")
}

// Rules 2 and 9: going invisible takes a user out, also one who was visible long ago.
// Becoming visible puts a user in.
func invisibleNames(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, seenAs(invisible("u")), joinAs(invisible("v"), "a.1"), seen("w"), join("x", "a.2"))
	tr.wantNames(presence.Site, day, "+w +x")
	tr.advance(slack)
	hid := tr.now()
	tr.do(presence.Site, status("w", presence.Invisible))
	tr.wantNames(presence.Site, day, "w +x")
	tr.wantNames(presence.Site, 0, "w")
	tr.advance(slack)
	tr.do(presence.Site, seen("w"), update(presence.User{ID: "w", Name: "Another"}), signOut("w"))
	tr.do(presence.Site, seenAs(invisible("w")))
	tr.wantNames(presence.Site, 0, "w")
	tr.wantActive(presence.Site, "w", hid)
	tr.do(presence.Site, status("v", presence.Online))
	tr.wantNames(presence.Site, day, "+v w +x")
	tr.advance(slack)
	tr.do(presence.Site, seenAs(presence.User{ID: "w", Status: presence.Away}))
	tr.wantNames(presence.Site, day, "+w +v +x")
	tr.advance(slack)
	tr.do(presence.Site, drop("x", "a.2"), seen("u"), beat("v", "a.1"))
	tr.wantNames(presence.Site, day, "x +w +v")
	tr.advance(slack)
	tr.do(presence.Site, joinAs(invisible("x"), "a.2"))
	tr.wantNames(presence.Site, day, "x +w +v")
	tr.do(presence.Site, drop("x", "a.2"))
	tr.pass(period + slack)
	tr.wantNames(presence.Site, day, "v x w")
}

// Rule 9: whether the user is online or not, and only by a sign-out.
func signOutForgets(tr *trial) {
	for _, forget := range []bool{false, true} {
		tr.keep = presence.Keep{Names: 10, ForgetSignedOut: forget}
		tr.do(presence.Site, seen("u"))
		tr.advance(slack)
		tr.do(presence.Site, seen("v"), join("w", "a.1"))
		tr.advance(slack)
		tr.do(presence.Site, drop("w", "a.1"))
		tr.wantNames(presence.Site, day, "w +v +u")
		tr.wantNames(presence.Site, 0, "+v +u")
		tr.advance(slack)
		tr.do(presence.Site, signOut("u"))
		tr.do(presence.Site, signOut("w"))
		want, viewed := "u w +v", "u +v"
		if forget {
			want, viewed = "+v", "+v"
		}
		tr.wantNames(presence.Site, 0, viewed)
		tr.wantNames(presence.Site, day, want)
		tr.do(presence.Site, past(signOut("v"), time.Second), seen("v"))
	}
	tr.wantNames(presence.Site, day, "+v")
}

// Rule 9: a user who goes and comes in one step is there. Who was there for a moment
// inside of it was not, but for a page view.
func namesAtTheEnd(tr *trial) {
	tr.keep = presence.Keep{Names: 10, ForgetSignedOut: true}
	tr.do(presence.Site, join("u", "a.1"), drop("u", "a.1"), join("v", "a.2"), signOut("v"))
	tr.wantNames(presence.Site, day, "")
	tr.do(presence.Site, lasting(seen("v"), ttl), lasting(join("w", "a.3"), day))
	tr.pass(ttl + slack)
	tr.wantNames(presence.Site, day, "v +w")
	tr.wantNames(presence.Site, 0, "v")
	tr.advance(slack)
	tr.do(presence.Site, seen("w"), status("w", presence.Invisible), status("w", presence.Online))
	tr.do(presence.Site, past(signOut("w"), tick/2), join("w", "a.3"), seen("v"), signOut("v"))
	tr.wantNames(presence.Site, day, "+w")
	tr.do(presence.Site, status("w", presence.Invisible), drop("w", "a.3"))
	tr.wantNames(presence.Site, day, "w")
}

// Rule 9: the bound is kept at each step, also among users online. Of users who were
// active at the same moment the last by ID goes. Who was evicted comes back at the leave.
func namesBound(tr *trial) {
	tr.keep.Names = 4
	tr.do(presence.Site, lasting(join("u", "a.1"), period))
	tr.advance(slack)
	tr.do(presence.Site, join("b", "b.1"), join("a", "b.2"), join("d", "b.3"), join("c", "b.4"))
	tr.wantNames(presence.Site, day, "+a +b +c +d")
	tr.advance(slack)
	tr.do(presence.Site, seen("e"), seen("f"))
	tr.wantNames(presence.Site, day, "+e +f +a +b")
	if p := tr.page(presence.Site, backend.RecentQuery{Limit: 10}); p.Total != 2 {
		tr.Errorf("the total is %d, want 2", p.Total)
	}
	tr.advance(slack)
	tr.do(presence.Site, signOff("e"))
	tr.do(presence.Site, signOut("f"))
	tr.advance(slack)
	tr.do(presence.Site, lasting(beat("u", "a.1"), period))
	tr.pass(period + slack)
	tr.wantNames(presence.Site, day, "u f e a")
}

// Rule 9: at the latest by the first Age after the next announced join or leave.
func fewerNames(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, seen("u"), seen("v"), seen("w"))
	tr.advance(slack)
	tr.keep.Names = 2
	tr.do(presence.Site, join("x", "a.1"))
	tr.age()
	tr.wantNames(presence.Site, day, "+x +u")
	tr.keep.Names = 0
	tr.do(presence.Site, drop("x", "a.1"))
	tr.age()
	tr.wantNames(presence.Site, day, "")
	tr.keep.Names = 10
	tr.do(presence.Site, join("y", "a.2"))
	tr.wantNames(presence.Site, day, "+y")
}

// Rule 9: Keep is of each topic.
func noNames(tr *trial) {
	tr.do(presence.Site, seen("u"), join("v", "a.1"))
	tr.keep.Names = 10
	tr.do("thread:1", seen("u"))
	tr.wantNames(presence.Site, day, "")
	tr.wantNames(presence.Site, 0, "")
	tr.wantNames("thread:1", day, "+u")
	if p := tr.page(presence.Site, backend.RecentQuery{Limit: 10}); p.Total != 1 || p.Next != "" {
		tr.Errorf("the page is %+v, want a total of 1, who viewed a page", p)
	}
}

// Rule 9: several nodes bring in more users than the bound. Afterwards the list has the
// bound's number, each user once.
func namesAtOnce(tr *trial) {
	tr.keep.Names = 60
	tr.nodes(func(node int, store backend.Store) {
		for i := range 50 {
			tr.apply(store, presence.Site, seen(ghost(25*node+i))) // each user on two nodes, but for the first and the last
			if i%10 == 9 {
				tr.apply(store, presence.Site, signOut(ghost(25*node+i)))
			}
		}
	})
	users := make(map[presence.UserID]bool)
	for _, u := range tr.names(presence.Site, day) {
		users[u.ID] = true
	}
	if len(users) != 60 {
		tr.Errorf("%d users are remembered, want 60", len(users))
	}
	tr.advance(time.Minute)
	tr.do(presence.Site, seen("late"))
	if got := tr.names(presence.Site, day); len(got) != 60 || got[0].ID != "late" {
		tr.Errorf("remembered are %d, %q, want 60, first who came last", len(got), nameWords(got))
	}
}
