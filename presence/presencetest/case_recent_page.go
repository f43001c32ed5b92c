package presencetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func recentPageCases() []ruleCase {
	return []ruleCase{
		{"rule 9", "pages hold each user once, whatever happens between them", stablePages},
		{"rule 9", "a page that cannot be read is told", unreadablePage},
		{"rule 9", "a page has one to a thousand users", pageLimit},
		{"rule 9", "without a time the page is of both periods", recentPeriods},
		{"rule 9", "with a time the page reaches back so far", recentWithin},
		{"rule 9", "names are remembered for MaxWithin", namesForADay},
		{"rule 9", "who is asked for by the id is as on the pages", rememberedByID},
		{"rule 9", "a user id of any kind", recentHostile},
	}
}

// views returns page views of users from one number to another.
func views(from, to int) (ops []backend.Op) {
	for i := from; i < to; i++ {
		ops = append(ops, seen(ghost(i)))
	}
	return ops
}

// Rule 9: users who are active between two pages move to the front, and push nobody onto
// the next page. The user at whom a page begins may be gone.
func stablePages(tr *trial) {
	tr.keep = presence.Keep{Names: 100, ForgetSignedOut: true}
	tr.do(presence.Site, views(10, 20)...)
	tr.advance(slack)
	tr.do(presence.Site, views(0, 10)...)
	for _, within := range []time.Duration{0, day} {
		var got []presence.UserID
		q := backend.RecentQuery{Within: within, Limit: 4}
		for n := 0; ; n++ {
			p := tr.page(presence.Site, q)
			for _, u := range p.Users {
				got = append(got, u.ID)
			}
			if p.Next == "" {
				break
			}
			q.After = p.Next
			if n == 1 { // the two pages end at number 7
				tr.advance(slack)
				tr.do(presence.Site, views(30, 33)...)
				tr.do(presence.Site, seen(ghost(2)))
				tr.do(presence.Site, signOut(ghost(7)))
			}
		}
		var want []presence.UserID
		for i := range 20 {
			want = append(want, ghost(i))
		}
		if !slices.Equal(got, want) {
			tr.Errorf("within %v the pages have %q, want %q", within, got, want)
		}
		tr.do(presence.Site, signOut(ghost(30)), signOut(ghost(31)), signOut(ghost(32)))
		tr.advance(slack)
		tr.do(presence.Site, views(0, 10)...)
	}
}

// ErrInvalidPage, and no panic, for what a visitor may have sent.
func unreadablePage(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, views(0, 3)...)
	for _, after := range []string{"?", " ", "...", "\x00", "no page", "é", "\xff", strings.Repeat("9", 10_000), strings.Repeat(" ", 10_000)} {
		for _, topic := range []presence.Topic{presence.Site, "thread:unknown"} {
			p, err := tr.store.Recent(tr.ctx, topic, backend.RecentQuery{After: after, Limit: 10})
			if !errors.Is(err, presence.ErrInvalidPage) || len(p.Users) != 0 {
				tr.Errorf("%s: the page after %.20q: got %d users and error %v, want ErrInvalidPage", topic, after, len(p.Users), err)
			}
		}
	}
	if err := tr.store.Apply(tr.ctx, tr.batch(presence.Site, seen("u")))[0].Err; err != nil {
		tr.Errorf("afterwards: %v", err)
	}
}

// A limit beyond the bounds is taken as the nearest.
func pageLimit(tr *trial) {
	const all = 1020
	tr.keep.Names = 2000
	for i := 0; i < all; i += 255 {
		tr.do(presence.Site, views(i, i+255)...)
	}
	for limit, want := range map[int]int{-1: 1, 0: 1, 1: 1, 1000: 1000, 1001: 1000, 1 << 30: 1000} {
		for _, within := range []time.Duration{0, day} {
			p := tr.page(presence.Site, backend.RecentQuery{Limit: limit, Within: within})
			if len(p.Users) != want || p.Total != all || p.Next == "" {
				tr.Errorf("limit %d, within %v: got %d users of %d and next %q, want %d of %d and a next page",
					limit, within, len(p.Users), p.Total, p.Next, want, all)
			}
		}
	}
	if p, err := readRecent(tr.ctx, tr.store, presence.Site, backend.RecentQuery{Limit: 1000}); err != nil || len(p.Users) != all {
		tr.Errorf("in pages of 1000: got %d users and error %v, want %d", len(p.Users), err, all)
	}
}

// Rules 8 and 9: the names are of the users whom Counts has as recent. The total also
// counts those whose name the bound evicted.
func recentPeriods(tr *trial) {
	tr.keep.Names = 3
	total := func(want int) {
		tr.Helper()
		p := tr.page(presence.Site, backend.RecentQuery{Limit: 10, Within: -1})
		if c := tr.counts(presence.Site); p.Total != want || c.Recent != want {
			tr.Errorf("the total is %d, recent are %d, want %d", p.Total, c.Recent, want)
		}
	}
	tr.do(presence.Site, lasting(seen("u"), 3*period), seen("v"), lasting(join("stream", "a.1"), 3*period))
	tr.wantNames(presence.Site, 0, "+u +v")
	total(2)
	tr.turn()
	tr.sweep()
	tr.wantNames(presence.Site, 0, "+u v")
	tr.do(presence.Site, lasting(seen("u"), 3*period), seen("w"))
	tr.do(presence.Site, drop("stream", "a.1"))
	tr.wantNames(presence.Site, day, "stream +u +w")
	tr.wantNames(presence.Site, 0, "+u +w")
	total(3)
	tr.turn()
	tr.sweep()
	tr.wantNames(presence.Site, 0, "+u w")
	total(2)
	tr.turn()
	tr.wantNames(presence.Site, 0, "")
	total(0)
}

