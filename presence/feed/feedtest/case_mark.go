package feedtest

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// ages returns the texts of items, and how many hours ago each was seen and read: "5s2r1 4".
func ages(items []feed.Item) string {
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = item.Text
		for _, did := range []struct {
			what string
			at   time.Time
		}{{"s", item.SeenAt}, {"r", item.ReadAt}} {
			if !did.at.IsZero() {
				words[i] += did.what + strconv.Itoa(int(time.Since(did.at).Round(time.Hour).Hours()))
			}
		}
	}
	return strings.Join(words, " ")
}

func markCases() []testCase {
	deliverFive := func(t *trial) {
		t.Helper()
		t.deliver(note("1"), reply("bob", "2"), note("3"), feed.Message{To: to("alice"), Text: "4", About: "thread:1"}, note("5"))
	}
	wantStates := func(t *trial, want string) {
		t.Helper()
		got := ""
		for _, item := range t.items(alice) {
			got += item.Text + map[feed.State]string{feed.Unread: "u", feed.Read: "r"}[item.State] + " "
		}
		if got != want {
			t.Errorf("items: got %q, want %q", got, want)
		}
	}
	return []testCase{
		{"F7", "a mark changes the items that it names, and no others", func(t *trial) {
			deliverFive(t)
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1, 3}})
			wantStates(t, "5u 4u 3r 2u 1r ")
			t.mark(alice, feed.Mark{As: feed.Read, About: "thread:1"})
			wantStates(t, "5u 4r 3r 2r 1r ")
			t.mark(alice, feed.Mark{As: feed.Unread, UpTo: 2})
			wantStates(t, "5u 4r 3r 2u 1u ")
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{4, 5}})
			wantStates(t, "3r 2u 1u ")
		}},
		{"F7", "About with UpTo is what both name", func(t *trial) {
			deliverFive(t)
			t.mark(alice, feed.Mark{As: feed.Read, About: "thread:1", UpTo: 3})
			wantStates(t, "5u 4u 3u 2r 1u ")
		}},
		{"F7", "what is off the list comes back by its place alone", func(t *trial) {
			deliverFive(t)
			t.mark(alice, feed.Mark{As: feed.Archived, UpTo: 5})
			rev := t.head(alice).Rev
			t.mark(alice, feed.Mark{As: feed.Unread, UpTo: 5})
			t.mark(alice, feed.Mark{As: feed.Unread, About: "thread:1"})
			wantStates(t, "")
			if h := t.head(alice); h.Rev != rev {
				t.Errorf("revision: got %d, want still %d", h.Rev, rev)
			}
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{2}})
			wantStates(t, "2r ")
		}},
		{"F7", "marking is idempotent", func(t *trial) {
			deliverFive(t)
			for _, m := range []feed.Mark{{As: feed.Read, Pos: []int64{1, 2, 2}}, {As: feed.Archived, About: "thread:1"}, {As: feed.Read, UpTo: 3}, {Seen: true}, {As: feed.Unread, Pos: []int64{1}}} {
				first := t.mark(alice, m)
				if again := t.mark(alice, m); !sameHead(first, again) {
					t.Errorf("mark %+v: got %+v, and %+v the second time", m, first, again)
				}
			}
		}},
		{"F7", "nothing is said of places that are not there", func(t *trial) {
			deliverFive(t)
			h := t.head(alice)
			for _, pos := range []int64{0, -1, 6, math.MaxInt64, math.MinInt64} {
				if got := t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{pos}}); !sameHead(got, h) {
					t.Errorf("mark of place %d: got %+v, want the head as it was: %+v", pos, got, h)
				}
			}
		}},
		{"F7", "an item that moved since the page saw it is not marked", func(t *trial) {
			t.deliver(reply("bob", "one"))
			t.deliver(reply("carol", "two, unseen by the page"))
			for _, m := range []feed.Mark{{As: feed.Read, Pos: []int64{1}}, {As: feed.Read, UpTo: 1}, {As: feed.Read, About: "thread:1", UpTo: 1}} {
				t.mark(alice, m)
				t.wantCounters(alice, 1, 1)
			}
			t.mark(alice, feed.Mark{Seen: true, UpTo: 1})
			t.wantCounters(alice, 1, 1)
		}},
		{"F7", "seen hides nothing that is still to come", func(t *trial) {
			t.deliver(note("one"))
			t.mark(alice, feed.Mark{Seen: true, UpTo: math.MaxInt64})
			t.wantCounters(alice, 1, 0)
			t.deliver(note("two"))
			t.wantCounters(alice, 2, 1)
		}},
		{"F7", "seen never goes back", func(t *trial) {
			deliverFive(t)
			t.mark(alice, feed.Mark{Seen: true, UpTo: 4})
			t.wantCounters(alice, 5, 1)
			t.mark(alice, feed.Mark{Seen: true, UpTo: 2})
			t.wantCounters(alice, 5, 1)
		}},
		{"F7", "seen moves on where nothing was unseen", func(t *trial) {
			t.deliver(note("one"))
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 1})
			t.mark(alice, feed.Mark{Seen: true})
			t.mark(alice, feed.Mark{As: feed.Unread, Pos: []int64{1}})
			t.wantCounters(alice, 1, 0)
		}},
		{"F7", "a mark changes the feed that it names, and no other", func(t *trial) {
			t.deliver(feed.Message{To: to("alice", "bob", "alice2"), Text: "hello", About: "thread:1"})
			for _, m := range []feed.Mark{{As: feed.Read, Pos: []int64{1}}, {As: feed.Read, About: "thread:1"}, {As: feed.Archived, UpTo: 9}, {Seen: true}} {
				t.mark(alice, m)
			}
			for _, n := range []feed.Name{"inbox:bob", "inbox:alice2"} {
				if h := t.wantCounters(n, 1, 1); h.Rev != 1 {
					t.Errorf("revision of %s: got %d, want 1", n, h.Rev)
				}
			}
		}},
		{"F7", "an item keeps when it was seen and when it was read", func(t *trial) {
			deliverFive(t)
			t.deliver(feed.Message{Feed: "thread:1", Text: "a post"})
			check := func(want string) {
				t.Helper()
				if got := ages(t.items(alice)); got != want {
					t.Errorf("items, seen and read so many hours ago: got %q, want %q", got, want)
				}
			}
			check("5 4 3 2 1")
			t.mark(alice, feed.Mark{Seen: true, UpTo: 3})
			check("5 4 3s0 2s0 1s0")
			t.advance(time.Hour)
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1, 4}})
			check("5 4r0 3s1 2s1 1s1r0")
			before := t.items(alice)
			t.mark(alice, feed.Mark{Seen: true, UpTo: 2})
			t.mark(alice, feed.Mark{Seen: true})
			check("5s0 4s0r0 3s1 2s1 1s1r0")
			for i, item := range t.items(alice) {
				if item.Rev != before[i].Rev {
					t.Errorf("item %s: got revision %d, want still %d: to be seen is no change of an item", item.Text, item.Rev, before[i].Rev)
				}
			}
			t.advance(time.Hour)
			t.mark(alice, feed.Mark{Seen: true})
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 9})
			check("5s1r0 4s1r1 3s2r0 2s2r0 1s2r1")
			t.advance(time.Hour)
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{2, 4}})
			t.mark(alice, feed.Mark{As: feed.Unread, Pos: []int64{1, 2}})
			check("5s2r1 3s3r1 2s3 1s3")
			t.mark(alice, feed.Mark{As: feed.Read, About: "thread:1"})
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{4}}) // it was read before it was archived
			check("5s2r1 4s2r2 3s3r1 2s3r0 1s3")
			t.mark(alice, feed.Mark{As: feed.Unread, About: "thread:1"})
			t.mark(alice, feed.Mark{As: feed.Unread, UpTo: 3})
			check("5s2r1 4s2 3s3 2s3 1s3")
			_, items, _, err := t.peer().Page(t.ctx, alice, 0, 10)
			t.must(err)
			if err := sameItems(items, t.items(alice), false); err != nil {
				t.Errorf("as another process has it: %v", err)
			}
			if got := ages(t.items("thread:1")); got != "a post" {
				t.Errorf("a room: got %q, want no times", got)
			}
		}},
		{"F7", "a message that joins an item clears when it was seen and read", func(t *trial) {
			t.deliver(reply("bob", "one"), note("two"))
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 2})
			t.mark(alice, feed.Mark{As: feed.Unread, UpTo: 2})
			t.mark(alice, feed.Mark{Seen: true})
			t.deliver(reply("carol", "three"))
			if items := t.items(alice); ages(items) != "three two"+"s0" || items[0].Count != 2 {
				t.Errorf("got %q, want three without times", ages(items))
			}
			t.mark(alice, feed.Mark{Seen: true})
			if got := ages(t.items(alice)); got != "threes0 twos0" {
				t.Errorf("got %q, want that both were seen", got)
			}
		}},
		{"F7", "marks that are wrong are refused", func(t *trial) {
			t.deliver(note("one"))
			for _, m := range []feed.Mark{{}, {As: feed.Removed, Pos: []int64{1}}, {As: -1, UpTo: 1}, {As: feed.Read, Pos: []int64{1}, UpTo: 1}, {As: feed.Read, Pos: make([]int64, feed.MaxMarked+1)},
				{As: feed.Read, About: "a b"}, {As: feed.Read, UpTo: -1}, {Seen: true, Pos: []int64{1}}} {
				if _, err := t.Mark(t.ctx, alice, m); !errors.Is(err, feed.ErrInvalidMark) {
					t.Errorf("mark %+v: got %v, want ErrInvalidMark", m, err)
				}
			}
			t.deliver(feed.Message{Feed: "thread:1", Text: "a post"})
			if _, err := t.Mark(t.ctx, "thread:1", feed.Mark{As: feed.Archived, UpTo: 1}); !errors.Is(err, feed.ErrInvalidName) {
				t.Errorf("mark of a room: got %v, want ErrInvalidName", err)
			}
			t.wantTexts("thread:1", "a post")
			t.wantCounters(alice, 1, 1)
		}},
	}
}

