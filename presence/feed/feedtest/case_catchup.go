package feedtest

import (
	"fmt"
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

func catchUpCases() []testCase {
	since := func(t *trial, s ...feed.Since) []feed.Change {
		t.Helper()
		changes, err := t.Changes(t.ctx, s...)
		if err != nil || len(changes) != len(s) {
			t.Fatalf("changes of %d feeds: got %d, %v", len(s), len(changes), err)
		}
		return changes
	}
	return []testCase{
		{"F8", "pages lead to the end of a feed", func(t *trial) {
			var want []string
			for i := range 23 {
				t.send(note(fmt.Sprint(i)))
				want = append([]string{fmt.Sprint(i)}, want...)
			}
			t.relay()
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{5, 10, 15}})
			want = append(want[:8:8], append(want[9:13:13], append(want[14:18:18], want[19:]...)...)...)
			for _, size := range []int{1, 5, 20, 100} {
				all, err := readAll(t.ctx, t.Store, alice, size)
				t.must(err)
				if fmt.Sprint(texts(all.items)) != fmt.Sprint(want) {
					t.Errorf("pages of %d: got %v, want %v", size, texts(all.items), want)
				}
			}
			if _, items, more, err := t.Page(t.ctx, alice, 0, 20); err != nil || more || len(items) != 20 {
				t.Errorf("a page of exactly all: got %d items, more %v, %v", len(items), more, err)
			}
			if _, items, more, err := t.Page(t.ctx, alice, math.MaxInt64, 1); err != nil || !more || len(items) != 1 || items[0].Text != "22" {
				t.Errorf("a page below a place that is not there: got %q, more %v, %v", texts(items), more, err)
			}
			if _, items, more, err := t.Page(t.ctx, alice, 1, 20); err != nil || more || len(items) != 0 {
				t.Errorf("a page below the last item: got %d items, more %v, %v", len(items), more, err)
			}
		}},
		{"F8", "changes of many feeds come in the order asked", func(t *trial) {
			t.deliver(feed.Message{To: to("alice", "bob"), Text: "hello"}, feed.Message{Feed: "thread:1", Text: "post"})
			heads, err := t.Heads(t.ctx, "thread:1", "inbox:nobody", alice, "inbox:bob", alice)
			t.must(err)
			t.deliver(feed.Message{To: to("bob"), Text: "again"}, feed.Message{Feed: "thread:1", Text: "post 2"})
			changes := since(t, feed.Since{Name: "thread:1", Rev: 1, Born: heads[0].Born}, feed.Since{Name: "inbox:nobody"}, feed.Since{Name: alice, Rev: 1, Born: heads[2].Born},
				feed.Since{Name: "inbox:bob", Rev: 1, Born: heads[3].Born}, feed.Since{Name: alice, Rev: 0, Born: heads[4].Born})
			got := ""
			for _, c := range changes {
				got += fmt.Sprint(c.Head.Rev, texts(c.Items), c.Gap, " ")
			}
			if want := "2 [post 2] false 0 [] false 1 [] false 2 [again] false 1 [hello] false "; got != want {
				t.Errorf("changes: got %s, want %s", got, want)
			}
		}},
		{"F8", "no feeds are no error", func(t *trial) {
			since(t)
			if heads, err := t.Heads(t.ctx); err != nil || len(heads) != 0 {
				t.Errorf("heads of no feeds: got %v, %v", heads, err)
			}
		}},
		{"F8", "a thousand feeds are asked at once", func(t *trial) {
			users := manyUsers(feed.MaxHeads)
			t.deliver(feed.Message{To: users[700:], Text: "hello"})
			names, all := make([]feed.Name, len(users)), make([]feed.Since, len(users))
			for i, user := range users {
				names[i], all[i] = feed.Inbox(user), feed.Since{Name: feed.Inbox(user)}
			}
			heads, err := t.Heads(t.ctx, names...)
			t.must(err)
			for i, c := range since(t, all...) {
				if want := i >= 700; (heads[i].Unread == 1) != want || (len(c.Items) == 1) != want || c.Gap || !sameHead(heads[i], c.Head) {
					t.Fatalf("feed %d: got head %+v and change %+v", i, heads[i], c)
				}
			}
		}},
		{"F8", "a revision of another time, or of the future, is a gap", func(t *trial) {
			t.deliver(note("one"), note("two"))
			h := t.head(alice)
			for what, s := range map[string]feed.Since{
				"the future":                 {Name: alice, Rev: h.Rev + 1, Born: h.Born},
				"the far future":             {Name: alice, Rev: math.MaxInt64, Born: h.Born},
				"before the first one":       {Name: alice, Rev: -1, Born: h.Born},
				"a feed of another birth":    {Name: alice, Rev: h.Rev, Born: h.Born.Add(-time.Second)},
				"a feed without birth":       {Name: alice, Rev: h.Rev},
				"a feed that has not begun":  {Name: "inbox:nobody", Rev: 3, Born: h.Born},
				"a feed that never was born": {Name: "inbox:nobody", Rev: 3},
			} {
				if c := since(t, s)[0]; !c.Gap || len(c.Items) > 0 {
					t.Errorf("changes since a revision of %s: got %+v, want a gap", what, c)
				}
			}
		}},
		{"F8", "the first item of a feed is a change", func(t *trial) {
			t.deliver(note("one"))
			if c := since(t, feed.Since{Name: alice})[0]; c.Gap || len(c.Items) != 1 {
				t.Errorf("changes of a reader who had an empty feed: got %+v, want the item", c)
			}
		}},
		{"F8", "too many changes are a gap", func(t *trial) {
			for i := range feed.MaxBehind {
				t.send(note(fmt.Sprint(i)))
			}
			t.relay()
			h := t.head(alice)
			if c := since(t, feed.Since{Name: alice, Rev: 0, Born: h.Born})[0]; c.Gap || len(c.Items) != feed.MaxBehind {
				t.Errorf("%d changes: got %d, gap %v", feed.MaxBehind, len(c.Items), c.Gap)
			}
			t.deliver(note("one more"))
			if c := since(t, feed.Since{Name: alice, Rev: 0, Born: h.Born})[0]; !c.Gap || len(c.Items) != 0 {
				t.Errorf("%d changes: got %d, gap %v, want a gap", feed.MaxBehind+1, len(c.Items), c.Gap)
			}
			if c := since(t, feed.Since{Name: alice, Rev: h.Rev, Born: h.Born})[0]; c.Gap || len(c.Items) != 1 {
				t.Errorf("the last change: got %d, gap %v", len(c.Items), c.Gap)
			}
		}},
		{"F8", "a revision before rows were deleted is a gap", func(t *trial) {
			t.deliver(note("one"), note("two"))
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{1}})
			before := t.head(alice)
			if n := t.trim(feed.TrimOptions{Most: 1, Keep: time.Hour, Archived: time.Hour, Rows: 100}); n != 1 {
				t.Fatalf("trim: got %d rows, want 1", n)
			}
			h := t.head(alice)
			if h.Rev != before.Rev+1 || h.Floor != h.Rev {
				t.Errorf("head: got %+v, want the next revision after %d, and that as the floor", h, before.Rev)
			}
			if c := since(t, feed.Since{Name: alice, Rev: before.Rev, Born: h.Born})[0]; !c.Gap {
				t.Errorf("changes since the revision before: got %+v, want a gap", c)
			}
			if c := since(t, feed.Since{Name: alice, Rev: h.Rev, Born: h.Born})[0]; c.Gap || len(c.Items) != 0 {
				t.Errorf("changes since the floor: got %+v, want none", c)
			}
			t.deliver(note("three"))
			if c := since(t, feed.Since{Name: alice, Rev: h.Rev, Born: h.Born})[0]; c.Gap || len(c.Items) != 1 {
				t.Errorf("changes since the floor: got %+v, want one", c)
			}
		}},
		{"F14", "times are of the store's clock, now", func(t *trial) {
			t.must(t.Insert("", "row", `{"to":["alice"],"text":"hello","at":"1999-01-01T00:00:00Z"}`))
			t.relay()
			h, item := t.head(alice), t.items(alice)[0]
			for what, at := range map[string]time.Time{"Born": h.Born, "At": item.At} {
				if time.Since(at).Abs() > coarse {
					t.Errorf("%s: got %v, want %v or so", what, at, time.Now())
				}
			}
			t.deliver(reply("bob", "one"))
			t.advance(time.Hour)
			t.deliver(reply("bob", "two"))
			items := t.items(alice)
			if age := items[0].At.Sub(items[1].At); (age - time.Hour).Abs() > coarse {
				t.Errorf("an item that a message joined an hour later: got %v after the one before", age)
			}
		}},
	}
}

