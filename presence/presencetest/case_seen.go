package presencetest

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func seenCases() []ruleCase {
	return []ruleCase{
		{"rule 5", "last seen is the last proof of life", proofOfLife},
		{"rule 5", "a heartbeat for less tells of an earlier proof", earlierProof},
		{"rule 5", "a lease is as long as its latest word says", madeProof},
		{"rule 5", "a page view that is written late counts from when it was viewed", lateView},
		{"rule 5", "a release that is written late counts from when the page closed", lateRelease},
		{"rule 5", "other operations do not move it", noProof},
		{"rule 5", "it is kept for users who left, and new at each leave", seenAgain},
		{"rule 5", "it is trimmed by age", trimByAge},
		{"rule 5", "it is trimmed by number", trimByNumber},
		{"rule 5", "sightings answer in the order asked", sightingsInOrder},
		{"rule 1", "a sighting names what holds a user who is online", sightingHolders},
	}
}

// wantSeen checks when a user who left was last seen.
func (tr *trial) wantSeen(topic presence.Topic, id presence.UserID, want time.Time) {
	tr.Helper()
	got := tr.sighting(topic, id)
	if late := got.LastSeen.Sub(want); got.Online || late.Abs() > slack {
		tr.Errorf("%s: %q was last seen %v, want %v (%v late; online %v)", topic, id, got.LastSeen, want, late, got.Online)
	}
}

// Rule 5: a join, a page view, a heartbeat, a release, a sign-out; never the
// sweep. The diff says the same as the sighting.
func proofOfLife(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("beats", "a.1"), join("views", "a.2"), join("joins", "a.3"), join("closes", "a.4"),
		join("signs-out", "a.5"))
	tr.advance(ttl - slack)
	proof := tr.now()
	tr.do(presence.Site, beat("beats", "a.1"), lasting(seen("views"), ttl), join("joins", "b.3"), release("closes", "a.4"),
		signOut("signs-out"))
	tr.pass(ttl + slack)
	site.wants("+beats -beats +closes -closes +joins -joins +signs-out -signs-out +views -views")
	for _, id := range []presence.UserID{"beats", "views", "joins", "closes", "signs-out"} {
		tr.wantSeen(presence.Site, id, proof)
		if in := tr.sighting(presence.Site, id).LastSeen; !sameTime(site.roster.left[id], in) {
			tr.Errorf("%q: the diff says last seen %v, the sighting %v", id, site.roster.left[id], in)
		}
	}
}

// Rule 5: as since, minute, name and last seen, whoever comes late. What is later stays, and so does what a
// later page view holds.
func lateView(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Active: true}
	site := tr.follow(presence.Site)
	viewed := tr.now()
	tr.do(presence.Site, lasting(seen("again"), period))
	tr.advance(period - 2*ttl)
	now := tr.now()
	late := func(id presence.UserID) backend.Op {
		return past(lasting(seen(id), 2*ttl), period-2*ttl)
	}
	tr.do(presence.Site, seen("later"))
	tr.do(presence.Site, late("late"), late("later"), late("again"), late("joins"), join("joins", "a.1"))
	for id, at := range map[presence.UserID]time.Time{"late": viewed, "again": viewed, "later": now, "joins": now} {
		m := tr.read(presence.Site).members[id]
		if m.Since.Sub(at).Abs() > slack || !m.Active.Equal(at.Truncate(time.Minute)) {
			tr.Errorf("%s: got since %v and minute %v, want of %v (rules 5 and 9)", id, m.Since, m.Active, at)
		}
		if p, err := tr.store.Recent(tr.Context(), presence.Site, backend.RecentQuery{Users: []presence.UserID{id}}); err != nil || p.Users[0].Active.Sub(at).Abs() > slack {
			tr.Errorf("%s: got the name %+v, %v, want the activity of %v (rule 9)", id, p.Users, err, at)
		}
	}
	tr.do(presence.Site, drop("joins", "a.1"))
	tr.pass(2*ttl + slack)
	site.wants("+again -again +joins -joins +late -late +later")
	tr.wantSeen(presence.Site, "late", viewed)
	tr.wantSeen(presence.Site, "again", viewed)
	tr.pass(period - 2*ttl)
	tr.wantSeen(presence.Site, "later", now)
}

