package presencetest

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func signOffCases() []ruleCase {
	return []ruleCase{
		{"rule 19", "other connections are left alone", signOffOne},
		{"rule 19", "the last one ends all", signOffLast},
		{"rule 19", "a browser without a connection", signOffWithout},
		{"rule 19", "a connection that expired is none", signOffExpired},
		{"rule 19", "in one topic, and of nobody", signOffNobody},
		{"rule 19", "it is a proof of life", signOffProof},
		{"rule 19", "the last one takes the name out where the site says so", signOffNames},
		{"rule 19", "two browsers sign off at once", signOffAtOnce},
		{"rule 19", "a sign-out that is written late ends what was before", lateSignOut},
		{"rule 19", "a sign-off of one browser that is written late ends page views of before", lateSignOff},
	}
}

// Rule 19: nothing is announced. Page views of before hold nobody any more, and count on.
func signOffOne(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"), seen("u"))
	tr.do(presence.Site, signOff("u", "a.1"))
	site.wantsDiffs("+u")
	tr.unknown([]int{0}, presence.Site, beat("u", "a.1"), beat("u", "b.1"))
	tr.wantRecent(presence.Site, 1, 0)
	tr.do(presence.Site, signOff("u", "a.1"), signOff("u", "c.9"), signOff("u", ""))
	tr.do(presence.Site, beat("u", "b.1"))
	tr.wantRecent(presence.Site, 1, 0)
	tr.pass(ttl + slack)
	site.wantsDiffs("-u")

	// Only a sign-off with the connection of another browser left keeps a grace.
	tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"))
	tr.do(presence.Site, release("u", "a.1"), signOff("u", "a.1"))
	tr.do(presence.Site, drop("u", "b.1"))
	site.wantsDiffs("+u")
	tr.pass(grace + slack)
	site.wantsDiffs("-u")
}

// Rule 19: page views, the grace and the sets, as a sign-out does, in one diff.
func signOffLast(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"), join("u", "b.2"), seen("u"), join("v", "a.2"), seen("v"))
	tr.do(presence.Site, release("u", "b.2"))
	tr.do(presence.Site, signOff("u", "b.1"))
	site.wantsDiffs("+u +v")
	tr.do(presence.Site, signOff("u", "a.1"))
	site.wantsDiffs("-u")
	tr.wantRecent(presence.Site, 1, 0)
	tr.wantOnline(presence.Site, "v")
	tr.unknown([]int{0, 1, 2, 3}, presence.Site, beat("u", "a.1"), beat("u", "b.1"), beat("u", presence.HolderWeb), beat("u", presence.HolderGrace))
	tr.do(presence.Site, joinAs(invisible("w"), "a.3"), signOff("w", "a.3"))
	tr.do(presence.Site, join("w", "a.3"))
	tr.do(presence.Site, signOff("w", "a.3"), join("w", "b.3"))
	site.wantsDiffs("+w")
	tr.wantOnline(presence.Site, "v w")
}

// Rule 19: an empty holder, a connection that has gone, and a holder that is no connection
// end no connection. If there is none, all ends.
func signOffWithout(tr *trial) {
	for _, holder := range []presence.Holder{"", "a.9", presence.HolderWeb, presence.HolderGrace} {
		site := tr.follow(presence.Site)
		tr.do(presence.Site, join("u", "a.1"), join("u", "a.2"), seen("u"), seen("v"))
		tr.do(presence.Site, release("u", "a.2"))
		tr.do(presence.Site, signOff("u", holder), signOff("v", holder))
		site.wants("+u +v -v")
		tr.unknown([]int{1}, presence.Site, beat("u", "a.1"), beat("u", presence.HolderWeb), beat("u", presence.HolderGrace))
		tr.do(presence.Site, release("u", "a.1"))
		tr.do(presence.Site, signOff("u", holder))
		site.wants("-u")
		tr.wantRecent(presence.Site, 0, 0)
	}
}

// Rules 1 and 19: whether it was swept or not.
func signOffExpired(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.advance(ttl - slack)
	tr.do(presence.Site, join("u", "b.1"), seen("u"))
	tr.advance(2 * slack)
	tr.do(presence.Site, signOff("u", "b.1"))
	site.wants("+u -u")
	tr.wantOnline(presence.Site, "")
}

// Rule 19: an unknown user is taken out of the sets, as by a sign-out.
func signOffNobody(tr *trial) {
	site, other := tr.follow(presence.Site), tr.follow("thread:1")
	tr.do(presence.Site, signOff("u", "a.1"), signOff("u", ""))
	tr.do("thread:1", join("u", "a.1"))
	tr.do(presence.Site, seen("u"), seen("v"))
	tr.do(presence.Site, drop("u", presence.HolderWeb))
	tr.wantRecent(presence.Site, 2, 0)
	tr.do(presence.Site, signOff("u", "a.1"))
	tr.wantRecent(presence.Site, 1, 0)
	tr.wantOnline(presence.Site, "v")
	tr.wantOnline("thread:1", "u")
	site.wants("+u -u +v")
	other.wants("+u")
}

