package presencetest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func idleCases() []ruleCase {
	return []ruleCase{
		{"rule 6", "a user is idle while nobody is at any page", idleWhileAll},
		{"rule 6", "a join says it too, and each anew", idleJoins},
		{"rule 6", "nothing else that renews a lease changes it", idleBeats},
		{"rule 6", "the pages are those of the latest word about each lease", pagesAdd},
		{"rule 6", "the status stays as it was chosen", idleStatus},
		{"rule 6", "a page view is somebody, until a connection speaks for it", idleViews},
		{"rule 6", "the grace is as idle as the release says", idleGrace},
		{"rule 6", "the last page at which somebody was ends", idleEnds},
		{"rule 6", "in each topic for itself", idleTopics},
		{"rule 6", "who turns visible is idle at once", idleHidden},
		{"rule 6", "a keep is a proof of life, and no page view", idleProof},
	}
}

// wantIdle checks who of a topic is idle, by whatever tells of members.
func (tr *trial) wantIdle(topic presence.Topic, want string) {
	tr.Helper()
	members := tr.read(topic).members
	var idle []presence.UserID
	for _, id := range tr.read(topic).names() {
		if members[id].Idle {
			idle = append(idle, id)
		}
		if s := tr.sighting(topic, id); s.Idle != members[id].Idle {
			tr.Errorf("%q is idle: %v, and by the sighting: %v", id, members[id].Idle, s.Idle)
		}
	}
	if got := words(idle); got != want {
		tr.Fatalf("%s: idle are %q, want %q (rule 6)", topic, got, want)
	}
}

// Rule 6: each turn of the user is an update, and no turn of one page among several is.
func idleWhileAll(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("u", "b.1"), join("v", "a.2"))
	tr.do(presence.Site, idly(keep("u", "a.1")))
	tr.wantIdle(presence.Site, "")
	site.wantsDiffs("+u +v")
	tr.do(presence.Site, idly(keep("u", "b.1")))
	tr.wantIdle(presence.Site, "u")
	tr.do(presence.Site, idly(keep("u", "a.1")), idly(keep("u", "b.1")))
	site.wantsDiffs("~u")
	tr.do(presence.Site, keep("u", "a.1"))
	tr.do(presence.Site, keep("u", "b.1"))
	tr.do(presence.Site, idly(keep("u", "a.1")))
	tr.wantIdle(presence.Site, "")
	site.wantsDiffs("~u")
	tr.do(presence.Site, idly(keep("u", "b.1")), keep("u", "b.1"))
	site.wantsDiffs()
}

// Rule 6: the first join, the second one of the same page, and that of another page.
func idleJoins(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, idly(join("u", "a.1")))
	tr.wantIdle(presence.Site, "u")
	tr.do(presence.Site, join("u", "b.1"))
	tr.wantIdle(presence.Site, "")
	tr.do(presence.Site, idly(join("u", "b.1")))
	tr.wantIdle(presence.Site, "u")
	tr.do(presence.Site, join("u", "a.1"))
	tr.wantIdle(presence.Site, "")
	site.wantsDiffs("+u", "~u", "~u", "~u")
}

// Rule 6: heartbeats, updates and shorter leases leave it alone.
func idleBeats(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, idly(join("u", "a.1")), join("v", "b.1"))
	site.wantsDiffs("+u +v")
	for _, ops := range [][]backend.Op{
		{beat("u", "a.1"), beat("v", "b.1")},
		{beat("u", "a.1"), beat("v", "b.1"), guest("g")},
		{lasting(beat("u", "a.1"), time.Second), lasting(beat("v", "b.1"), time.Second), guest("g")},
		{lasting(beat("u", "a.1"), time.Hour), lasting(beat("v", "b.1"), time.Hour), guest("g")},
	} {
		tr.do(presence.Site, ops...)
		tr.wantIdle(presence.Site, "u")
	}
	site.wantsDiffs()
	tr.do(presence.Site, status("u", presence.Busy), status("v", presence.Busy))
	tr.do(presence.Site, status("u", presence.Away), status("v", presence.Away))
	tr.wantIdle(presence.Site, "u")
	site.wantsDiffs("~u ~v", "~u ~v")
}

