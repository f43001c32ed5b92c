package presencetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func rosterCases() []ruleCase {
	return []ruleCase{
		{"rule 1", "the pages of a roster have everybody who is online", rosterPages},
		{"rule 1", "who stays is on one of the pages while others come and go", rosterPagesMeanwhile},
		{"rule 3", "a page of a roster is of its version", rosterVersion},
		{"rule 3", "a roster tells when it was read, if it does, by the store's clock", rosterMoment},
		{"rule 2", "members answer in the order asked, and name no invisible user", membersInOrder},
	}
}

// pages reads a roster to its end, and returns how often each user was named. between is called
// with the users of each page that has another one behind it.
func (tr *trial) pages(topic presence.Topic, limit int, between func([]presence.Member)) map[presence.UserID]int {
	tr.Helper()
	named := make(map[presence.UserID]int)
	q := backend.RosterQuery{Limit: limit}
	for range 1000 {
		page, err := tr.store.Roster(tr.ctx, topic, q)
		if err != nil || len(page.Members) > limit {
			tr.Fatalf("got a page of %d, %v, want at most %d and no error", len(page.Members), err, limit)
		}
		for _, m := range page.Members {
			named[m.ID]++
		}
		if q.After = page.Next; q.After == "" {
			return named
		}
		between(page.Members)
	}
	tr.Fatal("the pages do not end")
	return nil
}

func rosterPages(tr *trial) {
	var ops []backend.Op
	for i := range 300 {
		ops = append(ops, join(ghost(i), ghostHolder(i)))
	}
	tr.do("thread:1", ops[:200]...)
	tr.do("thread:1", ops[200:]...)
	tr.do("thread:1", status(ghost(7), presence.Invisible), signOut(ghost(8)))
	tr.do("thread:2", join("other", "a.1"))
	for _, limit := range []int{1, 7, 100, 1000} {
		named := tr.pages("thread:1", limit, func([]presence.Member) {})
		for i := range 300 {
			if want := 1 - max(0, min(1, min(i-6, 9-i))); named[ghost(i)] != want {
				tr.Errorf("pages of %d name %q %d times, want %d", limit, ghost(i), named[ghost(i)], want)
			}
		}
		if len(named) != 298 {
			tr.Errorf("pages of %d name %d users, want 298", limit, len(named))
		}
	}
	for _, after := range []string{"x", ".", "0.", "-1", "0.!", "1.2.3", "0.x.eA", "0.01.eA", "0.0.", "0.0." + strings.Repeat("eHh4", 1000), "0.0.eA.eA", strings.Repeat("9", 40), "\xff"} {
		if _, err := tr.store.Roster(tr.ctx, "thread:1", backend.RosterQuery{After: after, Limit: 1}); !errors.Is(err, presence.ErrInvalidPage) {
			tr.Errorf("after %q: got %v, want ErrInvalidPage", after, err)
		}
	}
	if page, err := tr.store.Roster(tr.ctx, "thread:3", backend.RosterQuery{Limit: 10}); err != nil || page.ID != backend.Origin || page.Total+len(page.Members) != 0 || page.Next != "" {
		tr.Errorf("an unknown topic: got %+v, %v, want an empty page at Origin", page, err)
	}
	tenant := presence.Topic("thread:1").In("acme")
	tr.do(tenant, join(presence.UserID("a").In("acme"), "a.1"), join(presence.UserID("b").In("acme"), "b.1"))
	first, err := tr.store.Roster(tr.ctx, tenant, backend.RosterQuery{Limit: 1})
	if err != nil || strings.Contains(first.Next, "acme") {
		tr.Errorf("got %+v, %v, want a page that names no tenant", first, err)
	}
	if got := tr.pages(tenant, 1, func([]presence.Member) {}); len(got) != 2 {
		tr.Errorf("got %v, want two users of the tenant", got)
	}
}

