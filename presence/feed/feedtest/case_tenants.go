package feedtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// The tenants of the cases. Their names begin alike, and one is empty: a tenant like any other.
var tenants = []string{"", "acme", "acme-2"}

// everywhere sends a message in each tenant, and relays it.
func (t *trial) everywhere(m feed.Message) feed.Relayed {
	t.Helper()
	ms := make([]feed.Message, len(tenants))
	for i, tenant := range tenants {
		ms[i] = m
		ms[i].Tenant = tenant
	}
	return t.deliver(ms...)
}

// tenantCases are about equal names in several tenants of one store.
func tenantCases() []testCase {
	return []testCase{
		{"T3", "equal users of tenants have inboxes of their own", func(t *trial) {
			t.deliver(feed.Message{Tenant: "acme", To: to("alice"), Text: "one"}, feed.Message{Tenant: "acme", To: to("alice"), Text: "two"})
			t.wantTexts(alice)
			t.wantTexts(alice.In("acme"), "two", "one")
			t.wantTexts(alice.In("acme-2"))
			t.deliver(note("here"))
			t.wantTexts(alice, "here")
			t.wantTexts(alice.In("acme"), "two", "one")
		}},
		{"T3", "hints, heads and changes are of the tenant's feed", func(t *trial) {
			done := t.everywhere(note("one"))
			var hinted []feed.Name
			for _, h := range done.Changed {
				hinted = append(hinted, h.Name)
			}
			slices.Sort(hinted)
			if want := []feed.Name{alice.In("acme"), alice.In("acme-2"), alice}; !slices.Equal(hinted, want) {
				t.Errorf("hints: got %q, want %q", hinted, want)
			}
			t.deliver(feed.Message{Tenant: "acme", To: to("alice"), Text: "two"})
			names := []feed.Name{alice.In("acme"), alice, alice.In("globex"), alice.In("acme-2"), alice.In("acme")}
			heads, err := t.Heads(t.ctx, names...)
			t.must(err)
			changes, err := t.Changes(t.ctx, feed.Since{Name: names[0]}, feed.Since{Name: names[1]}, feed.Since{Name: names[2]}, feed.Since{Name: names[3]}, feed.Since{Name: names[4]})
			t.must(err)
			for i, want := range []int{2, 1, 0, 1, 2} {
				if heads[i].Unread != want || changes[i].Head.Unread != want || len(changes[i].Items) != want {
					t.Errorf("%q: got %d unread by its head and %d by its changes, which have %d items, want %d", names[i], heads[i].Unread, changes[i].Head.Unread, len(changes[i].Items), want)
				}
			}
		}},
		{"T3", "a mark is of one tenant's inbox", func(t *trial) {
			t.everywhere(feed.Message{To: to("alice"), From: "bob", Text: "one", About: "thread:1"})
			t.mark(alice.In("acme"), feed.Mark{Seen: true})
			t.mark(alice.In("acme"), feed.Mark{As: feed.Read, About: "thread:1"})
			t.wantCounters(alice.In("acme"), 0, 0)
			t.mark(alice.In("acme-2"), feed.Mark{As: feed.Archived, Pos: []int64{1}})
			t.wantCounters(alice.In("acme-2"), 0, 0)
			t.wantCounters(alice, 1, 1)
			t.mark(alice, feed.Mark{As: feed.Archived, UpTo: 1})
			t.wantTexts(alice)
			t.wantTexts(alice.In("acme"), "one")
			t.everywhere(feed.Message{To: to("alice"), Text: "two", About: "thread:2"})
			t.mark(alice, feed.Mark{As: feed.Archived, About: "thread:2"})
			t.wantTexts(alice)
			t.wantTexts(alice.In("acme"), "two", "one")
		}},
		{"T3", "what is seen in one tenant is no revision by another's items", func(t *trial) {
			t.deliver(note("one"))
			t.deliver(note("two"))
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1}})
			for range 3 {
				t.deliver(feed.Message{Tenant: "acme", To: to("alice"), Text: "here"})
			}
			was := t.head(alice)
			if h := t.mark(alice, feed.Mark{Seen: true, UpTo: 1}); h.Rev != was.Rev || h.Unseen != 1 {
				t.Errorf("seen up to an item that was read: got %+v, want %+v", h, was)
			}
		}},
		{"T3", "equal message IDs of tenants are two messages", func(t *trial) {
			r := t.everywhere(feed.Message{To: to("alice"), ID: "m", Text: "one"})
			if r.Moved != len(tenants) || r.Dropped["twice"] != 0 {
				t.Errorf("the same ID in %d tenants: got %d items and dropped %v", len(tenants), r.Moved, r.Dropped)
			}
			t.wantDropped("twice", 1, feed.Message{Tenant: "acme", To: to("alice"), ID: "m", Text: "again"})
		}},
		{"T3", "equal groups of tenants are two items", func(t *trial) {
			t.everywhere(reply("bob", "one"))
			join := func(tenant string, from presence.UserID) {
				m := reply(from, "one more")
				m.Tenant = tenant
				t.deliver(m)
			}
			join("acme-2", "dave")
			join("acme-2", "erin") // this item has a higher place than that of acme
			join("acme", "carol")
			for tenant, want := range map[string]int{"": 1, "acme": 2, "acme-2": 3} {
				if items := t.items(alice.In(tenant)); len(items) != 1 || items[0].Count != want || len(items[0].Actors) != want {
					t.Errorf("tenant %q: got %+v, want one item of %d", tenant, items, want)
				}
			}
		}},
		{"T3", "who did it is of the same tenant", func(t *trial) {
			r := t.deliver(feed.Message{Tenant: "acme", To: to("alice", "bob"), From: "bob", Text: "one"})
			if r.Moved != 1 || r.Dropped["self"] != 1 {
				t.Errorf("a message of bob to alice and bob of one tenant: got %+v, want one item", r)
			}
			if items := t.items(alice.In("acme")); items[0].Actors[0].ID != "bob" {
				t.Errorf("who did it: got %+v, want the local id", items[0].Actors)
			}
		}},
		{"T3", "equal rooms of tenants are two rooms", func(t *trial) {
			const room = feed.Name("thread:1")
			t.everywhere(feed.Message{Feed: room, ID: "p", Text: "post"})
			_, err := t.Edit(t.ctx, room.In("acme"), "p", feed.Message{Text: "edited"})
			t.must(err)
			_, err = t.Remove(t.ctx, room.In("acme-2"), "p")
			t.must(err)
			t.wantTexts(room, "post")
			t.wantTexts(room.In("acme"), "edited")
			t.wantTexts(room.In("acme-2"))
			t.deliver(feed.Message{Tenant: "acme", Feed: room, ID: "q", Text: "of acme alone"})
			if _, err := t.Remove(t.ctx, room, "q"); !errors.Is(err, feed.ErrNoItem) {
				t.Errorf("a removal of another tenant's item: got %v, want ErrNoItem", err)
			}
			if _, err := t.Edit(t.ctx, room.In("globex"), "p", feed.Message{Text: "x"}); !errors.Is(err, feed.ErrNoItem) {
				t.Errorf("an edit in a room that has not begun: got %v, want ErrNoItem", err)
			}
		}},
		{"T3", "a mute is of one tenant's user", func(t *trial) {
			t.mute("alice", "type:reply", feed.MuteAll)
			t.mute(presence.UserID("alice").In("acme"), "type:reply", feed.MuteAll)
			t.mute(presence.UserID("alice").In("acme"), "type:reply", feed.MuteNothing)
			t.mute(presence.UserID("alice").In("acme"), "*", feed.MuteAll)
			for tenant, want := range map[string]string{"": "type:reply", "acme": "*", "acme-2": ""} {
				mutes, err := t.Mutes(t.ctx, presence.UserID("alice").In(tenant))
				t.must(err)
				if want == "" && len(mutes) > 0 || want != "" && (len(mutes) != 1 || mutes[0].Scope != want) {
					t.Errorf("tenant %q: got %+v, want %q", tenant, mutes, want)
				}
			}
			if r := t.everywhere(note("one")); r.Dropped["muted"] != 1 {
				t.Errorf("dropped: got %v, want the message of acme alone", r.Dropped)
			}
			t.wantTexts(alice, "one")
			t.mute(presence.UserID("alice").In("acme"), "*", feed.MuteNothing)
			t.wantDropped("muted", 1, reply("bob", "two"))
		}},
		{"T3", "rows of other programs reach the tenant of their column", func(t *trial) {
			for _, tenant := range tenants {
				t.must(t.Insert(tenant, "row", `{"to":["alice"],"text":"for `+tenant+`","tenant":"acme-2","Tenant":"acme-2"}`))
			}
			t.must(t.Insert("acme", "bad", "no JSON"))
			t.must(t.Insert("acme-2", "bad", `{"to":["alice"],"text":"good"}`))
			t.relay()
			t.wantTexts(alice, "for ")
			t.wantTexts(alice.In("acme"), "for acme")
			t.wantTexts(alice.In("acme-2"), "for acme-2", "good")
			if o, err := t.Waiting(t.ctx); err != nil || o.Waiting != 1 {
				t.Errorf("outbox of all tenants: got %+v, %v, want the bad row", o, err)
			}
		}},
		{"T3", "a row of no valid tenant waits, and holds up no other one", func(t *trial) {
			for _, tenant := range []string{"Acme", "a/b", "acme\x1dx", " ", "o'ther%", strings.Repeat("x", 33)} {
				t.must(t.Insert(tenant, "row", `{"to":["alice"],"text":"x"}`))
			}
			t.must(t.Insert("zoo", "row", `{"to":["alice"],"text":"x"}`))
			if r := t.relay(); r.Failed["message"] != 6 || r.Moved != 1 {
				t.Errorf("got %+v, want 6 rows that fail as message, and one item", r)
			}
			t.wantTexts(alice.In("zoo"), "x")
		}},
		{"T1", "no name in a message is of another tenant", func(t *trial) {
			for what, m := range map[string]feed.Message{
				"to":     {Tenant: "acme", To: to(presence.UserID("alice").In("acme-2")), Text: "x"},
				"feed":   {Tenant: "acme", Feed: feed.Name("thread:1").In("acme-2"), Text: "x"},
				"from":   {Tenant: "acme", To: to("alice"), From: presence.UserID("bob").In("acme-2"), Text: "x"},
				"tenant": {Tenant: "acme/2", To: to("alice"), Text: "x"},
			} {
				if err := t.Send(t.ctx, m); !errors.Is(err, feed.ErrInvalidMessage) || !strings.Contains(err.Error(), what) {
					t.Errorf("%s: got %v, want ErrInvalidMessage that names it", what, err)
				}
			}
			for _, n := range []feed.Name{"\x1dinbox:alice", "ACME\x1dinbox:alice", "acme\x1dacme-2\x1dinbox:alice", "acme\x1d", "acme/inbox:alice", "\x1dthread:1"} {
				if _, err := t.Heads(t.ctx, n); !errors.Is(err, feed.ErrInvalidName) {
					t.Errorf("%q: got %v, want ErrInvalidName", n, err)
				}
			}
		}},
		{"T3", "equal users of tenants have digests of their own", func(t *trial) {
			t.everywhere(feed.Message{To: to("alice"), ID: "m", Text: "one", Mail: true})
			t.mark(alice.In("acme-2"), feed.Mark{As: feed.Read, UpTo: 1})
			t.advance(mailAfter + time.Second)
			due := t.due()
			slices.SortFunc(due, func(a, b feed.Digest) int { return strings.Compare(a.Tenant, b.Tenant) })
			if len(due) != 2 || due[0].Tenant != "" || due[1].Tenant != "acme" || due[0].User != "alice" || due[1].User != "alice" || due[0].Key == due[1].Key {
				t.Fatalf("due: got %+v, want one for alice and one for alice of acme, with Keys of their own", due)
			}
			t.settle(due[1], true, 0)
			t.settle(due[0], false, 0)
			t.advance(time.Second)
			if d := t.dueFor("alice", "one"); d.Tenant != "" {
				t.Errorf("due again: got a digest for %q, want the one that was not sent", d.Tenant)
			}
		}},
		{"T3", "a tenant with many digests holds up no other one", func(t *trial) {
			t.deliver(feed.Message{Tenant: "acme", To: manyUsers(40), Text: "one", Mail: true})
			t.advance(time.Second)
			t.deliver(feed.Message{Tenant: "acme-2", To: to("alice"), Text: "one", Mail: true}, feed.Message{To: to("alice"), Text: "one", Mail: true})
			t.advance(mailAfter + time.Second)
			due, err := t.Due(t.ctx, 10, time.Minute)
			t.must(err)
			got := make(map[string]int)
			for _, d := range due {
				got[d.Tenant]++
			}
			if got[""] != 1 || got["acme-2"] != 1 || got["acme"] != 8 {
				t.Errorf("the first 10 digests by tenant: got %v, want one of each other tenant and 8 of acme", got)
			}
		}},
		{"T3", "a trim that goes on leaves nothing behind", func(t *trial) {
			o := feed.TrimOptions{Most: 100, Keep: time.Hour, Archived: time.Hour, Rows: 1}
			for round := range 3 { // trims end in the middle of the tenants
				t.everywhere(feed.Message{Feed: "thread:1", Text: "old"})
				t.everywhere(feed.Message{Feed: "thread:2", Text: "old"})
				t.advance(2 * time.Hour)
				for range round + 1 {
					t.trim(o)
				}
			}
			for range 100 {
				if t.trim(o) == 0 {
					break
				}
			}
			for _, tenant := range tenants {
				t.wantTexts(feed.Name("thread:1").In(tenant))
				t.wantTexts(feed.Name("thread:2").In(tenant))
			}
		}},
		{"T3", "a trim is of all tenants, and of each by itself", func(t *trial) {
			t.everywhere(feed.Message{Feed: "thread:1", Text: "old"})
			t.advance(2 * time.Hour)
			t.deliver(feed.Message{Tenant: "acme", Feed: "thread:1", Text: "new"})
			o := feed.TrimOptions{Most: 100, Keep: time.Hour, Archived: time.Hour, Rows: 100}
			for t.trim(o) > 0 {
			}
			t.wantTexts("thread:1")
			t.wantTexts(feed.Name("thread:1").In("acme"), "new")
			t.wantTexts(feed.Name("thread:1").In("acme-2"))
		}},
		{"T3", "a trim counts and forgets each tenant's own", func(t *trial) {
			old := feed.Message{Tenant: "acme", To: to("alice"), ID: "m", Text: "old"}
			t.deliver(old)
			t.advance(2 * time.Hour)
			t.deliver(feed.Message{Tenant: "acme-2", To: to("alice"), ID: "m", Text: "new"}, feed.Message{To: to("alice"), ID: "m", Text: "archived"})
			t.deliver(note("unread"))
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{1}})
			t.advance(30 * time.Minute)
			for t.trim(feed.TrimOptions{Most: 3, Keep: 2 * time.Hour, Archived: 10 * time.Minute, Rows: 100}) > 0 {
			}
			t.wantCounters(alice, 1, 1)
			t.wantTexts(alice.In("acme"))
			t.wantTexts(alice.In("acme-2"), "new")
			m := old
			m.Tenant = ""
			t.wantDropped("twice", 1, m) // the ID is kept for longer than the item
			t.wantDropped("twice", 0, old)
		}},
		{"T3", "a trim by number counts each tenant's own", func(t *trial) {
			t.everywhere(feed.Message{Feed: "thread:1", Text: "one"})
			t.everywhere(feed.Message{Feed: "thread:1", Text: "two"})
			if n := t.trim(feed.TrimOptions{Most: 2, Keep: time.Hour, Archived: time.Hour, Rows: 100}); n != 0 {
				t.Errorf("got %d rows removed, want none: no room has more than two", n)
			}
			if n := t.trim(feed.TrimOptions{Most: 1, Keep: time.Hour, Archived: time.Hour, Rows: 100}); n != len(tenants) {
				t.Errorf("got %d rows removed, want one of each room", n)
			}
			for _, tenant := range tenants {
				t.wantTexts(feed.Name("thread:1").In(tenant), "two")
			}
		}},
		{"T3", "a recount mends each tenant's counters", func(t *trial) {
			if t.Miscount == nil {
				t.Skip("the store has no counters that can be wrong")
			}
			t.everywhere(note("one"))
			t.must(t.Miscount(alice.In("acme"), len(tenants), len(tenants)))
			t.must(t.Miscount(alice.In("acme-2"), 0, 0))
			if wrong, err := t.Recount(t.ctx, 100); err != nil || wrong != 2 {
				t.Errorf("recount: got %d, %v, want 2", wrong, err)
			}
			for _, tenant := range tenants {
				t.wantCounters(alice.In(tenant), 1, 1)
			}
		}},
		{"T3", "a tenant with many messages holds up another by a batch", func(t *trial) {
			var many []feed.Message
			for i := range 350 {
				many = append(many, feed.Message{Tenant: "acme", To: to("alice"), Text: fmt.Sprint(i)})
			}
			t.send(many...)
			t.send(feed.Message{Tenant: "acme", To: manyUsers(feed.MaxRecipients), Text: "to all"})
			for _, tenant := range []string{"acme-2", "", "zoo"} {
				t.send(feed.Message{Tenant: tenant, To: to("alice"), Text: "one"})
			}
			moved := 0
			for range 2 { // once by a call of its own, and once after a batch of acme's
				r, err := t.Relay(t.ctx, t.options)
				t.must(err)
				moved += r.Moved
			}
			for _, tenant := range []string{"acme-2", "", "zoo"} {
				t.wantTexts(alice.In(tenant), "one")
			}
			if moved > 303 {
				t.Errorf("two calls moved %d items, want a batch or so each", moved)
			}
			t.relay()
			t.wantCounters(alice.In("acme"), 350, 350)
			t.wantTexts(feed.Inbox(manyUsers(1)[0]).In("acme"), "to all")
		}},
	}
}