// Rule 6: a page view and a grace have none. A lease that goes takes its pages with it.
func pagesAdd(tr *trial) {
	site := tr.follow(presence.Site)
	wants := func(all int, leases ...backend.Lease) {
		tr.Helper()
		if s := tr.sighting(presence.Site, "u"); s.Pages != all {
			tr.Errorf("the sighting is %+v, want %d pages (rule 6)", s, all)
		}
		in := tr.inspect("", 1)[0]
		for i := range in.Leases {
			in.Leases[i].Left = 0
		}
		if !slices.Equal(in.Leases, leases) {
			tr.Errorf("got the leases %+v, want %+v (rule 6)", in.Leases, leases)
		}
	}
	a := func(pages int) backend.Lease { return backend.Lease{Holder: "a.1", Pages: pages} }
	b := func(pages int) backend.Lease { return backend.Lease{Holder: "b.1", Pages: pages} }
	grace, web := backend.Lease{Holder: presence.HolderGrace}, backend.Lease{Holder: presence.HolderWeb}
	tr.do(presence.Site, paged(join("u", "a.1"), 1))
	wants(1, a(1))
	tr.do(presence.Site, paged(keep("u", "b.1"), 300))
	wants(301, a(1), b(300))
	tr.do(presence.Site, past(paged(keep("u", "a.1"), 3), time.Second), past(paged(join("u", "b.1"), 2), time.Second), seen("u"))
	wants(5, a(3), b(2), web)
	tr.do(presence.Site, beat("u", "a.1"), update(full("u")), signOff("u"))
	wants(5, a(3), b(2))
	tr.do(presence.Site, release("u", "a.1"))
	wants(2, b(2), grace)
	tr.do(presence.Site, idly(keep("u", "b.1")))
	wants(0, b(0), grace)
	tr.do(presence.Site, status("u", presence.Invisible), paged(keep("u", "b.1"), 4))
	wants(0, b(4), grace)
	tr.do(presence.Site, status("u", presence.Online))
	wants(4, b(4), grace)
	tr.do(presence.Site, drop("u", "b.1"), join("u", "b.1"))
	wants(0, b(0), grace)
	site.wantsDiffs("+u", "~u", "-u", "+u")
}

// Rule 6: busy is busy, and who chooses while idle stays idle.
func idleStatus(tr *trial) {
	tr.keep.Active = true // which writes beside it
	for _, chosen := range []presence.Status{presence.Online, presence.Busy, "away-"} {
		id := presence.UserID("u-" + string(chosen.Base()))
		u := presence.User{ID: id, Name: `"i":1}`, Data: json.RawMessage(`{"i":1}`), Status: chosen}
		tr.do(presence.Site, joinAs(u, "a.1"))
		tr.do(presence.Site, idly(keep(id, "a.1")))
		want := tr.read(presence.Site).members[id]
		if !want.Idle || !want.SameProfile(u) {
			tr.Errorf("got %+v, want an idle one as %+v", want, u)
		}
		tr.do(presence.Site, status(id, presence.Away))
		tr.do(presence.Site, keep(id, "a.1"))
		u.Status = presence.Away
		if got := tr.read(presence.Site).members[id]; got.Idle || !got.SameProfile(u) || !got.Active.Equal(want.Active) {
			tr.Errorf("got %+v, want one who is not idle as %+v, active at %v", got, u, want.Active)
		}
	}
}