// Those who leave were named, or not yet; others come. A store must not take somebody for named
// because others went.
func rosterPagesMeanwhile(tr *trial) {
	for _, c := range []struct {
		topic        presence.Topic
		users, limit int
	}{{"thread:1", 1500, 50}, {"thread:2", 300, 2}} {
		left := make(map[presence.UserID]bool)
		holders := make(map[presence.UserID]presence.Holder)
		var ops []backend.Op
		for i := range c.users {
			holders[ghost(i)] = ghostHolder(i)
			if ops = append(ops, join(ghost(i), ghostHolder(i))); len(ops) == 100 {
				tr.do(c.topic, ops...)
				ops = ops[:0]
			}
		}
		tr.do(c.topic, ops...)
		n := 0
		named := tr.pages(c.topic, c.limit, func(page []presence.Member) {
			one := ghost(n * 7 % c.users) // on a page before this one, or on a later one
			ops := []backend.Op{join(ghost(c.users+n), ghostHolder(c.users+n)), drop(one, holders[one])}
			left[one] = true
			for i, m := range page {
				if h, first := holders[m.ID]; first && i%10 == 0 && !left[m.ID] {
					left[m.ID] = true
					ops = append(ops, drop(m.ID, h))
				}
			}
			tr.do(c.topic, ops...)
			if n%5 == 0 { // who came back is not one who stayed
				tr.do(c.topic, join(one, holders[one]))
			}
			n++
		})
		stayed := 0
		for i := range c.users {
			if !left[ghost(i)] {
				stayed++
				if named[ghost(i)] == 0 {
					tr.Errorf("no page of %d names %q, who stayed", c.limit, ghost(i))
				}
			}
		}
		if stayed == 0 || len(left) < 20 {
			tr.Fatalf("%d users stayed and %d left, want many of both", stayed, len(left))
		}
	}
}

func rosterVersion(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), join("v", "b.1"))
	tr.do(presence.Site, drop("u", "a.1"))
	site.wants("+u -u +v")
	page, err := tr.peer.Roster(tr.ctx, presence.Site, backend.RosterQuery{Limit: 10})
	if head := tr.counts(presence.Site).Head; err != nil || page.ID != head || page.Total != 1 || len(page.Members) != 1 || page.Members[0].ID != "v" {
		tr.Errorf("got %+v, %v, want v alone, at version %s", page, err, head)
	}
}

func membersInOrder(tr *trial) {
	tr.do(presence.Site, join("u", "a.1"), join("v", "b.1"), join("w", "c.1"), join("x", "d.1"))
	tr.do(presence.Site, status("w", presence.Invisible), drop("x", "d.1"), status("v", presence.Busy))
	asked := []presence.UserID{"w", "v", "nobody", "u", "x", "v"}
	got, err := tr.store.Members(tr.ctx, presence.Site, asked...)
	if err != nil || len(got) != len(asked) {
		tr.Fatalf("got %+v, %v, want %d members", got, err, len(asked))
	}
	snap, err := tr.store.Snapshot(tr.ctx, presence.Site)
	if err != nil {
		tr.Fatal(err)
	}
	for i, id := range asked {
		var want presence.Member
		if at := slices.IndexFunc(snap.Members, func(m presence.Member) bool { return m.ID == id }); at >= 0 {
			want = snap.Members[at]
		}
		if got[i].ID != want.ID || got[i].Status != want.Status || !got[i].Since.Equal(want.Since) {
			tr.Errorf("%q: got %+v, want %+v", id, got[i], want)
		}
	}
	if got, err := tr.store.Members(tr.ctx, presence.Site); err != nil || len(got) != 0 {
		tr.Errorf("nobody asked: got %+v, %v, want none", got, err)
	}
}

func rosterMoment(tr *trial) {
	tr.do(presence.Site, join("u", "a.1"))
	snap, err := tr.store.Snapshot(tr.ctx, presence.Site)
	if err != nil || len(snap.Members) != 1 {
		tr.Fatalf("got %+v, %v, want u alone", snap, err)
	}
	if snap.At.IsZero() {
		return
	}
	tr.advance(slack)
	tr.do(presence.Site, join("v", "b.1"))
	later, err := tr.store.Members(tr.ctx, presence.Site, "v")
	if err != nil {
		tr.Fatal(err)
	}
	if came := snap.Members[0].Since; snap.At.Before(came.Add(-time.Millisecond)) || !snap.At.Before(later[0].Since) {
		tr.Errorf("a roster with u, who came at %v, and without v, who came at %v, was read at %v", came, later[0].Since, snap.At)
	}
}
