package presencetest

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func signOffCases() []ruleCase {
	return []ruleCase{
		{"rule 3", "other connections are left alone", signOffOne},
		{"rule 3", "the last one ends all", signOffLast},
		{"rule 3", "a browser without a connection", signOffWithout},
		{"rule 3", "a connection that expired goes by a sweep", signOffExpired},
		{"rule 3", "in one topic, and of nobody", signOffNobody},
		{"rule 3", "it is a proof of life", signOffProof},
		{"rule 3", "the last one takes the name out where the site says so", signOffNames},
		{"rule 3", "two browsers sign off at once", signOffAtOnce},
		{"rule 3", "a sign-out that is written late ends what was before", lateSignOut},
	}
}

// Rule 3: nothing is announced. Page views of before hold nobody any more, and count on.
func signOffOne(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"), seen("u"))
	tr.do(presence.Site, drop("u", "a.1"), signOff("u"))
	tr.wantHeld("u", "b.1")
	tr.do(presence.Site, signOff("u"), signOff("u"))
	tr.wantHeld("u", "b.1")
	tr.wantRecent(presence.Site, 1, 0)
	tr.do(presence.Site, join("u", "a.1"), seen("u"))
	tr.do(presence.Site, release("u", "a.1"), past(signOff("u"), tick/2))
	tr.wantHeld("u", "b.1", presence.HolderGrace)
	tr.do(presence.Site, drop("u", "b.1"))
	site.wantsDiffs("+u")
	tr.pass(grace + slack)
	site.wantsDiffs("-u")
}

// Rule 3: page views, the grace and the sets, as a sign-out does, in one diff.
func signOffLast(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"), join("u", "b.2"), seen("u"), join("v", "a.2"), seen("v"))
	tr.do(presence.Site, release("u", "b.2"))
	tr.do(presence.Site, drop("u", "b.1"), signOff("u"))
	site.wantsDiffs("+u +v")
	tr.do(presence.Site, drop("u", "a.1"), signOff("u"))
	site.wantsDiffs("-u")
	tr.wantRecent(presence.Site, 1, 0)
	tr.wantOnline(presence.Site, "v")
	tr.unknown([]int{0, 1, 2, 3}, presence.Site, beat("u", "a.1"), beat("u", "b.1"), beat("u", presence.HolderWeb), beat("u", presence.HolderGrace))
	tr.do(presence.Site, joinAs(invisible("w"), "a.3"), drop("w", "a.3"), signOff("w"))
	tr.do(presence.Site, joinAs(having("w", presence.Online), "a.3"))
	tr.do(presence.Site, drop("w", "a.3"), signOff("w"), join("w", "b.3"))
	site.wantsDiffs("+w")
	tr.wantOnline(presence.Site, "v w")
}

// Rule 3: a grace and a page view are no connections.
func signOffWithout(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), seen("u"), seen("v"))
	tr.do(presence.Site, release("u", "a.1"), seen("u"))
	tr.do(presence.Site, signOff("u"), signOff("v"))
	site.wants("+u -u +v -v")
	tr.wantRecent(presence.Site, 0, 0)
}

// Rules 1, 3 and 5: the sign-off is a proof of life all the same.
func signOffExpired(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.advance(ttl - slack)
	tr.do(presence.Site, join("u", "b.1"), seen("u"))
	tr.advance(2 * slack)
	out := tr.now()
	tr.do(presence.Site, drop("u", "b.1"), signOff("u"))
	tr.pass(slack)
	site.wants("+u -u")
	tr.wantSeen(presence.Site, "u", out)
}

// Rule 3: an unknown user is taken out of the sets, as by a sign-out.
func signOffNobody(tr *trial) {
	site, other := tr.follow(presence.Site), tr.follow("thread:1")
	tr.do(presence.Site, signOff("u"))
	tr.do("thread:1", lasting(join("u", "a.1"), day))
	tr.do(presence.Site, lasting(seen("u"), ttl), seen("v"))
	tr.pass(ttl + slack)
	tr.wantRecent(presence.Site, 2, 0)
	tr.do(presence.Site, signOff("u"))
	tr.wantRecent(presence.Site, 1, 0)
	tr.wantOnline(presence.Site, "v")
	tr.wantOnline("thread:1", "u")
	site.wants("+u -u +v")
	other.wants("+u")
}

// Rules 3 and 5: as a sign-out is, also if a connection is left.
func signOffProof(tr *trial) {
	tr.do(presence.Site, lasting(seen("u"), ttl), join("v", "b.1"))
	tr.advance(ttl - slack)
	proof := tr.now()
	tr.do(presence.Site, signOff("u"), signOff("v"))
	tr.pass(2 * slack)
	tr.wantSeen(presence.Site, "u", proof)
	tr.wantSeen(presence.Site, "v", proof)
}

// Rules 3 and 9: the name stays as long as a connection does.
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

// Rules 2 and 3: whoever is the last ends all, once.
func signOffAtOnce(tr *trial) {
	site := tr.follow(presence.Site)
	for range 20 {
		tr.do(presence.Site, join("u", "a.0"), join("u", "a.1"), join("u", "a.2"), join("u", "a.3"), seen("u"))
		tr.nodes(func(node int, store backend.Store) {
			tr.apply(store, presence.Site, drop("u", ghostHolder(node)), signOff("u"))
		})
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

// Rules 3 and 5: what joined, closed or was viewed since holds the user, and so does a connection after a sign-off of
// another browser. That user stays in the sets, and nothing is told.
func lateSignOut(tr *trial) {
	for _, out := range []func(presence.UserID) backend.Op{signOut, signOff} {
		site := tr.follow(presence.Site)
		ids := []presence.UserID{"closed", "gone", "joined", "kept", "stays", "viewed", "views"}
		tr.do(presence.Site, join("gone", "a.1"), join("kept", "a.1"), join("stays", "a.1"))
		for _, id := range ids {
			tr.do(presence.Site, seen(id))
		}
		tr.do(presence.Site, lasting(release("gone", "a.1"), period))
		site.wants("+closed +gone +joined +kept +stays +viewed +views")
		tr.advance(slack)
		left := tr.now()
		tr.advance(slack)
		tr.do(presence.Site, keep("kept", "a.1"), join("joined", "b.1"), join("closed", "b.1"), seen("viewed"))
		tr.do(presence.Site, release("closed", "b.1"))
		tr.advance(tick)
		leaves, stay := "-gone -stays -views", 4
		if out("u").Kind == backend.OpSignOff {
			leaves, stay = "-gone -views", 5
		}
		for range 2 {
			for _, id := range ids {
				tr.do(presence.Site, past(out(id), tr.now().Sub(left)))
			}
			site.wants(leaves)
			leaves = ""
			tr.wantRecent(presence.Site, stay, 0)
			tr.wantSeen(presence.Site, "gone", left)
			tr.wantSeen(presence.Site, "views", left)
			tr.wantHeld("closed", presence.HolderGrace)
			tr.wantHeld("joined", "b.1")
			tr.wantHeld("kept", "a.1")
			tr.wantHeld("viewed", presence.HolderWeb)
			if stay == 5 {
				tr.wantHeld("stays", "a.1")
			}
		}
		for _, id := range ids {
			tr.do(presence.Site, signOut(id))
		}
		site.read()
		tr.wantOnline(presence.Site, "")
	}
}