// Rules 3 and 6: by an OpJoin or OpKeep. Without either it is somebody for as long as it holds.
func idleViews(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, idly(join("u", "a.1")))
	tr.do(presence.Site, seen("u"))
	tr.wantIdle(presence.Site, "")
	tr.do(presence.Site, lasting(idly(join("u", "b.1")), day))
	tr.wantIdle(presence.Site, "u")
	tr.do(presence.Site, seen("u"))
	tr.wantIdle(presence.Site, "")
	tr.do(presence.Site, idly(keep("u", "a.1")))
	tr.wantIdle(presence.Site, "u")
	tr.do(presence.Site, seen("u"))
	tr.do(presence.Site, past(idly(keep("u", "a.1")), period))
	tr.wantIdle(presence.Site, "")
	tr.do(presence.Site, idly(keep("u", "a.9")))
	tr.wantIdle(presence.Site, "u")
	tr.do(presence.Site, seen("u"))
	tr.pass(period - slack)
	tr.wantIdle(presence.Site, "")
	tr.pass(2 * slack)
	tr.wantIdle(presence.Site, "u")
	site.wantsDiffs("+u", "~u", "~u", "~u", "~u", "~u", "~u", "~u", "~u")
}

// Rules 3 and 6: who goes from page to page is neither seen to turn idle nor to come back.
func idleGrace(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, idly(join("u", "a.1")), idly(join("v", "a.2")), idly(join("v", "a.3")))
	site.wantsDiffs("+u +v")
	tr.do(presence.Site, idly(release("u", "a.1")), idly(release("v", "a.2")))
	tr.wantIdle(presence.Site, "u v")
	tr.do(presence.Site, idly(join("u", "a.4")))
	tr.pass(grace + slack)
	tr.wantIdle(presence.Site, "u v")
	site.wantsDiffs()
	tr.do(presence.Site, keep("v", "a.3"), idly(join("v", "a.5")))
	tr.do(presence.Site, idly(release("v", "a.5")))
	tr.do(presence.Site, release("v", "a.3"))
	tr.do(presence.Site, idly(join("v", "a.6")))
	tr.wantIdle(presence.Site, "u")
	tr.pass(grace + slack)
	tr.wantIdle(presence.Site, "u v")
	site.wantsDiffs("~v", "~v")
}

// Rules 1 and 6: by a drop, a sign-off and a sweep. The user leaves with the last lease.
func idleEnds(tr *trial) {
	site := tr.follow(presence.Site)
	for _, end := range []func(){
		func() { tr.do(presence.Site, drop("u", "b.1")) },
		func() { tr.do(presence.Site, drop("u", "b.1"), signOff("u")) },
		func() {
			tr.advance(ttl - slack)
			tr.do(presence.Site, beat("u", "a.1"))
			tr.pass(2 * slack)
		},
	} {
		tr.do(presence.Site, idly(join("u", "a.1")), join("u", "b.1"))
		tr.wantIdle(presence.Site, "")
		end()
		tr.wantIdle(presence.Site, "u")
		tr.do(presence.Site, drop("u", "a.1"))
		site.wantsDiffs("+u", "~u", "-u")
	}
}

func idleTopics(tr *trial) {
	tr.do(presence.Site, join("u", "a.1"))
	tr.do("thread:1", join("u", "a.1"))
	tr.do(presence.Site, idly(keep("u", "a.1")))
	tr.wantIdle(presence.Site, "u")
	tr.wantIdle("thread:1", "")
}

// Rules 2 and 6: nothing is told of an invisible user.
func idleHidden(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(invisible("u"), "a.1"))
	tr.do(presence.Site, idly(keep("u", "a.1")))
	site.wantsDiffs()
	tr.do(presence.Site, status("u", presence.Online))
	tr.wantIdle(presence.Site, "u")
	tr.do(presence.Site, status("u", presence.Invisible))
	tr.do(presence.Site, keep("u", "a.1"))
	tr.do(presence.Site, status("u", presence.Online))
	tr.wantIdle(presence.Site, "")
	site.wantsDiffs("+u", "-u", "+u")
}

// Rules 5, 6 and 9.
func idleProof(tr *trial) {
	tr.keep.Active = true
	first := tr.startMinute()
	tr.do(presence.Site, lasting(join("u", "a.1"), day))
	tr.startMinute()
	at := tr.now()
	tr.do(presence.Site, lasting(idly(keep("u", "a.1")), day))
	tr.wantMinute("u", first)
	tr.wantRecent(presence.Site, 0, 0)
	tr.do(presence.Site, drop("u", "a.1"))
	tr.wantSeen(presence.Site, "u", at)
}
