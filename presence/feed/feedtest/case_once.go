package feedtest

import (
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

func onceCases() []testCase {
	m := feed.Message{To: to("alice"), ID: "m-1", From: "bob", Text: "first"}
	again := feed.Message{To: to("alice"), ID: "m-1", From: "carol", Text: "again"}
	joins := feed.Message{To: to("alice"), ID: "m-2", From: "carol", Text: "joins", Group: "g", About: "thread:1"}
	begins := feed.Message{To: to("alice"), ID: "m-1", From: "bob", Text: "begins", Group: "g", About: "thread:1"}
	return []testCase{
		{"F4", "the same ID counts once", func(t *trial) {
			t.wantDropped("twice", 1, m, again)
			t.wantDropped("twice", 1, again)
			t.wantTexts(alice, "first")
		}},
		{"F4", "the same ID counts once in another row", func(t *trial) {
			t.insert("row-1", m)
			t.insert("row-2", again)
			t.relay()
			t.wantTexts(alice, "first")
		}},
		{"F4", "the same ID counts once inside a group", func(t *trial) {
			t.deliver(begins, joins)
			t.wantDropped("twice", 2, begins, joins)
			if items := t.wantTexts(alice, "joins"); items[0].Count != 2 || items[0].ID != "m-1" {
				t.Errorf("item: got ID %q of %d messages, want m-1 of 2", items[0].ID, items[0].Count)
			}
		}},
		{"F4", "the same ID counts once after it was read", func(t *trial) {
			t.deliver(begins, joins)
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 99})
			t.wantDropped("twice", 2, begins, joins)
			t.mark(alice, feed.Mark{As: feed.Archived, UpTo: 99})
			t.wantDropped("twice", 2, begins, joins)
			t.wantTexts(alice)
		}},
		{"F4", "the same ID counts once while items are kept", func(t *trial) {
			t.deliver(begins, joins)
			t.advance(89 * 24 * time.Hour)
			t.trim(feed.TrimOptions{Most: 1_000, Keep: 90 * 24 * time.Hour, Archived: 30 * 24 * time.Hour, Rows: 1_000})
			t.wantDropped("twice", 2, begins, joins)
		}},
		{"F4", "the ID of an item is kept as long as the item", func(t *trial) {
			day := 24 * time.Hour
			t.deliver(begins)
			t.advance(60 * day)
			t.deliver(joins)
			t.advance(60 * day)
			t.trim(feed.TrimOptions{Most: 1_000, Keep: 90 * day, Archived: 30 * day, Rows: 1_000})
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 99})
			t.wantDropped("twice", 1, begins)
			t.wantTexts(alice, "joins")
		}},
		{"F4", "the same ID in two feeds is two messages", func(t *trial) {
			t.deliver(m, feed.Message{To: to("bob"), ID: "m-1", Text: "to bob"}, feed.Message{Feed: "thread:1", ID: "m-1", Text: "a post"})
			t.wantTexts(alice, "first")
			t.wantTexts("inbox:bob", "to bob")
			t.wantTexts("thread:1", "a post")
			t.wantDropped("twice", 1, feed.Message{Feed: "thread:1", ID: "m-1", Text: "again"})
		}},
		{"F4", "IDs that differ in case are two", func(t *trial) {
			t.deliver(m, feed.Message{To: to("alice"), ID: "M-1", Text: "second"}, feed.Message{To: to("alice"), ID: "m-1 ", Text: "third"})
			t.wantTexts(alice, "third", "second", "first")
		}},
		{"F4", "messages without an ID are all different", func(t *trial) {
			t.deliver(note("one"), note("one"))
			t.deliver(note("one"))
			t.wantTexts(alice, "one", "one", "one")
		}},
		{"F5", "nobody gets a message from themselves", func(t *trial) {
			t.wantDropped("self", 1, feed.Message{To: to("alice", "bob"), From: "alice", Text: "hello", Must: true})
			t.wantTexts(alice)
			t.wantTexts("inbox:bob", "hello")
		}},
		{"F5", "nobody gets a message from themselves in a group", func(t *trial) {
			t.deliver(reply("bob", "one"))
			t.wantDropped("self", 1, reply("alice", "own"))
			if items := t.wantTexts(alice, "one"); items[0].Count != 1 {
				t.Errorf("messages of the item: got %d, want 1", items[0].Count)
			}
		}},
		{"F5", "a room has what its people write", func(t *trial) {
			t.mute("bob", "*", feed.MuteAll)
			t.deliver(feed.Message{Feed: "thread:1", From: "bob", Text: "a post"})
			t.wantTexts("thread:1", "a post")
		}},
	}
}

