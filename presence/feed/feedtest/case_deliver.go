package feedtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

func deliveryCases() []testCase {
	return []testCase{
		{"F1", "a message is in the feed of each recipient, once", func(t *trial) {
			r := t.deliver(feed.Message{To: to("alice", "bob"), Text: "hello"})
			if r.Moved != 2 || len(r.Changed) != 2 {
				t.Errorf("relay: got %d items and hints %v, want 2 of each", r.Moved, r.Changed)
			}
			if r := t.relay(); r.Moved != 0 || len(r.Changed) != 0 {
				t.Errorf("a second relay: got %d items and hints %v, want none", r.Moved, r.Changed)
			}
			t.wantTexts("inbox:alice", "hello")
			t.wantTexts("inbox:bob", "hello")
			t.wantTexts("inbox:carol")
		}},
		{"F1", "every field of a message arrives", func(t *trial) {
			m := feed.Message{To: to("alice"), ID: "m-1", Type: "reply", V: 3, From: "bob", Name: "Bob B.", About: "thread:1", Group: "replies",
				Text: "{actors} wrote", URL: "/threads/1#post-17", Data: json.RawMessage(`{"n":[1,"<b>",null]}`), Mail: true}
			want := feed.Item{Pos: 1, Rev: 1, ID: "m-1", Type: "reply", V: 3, Actors: []feed.Actor{{ID: "bob", Name: "Bob B."}}, Count: 1,
				About: "thread:1", Group: "replies", Text: m.Text, URL: m.URL, Data: m.Data, Mail: feed.ToMail, At: time.Now()}
			t.deliver(m)
			if err := sameItems(t.items(alice), []feed.Item{want}, false); err != nil {
				t.Error(err)
			}
			if h := t.head(alice); h.Rev != 1 || h.Pos != 1 || h.Floor != 0 || h.Unread != 1 || h.Unseen != 1 {
				t.Errorf("head: got %+v, want revision, place and counters of 1", h)
			}
		}},
		{"F1", "the fields of a message have defaults", func(t *trial) {
			t.insert("row-7", feed.Message{To: to("alice"), From: "bob", Text: "hello"})
			t.insert("row-8", feed.Message{To: to("alice"), Text: "from the site"})
			t.relay()
			items := t.wantTexts(alice, "from the site", "hello")
			want := feed.Item{Pos: 1, ID: "row-7", Type: "message", V: 1, Actors: []feed.Actor{{ID: "bob", Name: "bob"}}, Count: 1, Text: "hello", At: time.Now()}
			if what := differ(items[1], want, false); what != "" {
				t.Errorf("%s of an item without options differs: got %+v, want %+v", what, items[1], want)
			}
			if len(items[0].Actors) > 0 || items[0].Others != 0 {
				t.Errorf("who did what the site did: got %v, want nobody", items[0].Actors)
			}
		}},
		{"F1", "messages arrive in order", func(t *trial) {
			var want []string
			for i := range 5 {
				a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
				t.send(note(a), note(b))
				want = append(want, a, b)
			}
			t.relay()
			slices.Reverse(want)
			t.wantTexts(alice, want...)
		}},
		{"F1", "rows of other programs arrive in the order of their ids", func(t *trial) {
			t.insert("n-3", note("three"))
			t.insert("n-1", note("one"))
			t.insert("n-2", note("two"))
			t.relay()
			t.wantTexts(alice, "three", "two", "one")
		}},
		{"F1", "a user who is named twice gets one item", func(t *trial) {
			t.deliver(feed.Message{To: to("alice", "bob", "alice"), Text: "hello"})
			t.wantTexts(alice, "hello")
		}},
		{"F1", "a message to more users than fit is split", func(t *trial) {
			users := manyUsers(feed.MaxRecipients + 5)
			users = append(users, users[0]) // a second time, in another row
			if err := t.Send(t.ctx, feed.Message{To: users, Text: "hello"}); err != nil {
				t.Fatalf("send to %d users: %v", len(users), err)
			}
			if r := t.relay(); r.Moved != feed.MaxRecipients+5 {
				t.Errorf("items: got %d, want %d", r.Moved, feed.MaxRecipients+5)
			}
			for _, i := range []int{0, 1, feed.MaxRecipients - 1, feed.MaxRecipients + 4} {
				t.wantTexts(feed.Inbox(users[i]), "hello")
			}
		}},
		{"F1", "a message that is refused sends none of its call", func(t *trial) {
			for name, bad := range map[string]feed.Message{
				"no text": {To: to("alice")}, "nobody": {Text: "x"}, "a bad user": {To: to("alice", ""), Text: "x"},
				"an inbox as a room": {Feed: "inbox:alice", Text: "x"}, "a script": {To: to("alice"), Text: "x", URL: "javascript:alert(1)"},
				"a long text": {To: to("alice"), Text: strings.Repeat("x", feed.MaxTextLen+1)},
			} {
				if err := t.Send(t.ctx, note("good"), bad); !errors.Is(err, feed.ErrInvalidMessage) {
					t.Errorf("send of a message with %s: got %v, want ErrInvalidMessage", name, err)
				}
			}
			if r := t.relay(); r.Moved != 0 {
				t.Errorf("items of refused calls: got %d, want none", r.Moved)
			}
		}},
		{"F1", "a call whose context has ended does nothing", func(t *trial) {
			ctx, cancel := context.WithCancel(t.ctx)
			cancel()
			if err := t.Send(ctx, note("late")); err == nil {
				t.Error("send: got no error")
			}
			t.send(note("in time"))
			if _, err := t.Relay(ctx, t.options); err == nil {
				t.Error("relay: got no error")
			}
			t.wantTexts(alice)
			t.relay()
			t.wantTexts(alice, "in time")
			if _, err := t.Mark(ctx, alice, feed.Mark{Seen: true}); err == nil {
				t.Error("mark: got no error")
			}
			t.wantCounters(alice, 1, 1)
		}},
		{"F1", "what is rolled back is nowhere", func(t *trial) {
			if t.Rollback == nil {
				t.Skip("the store takes part in no transaction of the site's")
			}
			t.send(note("before"))
			t.must(t.Rollback(note("rolled back"), feed.Message{Feed: "thread:1", Text: "rolled back"}))
			t.send(note("after"))
			t.relay()
			t.wantTexts(alice, "after", "before")
			t.wantTexts("thread:1")
		}},
		{"F1", "sending nothing is no error", func(t *trial) {
			t.must(t.Send(t.ctx))
			if r := t.relay(); r.Moved != 0 || r.More {
				t.Errorf("a relay of an empty outbox: got %+v", r)
			}
		}},
	}
}

// manyUsers returns n different users.
func manyUsers(n int) []presence.UserID {
	users := make([]presence.UserID, n)
	for i := range users {
		users[i] = presence.UserID(fmt.Sprintf("user-%04d", i))
	}
	return users
}