func roomCases() []testCase {
	room := feed.Name("thread:1")
	post := func(id, text string) feed.Message {
		return feed.Message{Feed: room, ID: id, From: "bob", Text: text, URL: "/1", Data: []byte(`1`)}
	}
	return []testCase{
		{"F2", "an edit changes an item at its place", func(t *trial) {
			t.deliver(post("p1", "one"), post("p2", "two"))
			before := t.head(room)
			h, err := t.Edit(t.ctx, room, "p1", feed.Message{Text: "edited", URL: "/2", Data: []byte(`2`), Type: "post", V: 2, From: "mallory", ID: "p2", Must: true, To: to("alice")})
			t.must(err)
			items := t.wantTexts(room, "two", "edited")
			if i := items[1]; i.ID != "p1" || i.Pos != 1 || i.Rev != h.Rev || i.URL != "/2" || string(i.Data) != `2` || i.Type != "post" || i.V != 2 || i.Actors[0].ID != "bob" {
				t.Errorf("item: got %+v", i)
			}
			if now := t.head(room); !sameHead(h, now) || h.Rev != before.Rev+1 || h.Pos != before.Pos {
				t.Errorf("head: got %+v, and a page has %+v, want the next revision after %+v", h, now, before)
			}
			if _, err := t.Edit(t.ctx, room, "p1", feed.Message{Text: "plain"}); err != nil {
				t.Errorf("edit: %v", err)
			}
			if i := t.items(room)[1]; i.Type != "message" || i.V != 1 || i.URL != "" || len(i.Data) > 0 {
				t.Errorf("item after an edit without options: got %+v, want defaults", i)
			}
			t.wantTexts(alice)
		}},
		{"F2", "a removed item goes off the list", func(t *trial) {
			t.deliver(post("p1", "one"), post("p2", "two"))
			before := t.head(room)
			h, err := t.Remove(t.ctx, room, "p1")
			t.must(err)
			t.wantTexts(room, "two")
			changes, err := t.Changes(t.ctx, feed.Since{Name: room, Rev: before.Rev, Born: before.Born})
			t.must(err)
			if c := changes[0]; c.Gap || len(c.Items) != 1 || c.Items[0].ID != "p1" || c.Items[0].State != feed.Removed {
				t.Errorf("changes: got %+v, want the item as removed", c)
			}
			again, err := t.Remove(t.ctx, room, "p1")
			if err != nil || !sameHead(h, again) {
				t.Errorf("the second time: got %+v, %v, want %+v as the first time", again, err, h)
			}
			if _, err := t.Edit(t.ctx, room, "p1", feed.Message{Text: "back"}); !errors.Is(err, feed.ErrNoItem) {
				t.Errorf("edit of a removed item: got %v, want ErrNoItem", err)
			}
			t.wantTexts(room, "two")
			t.wantDropped("twice", 1, post("p1", "again"))
		}},
		{"F2", "edits that are wrong are refused", func(t *trial) {
			t.deliver(post("p1", "one"), note("inbox"))
			good := feed.Message{Text: "x"}
			for _, c := range []struct {
				what string
				name feed.Name
				id   string
				m    feed.Message
				want error
			}{
				{"an unknown item", room, "p9", good, feed.ErrNoItem}, {"an unknown room", "thread:9", "p1", good, feed.ErrNoItem},
				{"no text", room, "p1", feed.Message{}, feed.ErrInvalidMessage}, {"a script", room, "p1", feed.Message{Text: "x", URL: "javascript:x"}, feed.ErrInvalidMessage},
				{"an inbox", alice, t.items(alice)[0].ID, good, feed.ErrInvalidName}, {"no room", "x", "p1", good, feed.ErrInvalidName},
			} {
				if _, err := t.Edit(t.ctx, c.name, c.id, c.m); !errors.Is(err, c.want) {
					t.Errorf("edit of %s: got %v, want %v", c.what, err, c.want)
				}
				if c.want == feed.ErrInvalidMessage {
					continue
				}
				if _, err := t.Remove(t.ctx, c.name, c.id); !errors.Is(err, c.want) {
					t.Errorf("remove of %s: got %v, want %v", c.what, err, c.want)
				}
			}
			t.wantTexts(room, "one")
			t.wantTexts(alice, "inbox")
			if h := t.head("thread:9"); h != (feed.Head{}) {
				t.Errorf("an unknown room: got head %+v, want zero", h)
			}
		}},
	}
}
