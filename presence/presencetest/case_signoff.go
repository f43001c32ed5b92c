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
	tr.do(presence.Site, leave("u", "a.1"), signOff("u"))
	tr.wantHeld("u", "b.1")
	tr.do(presence.Site, signOff("u"), signOff("u"))
	tr.wantHeld("u", "b.1")
	tr.wantRecent(presence.Site, 1, 0)
	tr.do(presence.Site, join("u", "a.1"), seen("u"))
	tr.do(presence.Site, release("u", "a.1"), signOff("u"))
	tr.wantHeld("u", "b.1", presence.HolderGrace)
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
	tr.do(presence.Site, leave("u", "b.1"), signOff("u"))
	site.wantsDiffs("+u +v")
	tr.do(presence.Site, leave("u", "a.1"), signOff("u"))
	site.wantsDiffs("-u")
	tr.wantRecent(presence.Site, 1, 0)
	tr.wantOnline(presence.Site, "v")
	tr.unknown([]int{0, 1, 2, 3}, presence.Site, beat("u", "a.1"), beat("u", "b.1"), beat("u", presence.HolderWeb), beat("u", presence.HolderGrace))
	tr.do(presence.Site, joinAs(invisible("w"), "a.3"), drop("w", "a.3"), signOff("w"))
	tr.do(presence.Site, join("w", "a.3"))
	tr.do(presence.Site, drop("w", "a.3"), signOff("w"), join("w", "b.3"))
	site.wantsDiffs("+w")
	tr.wantOnline(presence.Site, "v w")
}

// Rule 19: a grace and a page view are no connections.
func signOffWithout(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), seen("u"), seen("v"))
	tr.do(presence.Site, release("u", "a.1"), seen("u"))
	tr.do(presence.Site, signOff("u"), signOff("v"))
	site.wants("+u -u +v -v")
	tr.wantRecent(presence.Site, 0, 0)
}

// Rules 1 and 19: whether it was swept or not.
func signOffExpired(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.advance(ttl - slack)
	tr.do(presence.Site, join("u", "b.1"), seen("u"))
	tr.advance(2 * slack)
	tr.do(presence.Site, leave("u", "b.1"), signOff("u"))
	site.wants("+u -u")
	tr.wantOnline(presence.Site, "")
}

// Rule 19: an unknown user is taken out of the sets, as by a sign-out.
func signOffNobody(tr *trial) {
	site, other := tr.follow(presence.Site), tr.follow("thread:1")
	tr.do(presence.Site, signOff("u"))
	tr.do("thread:1", join("u", "a.1"))
	tr.do(presence.Site, seen("u"), seen("v"))
	tr.do(presence.Site, drop("u", presence.HolderWeb))
	tr.wantRecent(presence.Site, 2, 0)
	tr.do(presence.Site, signOff("u"))
	tr.wantRecent(presence.Site, 1, 0)
	tr.wantOnline(presence.Site, "v")
	tr.wantOnline("thread:1", "u")
	site.wants("+u -u +v")
	other.wants("+u")
}

// Rules 7 and 19: as a sign-out is, also if a connection is left.
func signOffProof(tr *trial) {
	tr.do(presence.Site, lasting(seen("u"), ttl), join("v", "b.1"))
	tr.advance(ttl - slack)
	proof := tr.now()
	tr.do(presence.Site, signOff("u"), signOff("v"))
	tr.pass(2 * slack)
	tr.wantSeen(presence.Site, "u", proof)
	tr.wantSeen(presence.Site, "v", proof)
}

// Rules 15 and 19: the name stays as long as a connection does.
func signOffNames(tr *trial) {
	for _, forget := range []bool{false, true} {
		tr.keep = presence.Keep{Names: 10, ForgetSignedOut: forget}
		tr.do(presence.Site, join("u", "b.1"), seen("u"))
		tr.do(presence.Site, signOff("u"))
		tr.wantNames(presence.Site, day, "+u")
		tr.wantNames(presence.Site, 0, "+u")
		tr.do(presence.Site, drop("u", "b.1"), signOff("u"))
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
		tr.nodes(func(node int, store backend.Store) { tr.apply(store, drop("u", ghostHolder(node)), signOff("u")) })
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

// Rules 7 and 19: who has joined or viewed a page since has come back, and an OpKeep tells of a join. That user stays in
// the sets, and nothing is told. Last seen is not before what came later.
func lateSignOut(tr *trial) {
	for _, out := range []func(presence.UserID) backend.Op{signOut, signOff} {
		site := tr.follow(presence.Site)
		ids := []presence.UserID{"gone", "joined", "kept", "made", "viewed", "views"}
		tr.do(presence.Site, join("kept", "a.1"), join("kept", "a.2"), join("made", "a.1"), join("made", "a.2"), join("joined", "a.1"), join("viewed", "a.1"), join("gone", "a.1"))
		for _, id := range ids {
			tr.do(presence.Site, seen(id), lasting(release(id, "a.1"), period))
		}
		site.wants("+gone +joined +kept +made +viewed +views")
		tr.advance(slack)
		left := tr.now()
		tr.advance(slack)
		tr.do(presence.Site, keep("kept", "a.2"), keep("made", "a.3"), join("joined", "b.1"), seen("viewed"))
		tr.do(presence.Site, drop("kept", "a.2"), drop("made", "a.2"), drop("made", "a.3"), drop("joined", "b.1"))
		tr.advance(slack)
		for _, leaves := range []string{"-gone -views", ""} {
			for _, id := range ids {
				tr.do(presence.Site, past(out(id), tr.now().Sub(left)))
			}
			site.wants(leaves)
			tr.wantRecent(presence.Site, 4, 0)
			tr.wantSeen(presence.Site, "gone", left)
			tr.wantSeen(presence.Site, "views", left)
			for _, id := range ids[1:4] {
				tr.wantHeld(id, presence.HolderGrace)
			}
			tr.wantHeld("viewed", presence.HolderWeb)
		}
		tr.do(presence.Site, out("joined"), out("kept"), out("made"), out("viewed"))
		site.wants("-joined -kept -made -viewed")
	}
}

// Rules 6 and 19: a connection holds the user.
func lateSignOff(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("before", "b.1"), join("after", "b.1"))
	tr.do(presence.Site, seen("before"), seen("after"))
	tr.advance(2 * slack)
	tr.do(presence.Site, seen("after"))
	for range 2 {
		tr.do(presence.Site, past(signOff("before"), slack), past(signOff("after"), slack))
		tr.wantHeld("before", "b.1")
		tr.wantHeld("after", "b.1", presence.HolderWeb)
	}
	tr.wantRecent(presence.Site, 2, 0)
	site.wants("+after +before")
}