// Rule 5: of a heartbeat alone. A word says how long its own lease is.
func earlierProof(tr *trial) {
	const less = 4 * slack
	tr.do(presence.Site, join("keeps", "a.1"), join("beats", "a.3"), join("beats-alone", "a.4"))
	tr.advance(ttl - 2*slack)
	now := tr.now()
	tr.do(presence.Site, lasting(keep("keeps", "a.1"), less), lasting(beat("beats", "a.3"), less))
	tr.do(presence.Site, lasting(beat("beats-alone", "a.4"), less))
	tr.pass(less + slack)
	tr.wantSeen(presence.Site, "keeps", now)
	tr.wantSeen(presence.Site, "beats", now.Add(less-ttl))
	tr.wantSeen(presence.Site, "beats-alone", now.Add(less-ttl))
}

// Rule 5: the latest word counts. It may be written late.
func madeProof(tr *trial) {
	const less = 4 * slack
	alive := func(op backend.Op, ago time.Duration) backend.Op {
		op.For, op.Ago = op.For-ago, ago
		return op
	}
	tr.do(presence.Site, join("once", "b.1"), join("longer", "b.1"), join("late", "b.1"))
	tr.advance(2 * slack)
	once := tr.now()
	tr.do(presence.Site, lasting(keep("once", "a.1"), less), lasting(keep("longer", "a.1"), less), alive(join("late", "b.1"), 2*slack))
	tr.do(presence.Site, drop("once", "b.1"), drop("longer", "b.1"))
	tr.advance(2*slack + slack/2)
	longer := tr.now()
	tr.do(presence.Site, keep("longer", "a.1"))
	tr.pass(ttl + slack)
	tr.wantSeen(presence.Site, "once", once)
	tr.wantSeen(presence.Site, "longer", longer)
	tr.wantSeen(presence.Site, "late", once.Add(-2*slack))
}

// Rule 5: an update, a heartbeat of a lease that is gone, a sweep.
func noProof(tr *trial) {
	proof := tr.now()
	tr.do(presence.Site, join("updated", "a.2"), join("lapsed", "a.3"))
	tr.advance(ttl - 2*slack)
	tr.do(presence.Site, status("updated", presence.Away))
	tr.pass(4 * slack)
	tr.unknown([]int{0}, presence.Site, beat("lapsed", "a.3"))
	tr.pass(ttl)
	for _, id := range []presence.UserID{"updated", "lapsed"} {
		tr.wantSeen(presence.Site, id, proof)
	}
}

// Rule 5: last seen is known for users who left, in this topic alone; not for users who are
// online, nor for unknown ones.
func seenAgain(tr *trial) {
	if s := tr.sighting(presence.Site, "u"); !nothing(s) {
		tr.Errorf("sighting of a stranger is %+v, want none", s)
	}
	for range 3 {
		proof := tr.now()
		tr.do(presence.Site, join("u", "a.1"))
		tr.wantOnline(presence.Site, "u")
		tr.do(presence.Site, drop("u", "a.1"))
		tr.advance(period)
		tr.age()
		tr.wantSeen(presence.Site, "u", proof)
	}
	if s := tr.sighting("thread:1", "u"); !nothing(s) {
		tr.Errorf("sighting in another topic is %+v, want none", s)
	}
}

// Rule 5: Trim forgets older sightings in every topic. Users online are not affected.
func trimByAge(tr *trial) {
	const keep = 24 * time.Hour
	for _, topic := range []presence.Topic{presence.Site, "thread:1"} {
		tr.do(topic, join("old", "a.1"), lasting(join("stays", "a.2"), 30*keep))
		tr.do(topic, drop("old", "a.1"))
	}
	tr.advance(keep / 2)
	proof := tr.now()
	tr.do(presence.Site, join("new", "a.1"))
	tr.do(presence.Site, drop("new", "a.1"))
	tr.wantTrimmed(0, keep, 10)
	tr.advance(keep/2 + slack)
	tr.wantTrimmed(2, keep, 10)
	tr.wantTrimmed(0, keep, 10)
	if s := tr.sighting(presence.Site, "old"); !nothing(s) {
		tr.Errorf("sighting is %+v, want none: it was trimmed", s)
	}
	tr.wantSeen(presence.Site, "new", proof)
	tr.wantOnline(presence.Site, "stays")
}

func (tr *trial) wantTrimmed(want int, keep time.Duration, most int) {
	tr.Helper()
	got, err := tr.store.Trim(tr.ctx, keep, most)
	if err != nil || got != want {
		tr.Errorf("trim forgot %d, %v, want %d and no error", got, err, want)
	}
}