func apartCases() []testCase {
	hostile := []presence.UserID{"alice", "Alice", "alice ", " alice", "al%ce", "al_ce", "alice'", `alice"`, `alice\`, "alice:1", "inbox:alice", "älice", "a\u0308lice", "%", "_", "'", "\U0001f98a", "NULL", "$1", "?"}
	return []testCase{
		{"F7", "users whose names are alike are apart", func(t *trial) {
			for _, user := range hostile {
				t.deliver(feed.Message{To: to(user), ID: "m", Text: "to " + string(user), About: "thread:1"})
			}
			for i, user := range hostile {
				n := feed.Inbox(user)
				t.wantTexts(n, "to "+string(user))
				t.mark(n, feed.Mark{As: feed.Read, About: "thread:1"})
				t.mute(user, "*", feed.MuteAll)
				for j, other := range hostile {
					want := 1
					if j <= i {
						want = 0
					}
					t.wantCounters(feed.Inbox(other), want, want)
				}
			}
		}},
		{"F7", "rooms whose names are alike are apart", func(t *trial) {
			rooms := []feed.Name{"thread:1", "thread:10", "Thread:1", "thread:1:", "thread::1", "thread:_", "thread:-", "x:inbox:alice", "inboxes:alice"}
			for _, room := range rooms {
				t.deliver(feed.Message{Feed: room, ID: "m", Text: string(room)})
			}
			for _, room := range rooms {
				t.wantTexts(room, string(room))
			}
			t.wantTexts(alice)
		}},
		{"F13", "names that are wrong are refused everywhere", func(t *trial) {
			t.deliver(note("hello"))
			for _, n := range []feed.Name{"", "inbox", "inbox:", "inbox:\x00", "inbox:a\nb", "inbox:\xff", "feed:thread:1", "feed:inbox:alice", "thread", "thread:a b", "thread:ä", "thread:'"} {
				calls := map[string]error{}
				_, calls["Heads"] = t.Heads(t.ctx, alice, n)
				_, _, _, calls["Page"] = t.Page(t.ctx, n, 0, 20)
				_, calls["Changes"] = t.Changes(t.ctx, feed.Since{Name: alice}, feed.Since{Name: n})
				_, calls["Mark"] = t.Mark(t.ctx, n, feed.Mark{Seen: true})
				_, calls["Edit"] = t.Edit(t.ctx, n, "x", feed.Message{Text: "x"})
				_, calls["Remove"] = t.Remove(t.ctx, n, "x")
				for call, err := range calls {
					if err == nil {
						t.Errorf("%s of %q: got no error", call, n)
					}
				}
			}
			t.wantCounters(alice, 1, 1)
		}},
	}
}
