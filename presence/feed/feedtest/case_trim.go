package feedtest

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

func trimCases() []testCase {
	const day = 24 * time.Hour
	usual := feed.TrimOptions{Most: 1_000, Keep: 90 * day, Archived: 30 * day, Rows: 1_000}
	numbered := func(t *trial, n int) {
		t.Helper()
		for i := range n {
			t.send(note(fmt.Sprint(i + 1)))
		}
		t.relay()
	}
	return []testCase{
		{"F12", "a feed without old rows is left alone", func(t *trial) {
			numbered(t, 3)
			t.advance(29 * day)
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{1}})
			h := t.head(alice)
			if n := t.trim(usual); n != 0 {
				t.Errorf("trim: got %d rows, want none", n)
			}
			if now := t.head(alice); !sameHead(now, h) {
				t.Errorf("head: got %+v, want %+v as before", now, h)
			}
		}},
		{"F12", "the oldest of too many go, but no unread ones", func(t *trial) {
			numbered(t, 8)
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{2, 3, 4, 6, 8}})
			o := usual
			o.Most = 5
			if n := t.trim(o); n != 3 {
				t.Errorf("trim: got %d rows, want 3", n)
			}
			t.wantTexts(alice, "8", "7", "6", "5", "1")
			t.wantCounters(alice, 3, 3)
			o.Most = 1
			t.trim(o)
			t.wantTexts(alice, "7", "5", "1")
			if n := t.trim(o); n != 0 {
				t.Errorf("trim of what is unread: got %d rows, want none", n)
			}
		}},
		{"F12", "items go after their time, unread ones too", func(t *trial) {
			numbered(t, 2)
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1}})
			t.advance(89 * day)
			t.deliver(note("young"))
			t.trim(usual)
			t.wantTexts(alice, "young", "2", "1")
			t.advance(2 * day)
			if n := t.trim(usual); n < 2 {
				t.Errorf("trim: got %d rows, want 2 items, and their IDs", n)
			}
			t.wantTexts(alice, "young")
			t.wantCounters(alice, 1, 1)
		}},
		{"F12", "archived and removed items go earlier", func(t *trial) {
			room := feed.Name("thread:1")
			numbered(t, 3)
			t.deliver(feed.Message{Feed: room, ID: "p1", Text: "one"}, feed.Message{Feed: room, ID: "p2", Text: "two"})
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{2}})
			_, err := t.Remove(t.ctx, room, "p1")
			t.must(err)
			t.advance(31 * day)
			if n := t.trim(usual); n != 2 {
				t.Errorf("trim: got %d rows, want 2", n)
			}
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{2}}) // the item is gone
			t.wantTexts(alice, "3", "1")
			t.wantTexts(room, "two")
			if h := t.head(room); h.Floor != h.Rev {
				t.Errorf("head of the room: got %+v, want its revision as the floor", h)
			}
		}},
		{"F12", "a step removes no more rows than it may", func(t *trial) {
			numbered(t, 25)
			t.deliver(feed.Message{To: to("bob"), Text: "to bob"})
			t.advance(91 * day)
			o := usual
			o.Rows = 10
			steps, all := 0, 0
			for n := t.trim(o); n > 0 && steps < 100; n = t.trim(o) {
				if n > o.Rows {
					t.Errorf("a step of at most %d: got %d rows", o.Rows, n)
				}
				t.look(alice)
				steps, all = steps+1, all+n
			}
			t.wantTexts(alice)
			t.wantTexts("inbox:bob")
			t.wantCounters(alice, 0, 0)
			if all < 26 || steps < 3 {
				t.Errorf("trimmed in all: got %d rows in %d steps, want 26 and their IDs", all, steps)
			}
		}},
		{"F12", "a feed goes on after all its rows are gone", func(t *trial) {
			numbered(t, 2)
			t.advance(91 * day)
			before := t.head(alice)
			t.trim(usual)
			h := t.wantCounters(alice, 0, 0)
			if h.Rev != before.Rev+1 || h.Pos != before.Pos || h.Floor != h.Rev {
				t.Errorf("head: got %+v after %+v, want the next revision", h, before)
			}
			t.deliver(note("new"))
			if items := t.wantTexts(alice, "new"); items[0].Pos != 3 {
				t.Errorf("place: got %d, want 3", items[0].Pos)
			}
		}},
		{"F12", "an inbox that is full of unread items takes no more", func(t *trial) {
			t.options.Most = 4
			t.wantDropped("full", 2, note("1"), note("2"), note("3"), note("4"), note("5"), note("6"))
			t.wantTexts(alice, "4", "3", "2", "1")
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1}})
			t.wantDropped("full", 1, note("7"), note("8"))
			t.wantTexts(alice, "7", "4", "3", "2", "1")
			for range 6 {
				t.send(feed.Message{Feed: "thread:1", Text: "post"})
			}
			t.relay()
			if items := t.items("thread:1"); len(items) != 6 {
				t.Errorf("a room has %d posts, want 6", len(items))
			}
		}},
		{"F12", "archived items do not make an inbox full", func(t *trial) {
			t.options.Most = 2
			t.deliver(note("1"), note("2"))
			t.mark(alice, feed.Mark{As: feed.Archived, UpTo: 2})
			t.deliver(note("3"), note("4"))
			t.wantTexts(alice, "4", "3")
		}},
	}
}