// Rule 5: each topic keeps its latest sightings.
func trimByNumber(tr *trial) {
	const left, most = 30, 10
	for i := range left {
		tr.do(presence.Site, join(ghost(i), "a.1"))
		tr.do(presence.Site, drop(ghost(i), "a.1"))
		tr.advance(time.Second)
	}
	tr.do("thread:1", join("u", "a.1"))
	tr.do("thread:1", drop("u", "a.1"))
	tr.wantTrimmed(left-most, 1000*time.Hour, most)
	for i := range left {
		if kept := !tr.sighting(presence.Site, ghost(i)).LastSeen.IsZero(); kept != (i >= left-most) {
			tr.Errorf("who left as number %d of %d: kept %v, want the last %d", i+1, left, kept, most)
		}
	}
	if tr.sighting("thread:1", "u").LastSeen.IsZero() {
		tr.Error("the latest of another topic was trimmed")
	}
}

// Each user gets an answer, also an unknown one, and one who is named twice.
func sightingsInOrder(tr *trial) {
	var ops, drops []backend.Op
	for i := range 50 {
		ops = append(ops, join(ghost(i), ghostHolder(i)))
		drops = append(drops, drop(ghost(2*i), ghostHolder(2*i)))
	}
	tr.do(presence.Site, ops...)
	tr.do(presence.Site, drops...)
	var asked []presence.UserID
	for i := range 60 {
		asked = append(asked, ghost(59-i), ghost(1))
	}
	got, err := tr.store.Sightings(tr.ctx, presence.Site, asked...)
	if err != nil || len(got) != len(asked) {
		tr.Fatalf("got %d sightings, %v, want %d and no error", len(got), err, len(asked))
	}
	for i, id := range asked {
		var n int
		if _, err := fmt.Sscanf(string(id), "ghost%d", &n); err != nil {
			tr.Fatal(err)
		}
		online, left := n < 50 && n%2 == 1, n < 50 && n%2 == 0
		if got[i].Online != online || got[i].LastSeen.IsZero() == left {
			tr.Errorf("%q: got %+v, want online %v, left %v", id, got[i], online, left)
		}
	}
	if got, err := tr.store.Sightings(tr.ctx, presence.Site); err != nil || len(got) != 0 {
		tr.Errorf("nobody asked: got %+v, %v, want none", got, err)
	}
}

// Rule 1: each lease of a user who is visible, until it ends. A user who is offline or
// invisible has none.
func sightingHolders(tr *trial) {
	want := func(want ...presence.Holder) {
		tr.Helper()
		tr.wantHeld("u", want...)
	}
	want()
	tr.do(presence.Site, past(join("u", "b.2"), time.Second), past(join("u", "a.1"), time.Second), seen("u"), join("v", "c.1"))
	want("a.1", "b.2", presence.HolderWeb)
	tr.do(presence.Site, release("u", "a.1"), beat("u", "b.2"))
	want("b.2", presence.HolderGrace, presence.HolderWeb)
	tr.do(presence.Site, status("u", presence.Invisible))
	want()
	tr.do(presence.Site, status("u", "online-"))
	want("b.2", presence.HolderGrace, presence.HolderWeb)
	tr.pass(ttl + slack)
	want(presence.HolderWeb)
	tr.do(presence.Site, signOut("u"))
	want()
	got, err := tr.store.Sightings(tr.ctx, presence.Site, "w", "v", "u", "v")
	if err != nil || len(got) != 4 {
		tr.Fatalf("got %+v, %v, want four sightings", got, err)
	}
	for i, s := range got {
		if len(s.Holders) > 0 {
			tr.Errorf("number %d is held by %q, want nobody: all have left", i, s.Holders)
		}
	}
}

// A page closed, or was last alive, some time before that is written, with a grace or without.
func lateRelease(tr *trial) {
	tr.do(presence.Site, lasting(join("u", "a.1"), time.Hour), lasting(join("v", "a.1"), time.Hour))
	tr.advance(4 * slack)
	closed := tr.now()
	tr.advance(2 * slack)
	tr.do(presence.Site, past(drop("u", "a.1"), 2*slack), past(lasting(release("v", "a.1"), slack), 2*slack))
	tr.wantOnline(presence.Site, "v")
	tr.pass(2 * slack)
	tr.wantSeen(presence.Site, "u", closed)
	tr.wantSeen(presence.Site, "v", closed)
}