// groups of messages: the words of feed's package doc.
func groupCases() []testCase {
	other := func(m feed.Message, change func(*feed.Message)) feed.Message { change(&m); return m }
	return []testCase{
		{"F1", "unread messages of a group are one item", func(t *trial) {
			t.deliver(reply("bob", "one"), note("between"))
			t.deliver(other(reply("carol", "two"), func(m *feed.Message) {
				m.Name, m.URL, m.V, m.Type, m.Data = "Carol", "/2", 2, "answer", []byte(`{"n":2}`)
			}))
			items := t.wantTexts(alice, "two", "between")
			want := feed.Item{Pos: 3, ID: items[0].ID, Type: "answer", V: 2, Actors: []feed.Actor{{ID: "carol", Name: "Carol"}, {ID: "bob", Name: "bob"}}, Count: 2,
				About: "thread:1", Group: "replies", Text: "two", URL: "/2", Data: []byte(`{"n":2}`), Mail: feed.ToMail, At: time.Now()}
			if what := differ(items[0], want, false); what != "" {
				t.Errorf("%s of the item differs: got %+v, want %+v", what, items[0], want)
			}
			t.deliver(reply("bob", "three"), reply("dave", "four"))
			items = t.wantTexts(alice, "four", "between")
			if got := fmt.Sprint(items[0].Actors); got != "[{dave dave} {bob bob} {carol Carol}]" || items[0].Count != 4 || len(items[0].Data) > 0 {
				t.Errorf("who did it: got %s in %d messages with data %s, want dave, bob, carol in 4 without", got, items[0].Count, items[0].Data)
			}
		}},
		{"F1", "messages of another group, or about another thing, are other items", func(t *trial) {
			t.deliver(reply("bob", "one"),
				other(reply("bob", "other group"), func(m *feed.Message) { m.Group = "votes" }),
				other(reply("bob", "about other"), func(m *feed.Message) { m.About = "thread:2" }),
				other(reply("bob", "no group"), func(m *feed.Message) { m.Group = "" }),
				other(reply("bob", "no group 2"), func(m *feed.Message) { m.Group = "" }))
			t.wantTexts(alice, "no group 2", "no group", "about other", "other group", "one")
		}},
		{"F1", "reading ends a group", func(t *trial) {
			t.deliver(reply("bob", "one"))
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1}})
			t.deliver(reply("carol", "two"))
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{2}})
			t.deliver(reply("dave", "three"))
			t.wantTexts(alice, "three", "one")
			t.mark(alice, feed.Mark{As: feed.Unread, Pos: []int64{1}})
			t.deliver(reply("eve", "four"))
			t.wantTexts(alice, "four", "one")
		}},
		{"F1", "an item knows fifty who did it, and counts the rest", func(t *trial) {
			for _, user := range manyUsers(feed.MaxActors + 3) {
				t.send(reply(user, "{actors} replied"))
			}
			t.relay()
			item := t.items(alice)[0]
			if len(item.Actors) != feed.MaxActors || item.Others != 3 || item.Count != feed.MaxActors+3 {
				t.Errorf("who did it: got %d and %d others in %d messages, want %d and 3 in %d", len(item.Actors), item.Others, item.Count, feed.MaxActors, feed.MaxActors+3)
			}
			if first, last := item.Actors[0].ID, item.Actors[len(item.Actors)-1].ID; first != "user-0052" || last != "user-0003" {
				t.Errorf("who did it: got %s to %s, want the latest first", first, last)
			}
		}},
		{"F1", "a message of the site joins a group", func(t *trial) {
			t.deliver(reply("bob", "one"), reply("", "by the site"))
			if items := t.wantTexts(alice, "by the site"); len(items[0].Actors) != 1 || items[0].Count != 2 {
				t.Errorf("item: got %+v, want 2 messages by bob", items[0])
			}
		}},
	}
}

