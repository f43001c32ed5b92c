package presencetest

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func mergeCases() []ruleCase {
	return []ruleCase{
		{"rule 3", "the word with the greatest revision counts", greatestWord},
		{"rule 3", "a later word of an older page", olderPage},
		{"rule 3", "the words of a later generation count", greatestGeneration},
		{"rule 3", "what comes after a sign-out and was before it holds nobody", lateJoin},
		{"rule 3", "the example of the rule", signsOutTwice},
		{"rule 3", "what is remembered of somebody who left shows nowhere", memoryHides},
		{"rule 3", "what is remembered is forgotten after ten seconds", memoryEnds},
		{"rule 3", "a revision is exact", exactRevision},
	}
}

// Rule 3: an older word changes nothing of the connection, in the same step too. It is a page that joined, all the same.
func greatestWord(tr *trial) {
	site := tr.follow(presence.Site)
	word := func(op backend.Op, rev int64, pages int) backend.Op { return revised(paged(op, pages), rev) }
	pages := func(want int) {
		tr.Helper()
		if s := tr.sighting(presence.Site, "u"); s.Pages != want {
			tr.Errorf("got %+v, want %d pages (rule 3)", s, want)
		}
	}
	tr.do(presence.Site, word(join("u", "a.1"), 5, 5), word(join("u", "b.1"), 1, 10))
	tr.do(presence.Site, word(lasting(idly(join("u", "a.1")), time.Hour), 4, 4), word(keep("u", "a.1"), 3, 3), revised(drop("u", "a.1"), 2))
	pages(15)
	tr.wantIdle(presence.Site, "")
	tr.do(presence.Site, word(join("u", "a.1"), 5, 6), revised(drop("u", "b.1"), 7), word(join("u", "b.1"), 6, 1))
	pages(6)
	tr.do(presence.Site, revised(drop("u", "a.1"), 8))
	tr.unknown([]int{1, 2}, presence.Site, word(join("u", "a.1"), 7, 7), word(keep("u", "b.1"), 6, 1), beat("u", "a.1"))
	site.wantsDiffs("+u", "-u")
	tr.do(presence.Site, seen("u"))
	tr.do(presence.Site, word(join("u", "a.1"), 7, 7))
	site.wantsDiffs("+u", "-u")
	tr.do(presence.Site, revised(release("u", "a.1"), 6), word(join("u", "a.1"), 9, 2))
	tr.wantHeld("u", "a.1", presence.HolderGrace)
}

// Rule 3: the page closes that joined after a sign-out, and one of before it is left. Nothing has proved that the user lives, so
// the leave is of now.
func olderPage(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, past(signOut("u"), slack))
	tr.do(presence.Site, revised(join("u", "a.1"), 3))
	older := revised(keep("u", "a.1"), 5)
	older.Joined = 2 * slack
	tr.unknown([]int{0}, presence.Site, older)
	site.wantsDiffs("+u", "-u")
	tr.wantSeen(presence.Site, "u", tr.now())
}

// Rules 3 and 7: its revisions begin anew.
func greatestGeneration(tr *trial) {
	word := func(op backend.Op, gen int32, rev int64) backend.Op {
		op.Gen = gen
		return revised(op, rev)
	}
	tr.do(presence.Site, word(paged(join("u", "a.1"), 1), 1, 7), word(join("v", "a.2"), 1, 7))
	tr.do(presence.Site, word(paged(join("u", "a.1"), 2), 2, 1), word(paged(join("u", "a.1"), 3), 1, 8), word(drop("v", "a.2"), 2, 1))
	tr.do(presence.Site, word(drop("u", "a.1"), 1, 9), word(join("v", "a.2"), 1, 9))
	tr.wantOnline(presence.Site, "u")
	if s := tr.sighting(presence.Site, "u"); s.Pages != 2 {
		tr.Errorf("got %+v, want 2 pages (rule 3)", s)
	}
	tr.do(presence.Site, word(drop("u", "a.1"), 2, 1), word(join("v", "a.2"), 3, 0))
	tr.wantOnline(presence.Site, "v")
}

// Rule 3: for as long as the topic remembers it. The profile and the moment of the join count no less.
func lateJoin(tr *trial) {
	site := tr.follow(presence.Site)
	late := func(op backend.Op) backend.Op { return past(lasting(op, ttl), slack) }
	tr.do(presence.Site, revised(join("u", "a.1"), 5), signOut("v"), signOff("w"))
	tr.do(presence.Site, signOut("u"))
	site.wantsDiffs("+u", "-u")
	for range 2 {
		tr.unknown([]int{1}, presence.Site, late(join("u", "a.2")), late(keep("u", "a.3")), late(seen("u")), late(join("v", "a.1")), late(seen("w")))
		tr.do(presence.Site, release("u", "a.2"), past(signOut("u"), slack))
	}
	site.wantsDiffs()
	tr.wantOnline(presence.Site, "")
	tr.unknown([]int{0}, presence.Site, revised(keep("u", "a.1"), 4))
	tr.do(presence.Site, late(join("w", "a.1")), join("u", "a.4"), seen("v"))
	tr.wantHeld("w", "a.1")
	tr.wantHeld("u", "a.4")
	tr.wantHeld("v", presence.HolderWeb)
}