// Rule 9: by the latest activity of each user, at most MaxWithin ago.
func recentWithin(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, lasting(join("u", "a.1"), 3*day))
	tr.advance(slack)
	for _, id := range []presence.UserID{"v", "w", "x"} {
		tr.do(presence.Site, join(id, "b.1"))
		tr.do(presence.Site, drop(id, "b.1"))
		tr.advance(time.Hour)
	}
	for within, want := range map[time.Duration]string{
		time.Hour + slack: "x", 2*time.Hour + slack: "x w", 2*time.Hour - slack: "x", time.Second: "", day: "x w v +u", 100 * day: "x w v +u",
	} {
		tr.wantNames(presence.Site, within, want)
		if p := tr.page(presence.Site, backend.RecentQuery{Within: within, Limit: 1}); p.Total != len(strings.Fields(want)) {
			tr.Errorf("within %v the total is %d, want those of %q", within, p.Total, want)
		}
	}
	tr.do(presence.Site, seen("v"))
	tr.wantNames(presence.Site, time.Minute, "+v")
}

// Rules 9 and 10: after MaxWithin a user is in no page. One who was online all the time
// comes in at the leave.
func namesForADay(tr *trial) {
	tr.keep.Names = 10
	tr.do(presence.Site, seen("u"), lasting(join("stays", "a.1"), 2*day))
	tr.advance(slack)
	tr.do(presence.Site, signOut("u"))
	tr.pass(day - time.Minute)
	tr.age()
	tr.wantNames(presence.Site, 100*day, "u +stays")
	tr.advance(time.Minute + slack)
	for range 2 {
		tr.wantNames(presence.Site, 100*day, "")
		tr.age()
	}
	tr.do(presence.Site, drop("stays", "a.1"))
	tr.do(presence.Site, seen("v"))
	if got := tr.names(presence.Site, day); len(got) == 0 || got[0].ID != "v" {
		tr.Errorf("recent are %q, want v first", nameWords(got))
	}
	tr.do(presence.Site, lasting(join("stays", "a.1"), 2*day))
	tr.pass(day + slack)
	tr.do(presence.Site, signOut("stays"))
	tr.wantNames(presence.Site, day, "stays")
}

// Pages go on after a user with any bytes in the ID.
func recentHostile(tr *trial) {
	tr.keep.Names = 100
	ids := []presence.UserID{"__proto__", "a.b", "a:b", "a b", "é\u2028", "\"'<>\\&", "0", presence.UserID(strings.Repeat("x", presence.MaxUserIDLen)), "web", "~", "{1}"}
	var ops []backend.Op
	for _, id := range ids {
		ops = append(ops, seen(id))
	}
	tr.do(presence.Site, ops...)
	slices.Sort(ids)
	for _, within := range []time.Duration{0, day} {
		p, err := readRecent(tr.ctx, tr.store, presence.Site, backend.RecentQuery{Limit: 1, Within: within})
		var got []presence.UserID
		for _, u := range p.Users {
			got = append(got, u.ID)
		}
		if err != nil || !slices.Equal(got, ids) {
			tr.Errorf("one by one: got %q and error %v, want %q", got, err, ids)
		}
	}
}

// Rule 9: users online and gone, invisible and unseen ones, and those whom a sign-out, the bound
// or the time removed; more users than one query may name.
func rememberedByID(tr *trial) {
	check := func(others ...presence.UserID) {
		tr.Helper()
		if err := checkRemembered(tr.ctx, tr.peer, presence.Site, tr.names(presence.Site, day), others...); err != nil {
			tr.Error(err)
		}
	}
	check("u")
	tr.keep = presence.Keep{Names: 3, ForgetSignedOut: true}
	tr.do(presence.Site, joinAs(full("u"), "a.1"), join("v", "b.1"), seen("w"))
	check()
	tr.advance(slack)
	tr.do(presence.Site, drop("u", "a.1"), status("v", presence.Invisible), status("w", presence.Away))
	check()
	tr.advance(slack)
	tr.do(presence.Site, seen("v"), update(presence.User{ID: "v", Name: "Another"}), joinAs(invisible("x"), "c.1"))
	if got := len(tr.names(presence.Site, day)); got != 3 {
		tr.Fatalf("got %d names, want u, v and w", got)
	}
	check("x")
	tr.do(presence.Site, status("w", presence.Online+"-"))
	check("w")
	tr.do(presence.Site, signOut("u"))
	tr.wantNames(presence.Site, day, "v")
	check("u", "w")
	tr.advance(slack)
	for i := range 4 {
		tr.do(presence.Site, seen(ghost(i)))
		tr.advance(slack)
	}
	check("v", ghost(0))
	tr.pass(day - period)
	tr.do(presence.Site, seen("y"))
	tr.advance(2 * period)
	check(ghost(2), ghost(3))

	tr.keep.Names = 1_500
	var ops []backend.Op
	for i := range 1_200 {
		ops = append(ops, seen(ghost(i)))
	}
	for some := range slices.Chunk(ops, 200) {
		tr.do(presence.Site, some...)
	}
	check("v")
}