func muteCases() []testCase {
	mail := reply("bob", "reply")
	must := mail
	must.Must, must.Text, must.Group = true, "must", ""
	return []testCase{
		{"F5", "a mute holds back what it is about", func(t *trial) {
			for _, c := range []struct {
				scope string
				want  []string
			}{
				{"*", []string{"must"}}, {"type:reply", []string{"note", "must"}}, {"about:thread:1", []string{"note"}},
				{"type:rep", []string{"note", "must", "reply"}}, {"about:thread:11", []string{"note", "must", "reply"}},
				{"type:message", []string{"must", "reply"}},
			} {
				user := presence.UserID("user of " + c.scope)
				t.mute(user, c.scope, feed.MuteAll)
				t.mute("somebody else", c.scope, feed.MuteAll)
				for _, m := range []feed.Message{mail, must, note("note")} {
					m.To = to(user)
					t.deliver(m)
				}
				t.wantTexts(feed.Inbox(user), c.want...)
			}
		}},
		{"F5", "mutes hold as of the relay", func(t *trial) {
			t.send(note("sent before the mute"))
			t.mute("alice", "*", feed.MuteAll)
			if r := t.relay(); r.Dropped["muted"] != 1 {
				t.Errorf("dropped: got %v, want 1 as muted", r.Dropped)
			}
			t.send(note("sent while it was muted"))
			t.mute("alice", "*", feed.MuteNothing)
			t.relay()
			t.wantTexts(alice, "sent while it was muted")
		}},
		{"F5", "a message that was muted may come again", func(t *trial) {
			m := feed.Message{To: to("alice"), ID: "m", From: "bob", Text: "hello"}
			t.mute("alice", "*", feed.MuteAll)
			t.wantDropped("muted", 1, m)
			t.mute("alice", "*", feed.MuteNothing)
			t.deliver(m)
			t.wantTexts(alice, "hello")
		}},
		{"F5", "a mute ends at its time", func(t *trial) {
			t.must(t.Mute(t.ctx, "alice", feed.Mute{Scope: "*", How: feed.MuteAll, Until: time.Now().Add(10 * time.Minute)}))
			t.must(t.Mute(t.ctx, "alice", feed.Mute{Scope: "type:x", How: feed.MuteMail, Until: time.Now().Add(-time.Minute)}))
			mutes, err := t.Mutes(t.ctx, "alice")
			t.must(err)
			if len(mutes) != 1 || mutes[0].Scope != "*" || time.Until(mutes[0].Until) < 9*time.Minute || time.Until(mutes[0].Until) > 11*time.Minute {
				t.Errorf("mutes: got %+v, want one of everything that ends in 10 minutes", mutes)
			}
			t.advance(9 * time.Minute)
			t.wantDropped("muted", 1, note("early"))
			t.advance(2 * time.Minute)
			t.deliver(note("late"))
			t.wantTexts(alice, "late")
			if mutes, err := t.Mutes(t.ctx, "alice"); err != nil || len(mutes) != 0 {
				t.Errorf("mutes after their time: got %+v, %v, want none", mutes, err)
			}
		}},
		{"F5", "a mute of mail lets items come", func(t *trial) {
			t.mute("alice", "type:reply", feed.MuteMail)
			t.deliver(mail)
			if items := t.wantTexts(alice, "reply"); items[0].Mail != feed.NoMail {
				t.Errorf("mail of the item: got %d, want none", items[0].Mail)
			}
			t.advance(mailAfter + time.Second)
			t.wantNothingDue("mail of replies is muted")
			t.deliver(must)
			if items := t.wantTexts(alice, "must", "reply"); items[0].Mail != feed.ToMail {
				t.Errorf("mail of a message with Must: got %d, want %d", items[0].Mail, feed.ToMail)
			}
		}},
		{"F5", "of several mutes the strictest holds", func(t *trial) {
			t.mute("alice", "*", feed.MuteMail)
			t.mute("alice", "about:thread:1", feed.MuteAll)
			t.wantDropped("muted", 2, mail, must)
			t.mute("alice", "*", feed.MuteAll)
			t.mute("alice", "about:thread:1", feed.MuteMail)
			t.wantDropped("muted", 1, mail)
			t.deliver(must)
			if items := t.wantTexts(alice, "must"); items[0].Mail != feed.NoMail {
				t.Errorf("mail of a message about what is muted: got %d, want none", items[0].Mail)
			}
		}},
		{"F5", "mutes are listed by scope, replaced and lifted", func(t *trial) {
			for _, scope := range []string{"type:reply", "*", "about:thread:42"} {
				t.mute("alice", scope, feed.MuteAll)
			}
			t.mute("alice", "*", feed.MuteMail)
			t.mute("alice", "type:reply", feed.MuteNothing)
			t.mute("alice", "type:never", feed.MuteNothing)
			t.mute("bob", "type:vote", feed.MuteAll)
			mutes, err := t.Mutes(t.ctx, "alice")
			t.must(err)
			if got, want := fmt.Sprint(mutes), fmt.Sprint([]feed.Mute{{Scope: "*", How: feed.MuteMail}, {Scope: "about:thread:42", How: feed.MuteAll}}); got != want {
				t.Errorf("mutes: got %s, want %s", got, want)
			}
		}},
		{"F5", "mutes that are wrong are refused", func(t *trial) {
			for _, m := range []feed.Mute{{Scope: "", How: feed.MuteAll}, {Scope: "type:", How: feed.MuteAll}, {Scope: "about:a b", How: feed.MuteAll}, {Scope: "*", How: 3}, {Scope: "*:x", How: -1}} {
				if err := t.Mute(t.ctx, "alice", m); !errors.Is(err, feed.ErrInvalidMute) {
					t.Errorf("mute %+v: got %v, want ErrInvalidMute", m, err)
				}
			}
			if mutes, err := t.Mutes(t.ctx, "alice"); err != nil || len(mutes) != 0 {
				t.Errorf("mutes: got %+v, %v, want none", mutes, err)
			}
		}},
		{"F5", "a user has a bounded number of mutes", func(t *trial) {
			for i := range feed.MaxMutes {
				t.mute("alice", fmt.Sprintf("about:thread:%d", i), feed.MuteAll)
			}
			if err := t.Mute(t.ctx, "alice", feed.Mute{Scope: "*", How: feed.MuteAll}); !errors.Is(err, feed.ErrTooManyMutes) {
				t.Errorf("one mute too many: got %v, want ErrTooManyMutes", err)
			}
			t.mute("alice", "about:thread:7", feed.MuteMail)
			t.mute("bob", "*", feed.MuteAll)
			t.mute("alice", "about:thread:8", feed.MuteNothing)
			t.mute("alice", "*", feed.MuteAll)
		}},
	}
}