// Rule 3: whichever node is first. What node c has is of the page from before.
func signsOutTwice(tr *trial) {
	ago := func(op backend.Op, n int) backend.Op { return past(op, time.Duration(n)*time.Second) }
	a, b, c := ago(signOut("alice"), 2), ago(join("alice", "b.1"), 1), ago(join("alice", "c.1"), 3)
	for i, ops := range [][]backend.Op{{a, b, c}, {b, a, c}, {b, c, a}, {c, b, a}} {
		topic := presence.Topic([]string{"thread:1", "thread:2", "thread:3", "thread:4"}[i])
		for _, op := range ops {
			tr.check(tr.store.Apply(tr.ctx, batch(topic, op)), nil)
		}
		if s := tr.sighting(topic, "alice"); !slices.Equal(s.Holders, []presence.Holder{"b.1"}) {
			tr.Errorf("after %s she is held by %q, want node b alone (rule 3)", describe([][]backend.Op{ops}), s.Holders)
		}
	}
}

// Rules 3 and 10: a user who is remembered is in no list, figure or export, while other users are there and after them. Who hid or never came is remembered
// too. An erasure forgets that.
func memoryHides(tr *trial) {
	tr.keep = presence.Keep{Peak: true}
	nobody := tr.export("u")
	ends := []backend.Op{drop("u", "a.1"), release("u", "b.1"), signOff("u"), status("u", presence.Busy), signOut("u"), past(join("u", "a.2"), slack), past(seen("u"), slack)}
	tr.do(presence.Site, ends...)
	tr.do("thread:1", joinAs(invisible("u"), "a.1"))
	tr.do("thread:1", signOut("u"))
	for _, topic := range []presence.Topic{presence.Site, "thread:1"} {
		tr.wantOnline(topic, "")
		if s := tr.sighting(topic, "u"); !nothing(s) {
			tr.Errorf("the sighting is %+v, want none (rule 3)", s)
		}
		if users, err := tr.store.Inspect(tr.ctx, topic, "", 10); err != nil || len(users) > 0 {
			tr.Errorf("got %+v, %v, want nobody (rule 3)", users, err)
		}
		if c := tr.counts(topic); c.Total != 0 || tr.counts(topic).Peak.Total != 0 {
			tr.Errorf("the figures are %+v, want none (rule 3)", c)
		}
	}
	for part, is := range tr.export("u") {
		if is != nobody[part] {
			tr.Errorf("the export of %s is %s, want %s (rule 3)", part, is, nobody[part])
		}
	}
	tr.do(presence.Site, join("v", "a.1"))
	tr.wantOnline(presence.Site, "v")
	if got := len(tr.inspect("", 10)); got != 1 {
		tr.Errorf("got %d users, want v alone (rule 3)", got)
	}
	tr.erase("u", 0)
	tr.do(presence.Site, past(join("u", "a.2"), slack))
	tr.wantHeld("u", "a.2")
}

// Rules 3 and 10: a sweep ends what is remembered, whether the user was there for long or not at all. The ended connections of a
// user who is there stay known. A topic of which nothing else is left goes then.
func memoryEnds(tr *trial) {
	late := func(id presence.UserID, h presence.Holder, rev int64) backend.Op {
		return past(revised(lasting(join(id, h), day), rev), period)
	}
	tr.do(presence.Site, revised(join("u", "a.1"), 5), lasting(revised(join("v", "a.1"), 5), day), lasting(join("v", "b.1"), day))
	tr.do(presence.Site, revised(drop("u", "a.1"), 6), revised(drop("v", "a.1"), 6), signOut("w"))
	tr.do("thread:1", signOut("u"), status("v", presence.Away), release("w", "a.1"))
	tr.pass(memory - slack)
	tr.do(presence.Site, late("u", "a.1", 5), late("v", "a.1", 5), late("w", "a.1", 5))
	tr.wantOnline(presence.Site, "v")
	tr.wantHeld("v", "b.1")
	tr.pass(memory - slack)
	tr.do(presence.Site, late("w", "a.1", 5)) // of which the sign-out was remembered anew
	tr.wantOnline(presence.Site, "v")
	tr.pass(memory + slack)
	tr.do(presence.Site, late("u", "a.1", 4), late("v", "a.1", 4), late("w", "a.1", 4))
	tr.wantHeld("u", "a.1")
	tr.wantHeld("v", "b.1")
	tr.wantHeld("w", "a.1")
	for range 3 {
		tr.turn()
		tr.sweep()
	}
	tr.wantTopics(presence.Site)
}

// Rule 3: a float may not round it.
func exactRevision(tr *trial) {
	const rev = 1_795_947_320_000_001 // microseconds
	for i := range int64(5) {
		tr.do(presence.Site, paged(revised(join("u", "a.1"), rev+i), int(i)))
		tr.do(presence.Site, paged(revised(join("u", "a.1"), rev+i-1), 100))
		if s := tr.sighting(presence.Site, "u"); s.Pages != int(i) {
			tr.Errorf("got %+v, want %d pages (rule 3)", s, i)
		}
	}
}
