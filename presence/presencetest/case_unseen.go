package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func unseenCases() []ruleCase {
	return []ruleCase{
		{"rule 5", "an unseen user is there as any other", unseenIsThere},
		{"rule 5", "an unseen user leaves without last seen", unseenLeaves},
		{"rule 5", "many leave together, some of them unseen", unseenAmongMany},
		{"rule 5", "a last seen from before is forgotten", unseenForgets},
		{"rule 5", "turning invisible- is a leave without last seen", unseenTurnsInvisible},
		{"rule 5", "invisible- is as hidden as invisible", unseenInvisible},
		{"rule 5", "an unseen user is in no list of names", unseenNames},
		{"rule 5", "turning seen is a proof of life", seenFromNowOn},
		{"rule 5", "turning seen is an activity", seenIsNamed},
	}
}

// The statuses of unseen users.
const (
	unseenOnline presence.Status = "online-"
	unseenBusy   presence.Status = "busy-"
	unseenIdle   presence.Status = "idle-"
	hiddenUnseen presence.Status = "invisible-"
)

func having(id presence.UserID, s presence.Status) presence.User {
	u := named(id)
	u.Status = s
	return u
}

// wantUnseen checks that no last seen is kept of users who are gone.
func (tr *trial) wantUnseen(ids ...presence.UserID) {
	tr.Helper()
	for _, id := range ids {
		if s := tr.sighting(presence.Site, id); s.Online || !s.LastSeen.IsZero() {
			tr.Errorf("the sighting of %q is %+v, want none (rule 5)", id, s)
		}
	}
}

// Rule 5: roster, total, recent number and record are as without the "-". A profile
// without a status keeps the whole status.
func unseenIsThere(tr *trial) {
	tr.keep.Peak = true
	site := tr.follow(presence.Site)
	at := tr.now()
	tr.do(presence.Site, joinAs(having("u", unseenOnline), "a.1"), seenAs(having("v", unseenBusy)), guest("g"))
	site.wantsDiffs("+u +v")
	tr.wantOnline(presence.Site, "u v")
	tr.wantRecent(presence.Site, 1, 1)
	tr.wantPeak(presence.Site, 2, at)
	tr.do(presence.Site, joinAs(presence.User{ID: "u", Name: "Another"}, "a.1"), join("u", "a.2"))
	tr.do(presence.Site, status("v", unseenIdle))
	site.wants("~v")
	for id, want := range map[presence.UserID]presence.Status{"u": unseenOnline, "v": unseenIdle} {
		if m, s := tr.read(presence.Site).members[id], tr.sighting(presence.Site, id); m.Status != want || s.Status != want || !s.Online {
			tr.Errorf("%q is %+v with the sighting %+v, want %q in both", id, m, s, want)
		}
	}
}

// Rule 5: in whatever way a user leaves.
func unseenLeaves(tr *trial) {
	site := tr.follow(presence.Site)
	for name, leave := range map[string]func(){
		"drop":     func() { tr.do(presence.Site, drop("u", "a.1")) },
		"release":  func() { tr.do(presence.Site, release("u", "a.1")); tr.pass(grace + slack) },
		"lapse":    func() { tr.pass(ttl + slack) },
		"sign-out": func() { tr.do(presence.Site, signOut("u")) },
		"sign-off": func() { tr.do(presence.Site, drop("u", "a.1"), signOff("u")) },
		"lapse of several": func() {
			tr.do(presence.Site, join("u", "a.2"), lasting(seen("u"), ttl))
			tr.pass(ttl + slack)
		},
		"lapse after a release": func() {
			tr.do(presence.Site, join("u", "a.2"), beat("u", "a.1"))
			tr.do(presence.Site, release("u", "a.2"))
			tr.pass(ttl + slack)
		},
		"lapse seen by an operation": func() {
			tr.advance(ttl + slack)
			tr.do(presence.Site, drop("u", "a.1"))
		},
		"another profile in the same step": func() {
			tr.do(presence.Site, joinAs(presence.User{ID: "u", Name: "Another"}, "a.1"), drop("u", "a.1"))
		},
	} {
		tr.do(presence.Site, joinAs(having("u", unseenOnline), "a.1"))
		leave()
		if diffs := site.read(); len(diffs) != 2 || len(diffs[1].Leaves) != 1 || !diffs[1].Leaves[0].LastSeen.IsZero() {
			tr.Fatalf("%s: got diffs %+v, want a join, and a leave without last seen", name, diffs)
		}
		tr.wantUnseen("u")
	}
}