// Rules 7 and 19: as a sign-out is, also if another connection is left.
func signOffProof(tr *trial) {
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.1"), join("v", "b.1"))
	tr.advance(ttl - slack)
	proof := tr.now()
	tr.do(presence.Site, signOff("u", "a.1"), signOff("v", "a.1"))
	tr.pass(2 * slack)
	tr.wantSeen(presence.Site, "u", proof)
	tr.wantSeen(presence.Site, "v", proof)
}

// Rules 15 and 19: the name stays as long as another connection does.
func signOffNames(tr *trial) {
	for _, forget := range []bool{false, true} {
		tr.keep = presence.Keep{Names: 10, ForgetSignedOut: forget}
		tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"), seen("u"))
		tr.do(presence.Site, signOff("u", "a.1"))
		tr.wantNames(presence.Site, day, "+u")
		tr.wantNames(presence.Site, 0, "+u")
		tr.do(presence.Site, signOff("u", "b.1"))
		want := "u"
		if forget {
			want = ""
		}
		tr.wantNames(presence.Site, 0, want)
		tr.wantNames(presence.Site, day, want)
	}
}

// Rules 2 and 19: whoever is the last ends all, once.
func signOffAtOnce(tr *trial) {
	site := tr.follow(presence.Site)
	for range 20 {
		tr.do(presence.Site, join("u", "a.0"), join("u", "a.1"), join("u", "a.2"), join("u", "a.3"), seen("u"))
		tr.nodes(func(node int, store backend.Store) { tr.apply(store, signOff("u", ghostHolder(node))) })
		site.wantsDiffs("+u", "-u")
		tr.wantRecent(presence.Site, 0, 0)
	}
}

// wantHeld checks what holds a user, online or not.
func (tr *trial) wantHeld(id presence.UserID, want ...presence.Holder) {
	tr.Helper()
	if s := tr.sighting(presence.Site, id); !slices.Equal(s.Holders, want) || s.Online != (len(want) > 0) {
		tr.Fatalf("the sighting of %q is %+v, want the holders %q", id, s, want)
	}
}

// Rules 7 and 19: who has joined, been followed or viewed a page since has come back. That user stays in the sets, and
// nothing is told. Last seen is not before what came later.
func lateSignOut(tr *trial) {
	for _, out := range []func(presence.UserID) backend.Op{
		signOut,
		func(id presence.UserID) backend.Op { return signOff(id, "") },
	} {
		site := tr.follow(presence.Site)
		ids := []presence.UserID{"followed", "gone", "joined", "viewed", "views"}
		tr.do(presence.Site, join("followed", "a.1"), join("followed", "a.2"), join("joined", "a.1"), join("viewed", "a.1"), join("gone", "a.1"))
		for _, id := range ids {
			tr.do(presence.Site, seen(id), lasting(release(id, "a.1"), period))
		}
		site.wants("+followed +gone +joined +viewed +views")
		tr.advance(slack)
		left := tr.now()
		tr.advance(slack)
		tr.do(presence.Site, attach("followed", "a.2"), join("joined", "b.1"), seen("viewed"))
		tr.do(presence.Site, drop("followed", "a.2"), drop("joined", "b.1"))
		tr.advance(slack)
		for _, leaves := range []string{"-gone -views", ""} {
			for _, id := range ids {
				tr.do(presence.Site, past(out(id), tr.now().Sub(left)))
			}
			site.wants(leaves)
			tr.wantRecent(presence.Site, 3, 0)
			tr.wantSeen(presence.Site, "gone", left)
			tr.wantSeen(presence.Site, "views", left)
			tr.wantHeld("followed", presence.HolderGrace)
			tr.wantHeld("joined", presence.HolderGrace)
			tr.wantHeld("viewed", presence.HolderWeb)
		}
		tr.do(presence.Site, out("followed"), out("joined"), out("viewed"))
		site.wants("-followed -joined -viewed")
	}
}

// Rules 6 and 19: another connection holds the user.
func lateSignOff(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("before", "a.1"), join("before", "b.1"), join("after", "a.1"), join("after", "b.1"))
	tr.do(presence.Site, seen("before"), seen("after"))
	tr.advance(2 * slack)
	tr.do(presence.Site, seen("after"))
	for range 2 {
		tr.do(presence.Site, past(signOff("before", "a.1"), slack), past(signOff("after", "a.1"), slack))
		tr.wantHeld("before", "b.1")
		tr.wantHeld("after", "b.1", presence.HolderWeb)
	}
	tr.wantRecent(presence.Site, 2, 0)
	site.wants("+after +before")
}
