package feedtest

import (
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

func revisionCases() []testCase {
	return []testCase{
		{"F2", "each change is the next revision", func(t *trial) {
			rev := int64(0)
			step := func(what string, by int64, change func()) {
				t.Helper()
				change()
				if rev += by; t.head(alice).Rev != rev {
					t.Fatalf("revision after %s: got %d, want %d", what, t.head(alice).Rev, rev)
				}
			}
			step("a message", 1, func() { t.deliver(reply("bob", "one")) })
			step("a second one of its group", 1, func() { t.deliver(reply("carol", "two")) })
			step("seen", 1, func() { t.mark(alice, feed.Mark{Seen: true}) })
			step("seen again", 0, func() { t.mark(alice, feed.Mark{Seen: true}) })
			step("read", 1, func() { t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{2}}) })
			step("read again", 0, func() { t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{2}}) })
			step("three messages", 1, func() { t.deliver(note("a"), note("b"), note("c")) })
			step("archived all at once", 1, func() { t.mark(alice, feed.Mark{As: feed.Archived, UpTo: 99}) })
			step("a mute", 0, func() { t.mute("alice", "*", feed.MuteAll) })
			step("a message that is muted", 0, func() { t.deliver(note("d")) })
		}},
		{"F2", "changes since any revision lead to the page", func(t *trial) {
			room := feed.Name("thread:1")
			for i := range 8 {
				t.deliver(reply(presence.UserID(fmt.Sprint("user", i%3)), fmt.Sprint("r", i)), note(fmt.Sprint("n", i)),
					feed.Message{Feed: room, ID: fmt.Sprint("post-", i), From: "bob", Text: "post"})
				t.look(alice)
				t.look(room)
				switch i {
				case 2:
					t.mark(alice, feed.Mark{As: feed.Read, About: "thread:1"})
				case 4:
					t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{1, 2, 4}})
				case 5:
					t.mark(alice, feed.Mark{As: feed.Unread, Pos: []int64{1}})
					_, err := t.Remove(t.ctx, room, "post-1")
					t.must(err)
				case 6:
					t.mark(alice, feed.Mark{Seen: true})
					_, err := t.Edit(t.ctx, room, "post-0", feed.Message{Text: "edited"})
					t.must(err)
				}
				t.look(alice)
				t.look(room)
			}
		}},
		{"F2", "an item that a message joins is the newest change", func(t *trial) {
			t.deliver(reply("bob", "one"), note("between"))
			h := t.head(alice)
			t.deliver(reply("carol", "two"))
			changes, err := t.Changes(t.ctx, feed.Since{Name: alice, Rev: h.Rev, Born: h.Born})
			t.must(err)
			if c := changes[0]; c.Gap || len(c.Items) != 1 || c.Items[0].Count != 2 || c.Items[0].Pos != 3 {
				t.Errorf("changes: got %+v, want one item of 2 messages at place 3", c)
			}
			t.wantTexts(alice, "two", "between")
		}},
	}
}

func counterCases() []testCase {
	return []testCase{
		{"F3", "the counters follow every change", func(t *trial) {
			t.deliver(reply("bob", "one"), note("two"))
			t.wantCounters(alice, 2, 2)
			t.mark(alice, feed.Mark{Seen: true})
			t.wantCounters(alice, 2, 0)
			t.deliver(note("three"))
			t.wantCounters(alice, 3, 1)
			t.deliver(reply("carol", "joins the first"))
			t.wantCounters(alice, 3, 2)
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{2}}) // was seen
			t.wantCounters(alice, 2, 2)
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{3}}) // was not
			t.wantCounters(alice, 1, 1)
			t.mark(alice, feed.Mark{As: feed.Unread, Pos: []int64{2, 3}})
			t.wantCounters(alice, 3, 2)
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 3})
			t.wantCounters(alice, 1, 1)
			t.mark(alice, feed.Mark{As: feed.Archived, About: "thread:1"})
			t.wantCounters(alice, 0, 0)
			t.mark(alice, feed.Mark{As: feed.Unread, Pos: []int64{4}})
			t.wantCounters(alice, 1, 1)
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{4}})
			t.wantCounters(alice, 0, 0)
		}},
		{"F3", "rooms have no counters", func(t *trial) {
			t.deliver(feed.Message{Feed: "thread:1", From: "bob", Text: "a post", Mail: true, Group: "posts"}, feed.Message{Feed: "thread:1", From: "carol", Text: "another", Group: "posts"})
			t.wantCounters("thread:1", 0, 0)
			for _, item := range t.wantTexts("thread:1", "another", "a post") {
				if item.State != feed.Read || item.Mail != feed.NoMail {
					t.Errorf("item %q: got %s and mail %d, want read and none", item.Text, item.State, item.Mail)
				}
			}
		}},
		{"F3", "a recount mends counters that are wrong", func(t *trial) {
			if t.Miscount == nil {
				t.Skip("the store's counters cannot be wrong")
			}
			t.deliver(feed.Message{To: to("alice", "bob", "carol"), Text: "one"}, note("two"))
			if wrong, err := t.Recount(t.ctx, 100); err != nil || wrong != 0 {
				t.Errorf("a recount of right counters: got %d and %v, want none wrong", wrong, err)
			}
			t.must(t.Miscount(alice, 7, 5))
			t.must(t.Miscount("inbox:bob", 0, 0))
			if wrong, err := t.Recount(t.ctx, 100); err != nil || wrong != 2 {
				t.Errorf("a recount: got %d and %v, want 2 wrong", wrong, err)
			}
			t.wantCounters(alice, 2, 2)
			t.wantCounters("inbox:bob", 1, 1)
			t.wantCounters("inbox:carol", 1, 1)
			if wrong, err := t.Recount(t.ctx, 100); err != nil || wrong != 0 {
				t.Errorf("a recount after that: got %d and %v, want none wrong", wrong, err)
			}
		}},
		{"F3", "recounts of a few feeds come to all of them", func(t *trial) {
			if t.Miscount == nil {
				t.Skip("the store's counters cannot be wrong")
			}
			users := manyUsers(7)
			t.deliver(feed.Message{To: users, Text: "hello"})
			t.must(t.Miscount(feed.Inbox(users[1]), 9, 9))
			t.must(t.Miscount(feed.Inbox(users[6]), 9, 9))
			wrong := 0
			for range 8 {
				n, err := t.Recount(t.ctx, 2)
				t.must(err)
				wrong += n
			}
			if wrong != 2 {
				t.Errorf("eight recounts of two feeds: got %d wrong, want 2", wrong)
			}
			for _, user := range users {
				t.wantCounters(feed.Inbox(user), 1, 1)
			}
		}},
	}
}