// Rule 5: each leave of a sweep is for itself, whoever else leaves.
func unseenAmongMany(tr *trial) {
	tr.keep.Names = 100
	site := tr.follow(presence.Site)
	joined := tr.now()
	var ops []backend.Op
	for i := range 40 {
		u := named(ghost(i))
		if i%3 == 0 {
			u.Status = unseenOnline
		}
		ops = append(ops, joinAs(u, ghostHolder(i)))
	}
	tr.do(presence.Site, ops...)
	site.read()
	tr.pass(ttl + slack)
	left := make(map[presence.UserID]time.Time)
	for _, d := range site.read() {
		for _, l := range d.Leaves {
			left[l.ID] = l.LastSeen
		}
	}
	named := make(map[presence.UserID]bool)
	for _, u := range tr.names(presence.Site, backend.MaxWithin) {
		named[u.ID] = true
	}
	for i := range 40 {
		id, unseen := ghost(i), i%3 == 0
		kept, told := tr.sighting(presence.Site, id).LastSeen, left[id]
		if unseen && !(kept.IsZero() && told.IsZero()) || !unseen && !(about(kept, joined) && about(told, joined)) || named[id] == unseen {
			tr.Errorf("%q, unseen: %v: kept %v, told %v, named %v", id, unseen, kept, told, named[id])
		}
	}
}

// Rule 5: the store forgets when a user was last seen once the user joins, views a page or changes
// the settings so that nobody may see it. An invisible user's last seen is forgotten too.
func unseenForgets(tr *trial) {
	for _, unseen := range [][]backend.Op{
		{joinAs(having("u", unseenOnline), "a.2")},
		{seenAs(having("u", hiddenUnseen))},
		{joinAs(invisible("u"), "a.2"), status("u", hiddenUnseen)},
	} {
		tr.do(presence.Site, joinAs(having("u", presence.Online), "a.1"))
		tr.do(presence.Site, drop("u", "a.1"))
		if tr.sighting(presence.Site, "u").LastSeen.IsZero() {
			tr.Fatal("a seen user left, and has no last seen")
		}
		tr.do(presence.Site, unseen...)
		tr.do(presence.Site, signOut("u"))
		tr.wantUnseen("u")
	}
}

// Rule 5: a user of whom everybody could see the last seen turns invisible, and is forgotten too.
func unseenTurnsInvisible(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), joinAs(having("v", unseenOnline), "a.2"))
	tr.do(presence.Site, status("u", hiddenUnseen), status("v", hiddenUnseen))
	site.wantsDiffs("+u +v", "_u _v")
	tr.wantUnseen("u", "v")
	tr.do(presence.Site, beat("u", "a.1"), joinAs(having("v", hiddenUnseen), "a.3"))
	tr.do(presence.Site, status("u", presence.Online), status("v", unseenBusy))
	site.wantsDiffs("+u +v")
	tr.do(presence.Site, status("u", presence.Invisible), signOut("v"))
	site.wantsDiffs("-u _v")
	tr.wantUnseen("v")
}

// Rules 2 and 5: no diff, count or sighting, and no recent user.
func unseenInvisible(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(having("u", hiddenUnseen), "a.1"), seenAs(having("v", hiddenUnseen)))
	tr.do(presence.Site, join("u", "a.2"), seen("u"), seenAs(presence.User{ID: "v", Name: "Another"}))
	tr.wantOnline(presence.Site, "")
	tr.wantRecent(presence.Site, 0, 0)
	tr.wantUnseen("u", "v")
	tr.do(presence.Site, status("u", presence.Invisible), release("u", "a.1"), drop("u", "a.2"))
	tr.pass(period + slack)
	tr.wantUnseen("u", "v")
	site.wantsDiffs()
}

// Rules 5 and 9: neither while online nor afterwards. The recent number has the user.
func unseenNames(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, seen("u"), seenAs(having("v", unseenOnline)), join("w", "a.1"))
	tr.wantRecent(presence.Site, 2, 0)
	tr.wantNames(presence.Site, backend.MaxWithin, "+u +w")
	tr.do(presence.Site, status("w", unseenOnline))
	tr.wantNames(presence.Site, backend.MaxWithin, "+u")
	tr.do(presence.Site, seen("v"), drop("w", "a.1"))
	tr.wantNames(presence.Site, backend.MaxWithin, "+u")
	tr.pass(period + slack)
	tr.wantNames(presence.Site, backend.MaxWithin, "u")
	tr.do(presence.Site, seenAs(having("v", presence.Online)))
	tr.wantNames(presence.Site, backend.MaxWithin, "+v u")
}

// Rules 5 and 9: also the only user of a topic, who leaves by a sweep.
func seenIsNamed(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, join("v", "a.1"), joinAs(having("u", unseenOnline), "a.2"))
	tr.advance(2 * slack)
	turned := tr.now()
	tr.do(presence.Site, status("u", presence.Away), status("v", presence.Invisible))
	tr.wantNames(presence.Site, backend.MaxWithin, "+u v")
	tr.wantActive(presence.Site, "u", turned)
	tr.pass(ttl + slack)
	tr.wantNames(presence.Site, backend.MaxWithin, "u v")
	tr.wantActive(presence.Site, "u", turned)
}

// Rule 5: nothing is told of the time before.
func seenFromNowOn(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(having("u", unseenOnline), "a.1"), joinAs(having("v", hiddenUnseen), "a.2"))
	tr.advance(ttl - 2*slack)
	turned := tr.now()
	tr.do(presence.Site, status("u", presence.Online))
	tr.do(presence.Site, update(having("v", presence.Busy)))
	tr.advance(4 * slack)
	tr.sweep()
	site.wants("+u ~u -u +v -v")
	tr.wantSeen(presence.Site, "u", turned)
	tr.wantSeen(presence.Site, "v", turned)
}
