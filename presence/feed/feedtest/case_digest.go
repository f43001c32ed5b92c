package feedtest

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// mailed is a message to alice that may be part of a digest.
func mailed(text string) feed.Message {
	return feed.Message{To: to("alice"), From: "bob", Text: text, Mail: true}
}

func digestCases() []testCase {
	return []testCase{
		{"F11", "a digest has what is unread and for mail", func(t *trial) {
			t.deliver(mailed("one"), note("no mail"), mailed("read"), mailed("archived"), mailed("two"), feed.Message{Feed: "thread:1", Text: "post", Mail: true})
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{3}})
			t.mark(alice, feed.Mark{As: feed.Archived, Pos: []int64{4}})
			t.advance(mailAfter + time.Second)
			d := t.dueFor("alice", "two", "one")
			if d.More != 0 || d.Key == "" || d.Waited != 0 {
				t.Errorf("digest: got %+v, want a Key, none more, and that it was not put off", d)
			}
			items := t.items(alice)
			if err := sameItems(d.Items, []feed.Item{items[0], items[len(items)-1]}, false); err != nil {
				t.Errorf("items of the digest: %v", err)
			}
		}},
		{"F11", "a digest is due after its time", func(t *trial) {
			t.deliver(mailed("one"))
			t.wantNothingDue("the item has just come")
			t.advance(mailAfter - 10*time.Second)
			t.deliver(mailed("two"))
			t.wantNothingDue("it is 10 s too early")
			t.advance(11 * time.Second)
			t.dueFor("alice", "two", "one")
		}},
		{"F11", "a user who has read everything gets no digest", func(t *trial) {
			t.deliver(mailed("one"), mailed("two"))
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 2})
			t.advance(mailAfter + time.Second)
			t.wantNothingDue("all was read")
			t.deliver(mailed("three"))
			t.wantNothingDue("the third item has just come")
			t.advance(mailAfter + time.Second)
			t.dueFor("alice", "three")
		}},
		{"F11", "an item is in one digest that was sent", func(t *trial) {
			t.deliver(mailed("one"))
			t.advance(mailAfter + time.Second)
			first := t.dueFor("alice", "one")
			t.settle(first, true, 0)
			for _, item := range t.items(alice) {
				if item.Mail != feed.Mailed || item.State != feed.Unread {
					t.Errorf("item: got mail %d and %s, want mailed and unread", item.Mail, item.State)
				}
			}
			t.advance(time.Hour)
			t.wantNothingDue("it was mailed")
			t.deliver(mailed("two"))
			t.advance(mailAfter + time.Second)
			second := t.dueFor("alice", "two")
			if second.Key == first.Key {
				t.Errorf("two digests have the Key %s", first.Key)
			}
			t.settle(second, true, 0)
			t.mark(alice, feed.Mark{As: feed.Read, UpTo: 9})
			t.mark(alice, feed.Mark{As: feed.Unread, UpTo: 9})
			t.advance(time.Hour)
			t.wantNothingDue("all was mailed, although it is unread again")
		}},
		{"F11", "what joins an item that was mailed is not mailed", func(t *trial) {
			t.deliver(reply("bob", "one"))
			t.advance(mailAfter + time.Second)
			t.settle(t.dueFor("alice", "one"), true, 0)
			t.deliver(reply("carol", "two"))
			t.advance(time.Hour)
			t.wantNothingDue("the item was in a digest")
		}},
		{"F11", "a message for mail makes its group's item one for mail", func(t *trial) {
			quiet := reply("bob", "one")
			quiet.Mail = false
			t.deliver(quiet)
			t.advance(time.Hour)
			t.wantNothingDue("the message is not for mail")
			t.deliver(reply("carol", "two"))
			t.wantNothingDue("it became one for mail just now")
			t.deliver(quiet)
			t.advance(mailAfter + time.Second)
			if d := t.dueFor("alice", "one"); d.Items[0].Count != 3 {
				t.Errorf("item: got %d messages, want 3", d.Items[0].Count)
			}
		}},
		{"F11", "a long digest says how many more there are", func(t *trial) {
			for i := range 105 {
				t.send(mailed(fmt.Sprint(i)))
			}
			t.relay()
			t.advance(mailAfter + time.Second)
			all := t.due()
			if len(all) != 1 || len(all[0].Items) != 100 || all[0].More != 5 || all[0].Items[0].Text != "104" {
				t.Fatalf("due: got %.200q, want one digest of the newest 100 items, and 5 more", fmt.Sprint(all))
			}
			t.settle(all[0], true, 0)
			t.advance(time.Hour)
			t.wantNothingDue("those that were only counted are settled too")
		}},
		{"F11", "digests are claimed by those who take few", func(t *trial) {
			t.deliver(feed.Message{To: manyUsers(5), Text: "hello", Mail: true})
			t.advance(mailAfter + time.Second)
			for _, want := range []int{2, 2, 1, 0} {
				due, err := t.Due(t.ctx, 2, time.Minute)
				if err != nil || len(due) != want {
					t.Errorf("due, at most 2: got %d, %v, want %d", len(due), err, want)
				}
			}
		}},
	}
}

func repeatedDigestCases() []testCase {
	return []testCase{
		{"F11", "nobody else gets a digest while it is claimed", func(t *trial) {
			t.deliver(mailed("one"))
			t.advance(mailAfter + time.Second)
			t.dueFor("alice", "one")
			t.deliver(mailed("two"))
			t.advance(50 * time.Second)
			t.wantNothingDue("the claim of a minute lasts")
		}},
		{"F11", "a digest whose claim ran out is the same again", func(t *trial) {
			t.deliver(mailed("one"), mailed("two"), reply("bob", "three"))
			t.advance(mailAfter + time.Second)
			first := t.dueFor("alice", "three", "two", "one")
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1}})
			t.deliver(mailed("new"), reply("carol", "joins"))
			t.advance(61 * time.Second)
			second := t.dueFor("alice", "two")
			if second.Key != first.Key {
				t.Errorf("Key: got %s, want %s as the first time", second.Key, first.Key)
			}
			t.settle(second, true, mailAfter)
			t.wantNothingDue("the newer items have to wait")
			t.advance(mailAfter + time.Second)
			third := t.due()
			if len(third) != 1 || third[0].Key == first.Key || len(third[0].Items) == 0 || third[0].Items[len(third[0].Items)-1].Text != "new" {
				t.Errorf("the next digest: got %+v, want another one with the new item", third)
			}
		}},
		{"F11", "a digest that was not sent is the same again, later", func(t *trial) {
			t.deliver(mailed("one"))
			t.advance(mailAfter + time.Second)
			first := t.dueFor("alice", "one")
			t.deliver(mailed("two"))
			t.settle(first, false, 10*time.Minute)
			t.advance(9 * time.Minute)
			t.wantNothingDue("it is a minute too early")
			t.advance(61 * time.Second)
			second := t.dueFor("alice", "one")
			if second.Key != first.Key || second.Waited != 10*time.Minute {
				t.Errorf("digest: got Key %s and %v, want %s and 10m", second.Key, second.Waited, first.Key)
			}
			t.settle(second, true, 0)
			third := t.dueFor("alice", "two")
			if third.Key == first.Key || third.Waited != 0 {
				t.Errorf("the next digest: got Key %s and %v, want another Key, and that it was not put off", third.Key, third.Waited)
			}
		}},
		{"F11", "a digest that nobody was handed may have newer items", func(t *trial) {
			t.deliver(mailed("one"))
			t.advance(mailAfter + time.Second)
			d := t.dueFor("alice", "one")
			t.deliver(mailed("two"))
			d.Key = ""
			t.settle(d, false, 10*time.Minute)
			t.advance(10*time.Minute + time.Second)
			if d := t.dueFor("alice", "two", "one"); d.Waited != 10*time.Minute {
				t.Errorf("how long it was put off: got %v, want 10m", d.Waited)
			}
		}},
		{"F11", "a digest of which all was read is another one", func(t *trial) {
			t.deliver(mailed("one"))
			t.advance(mailAfter + time.Second)
			first := t.dueFor("alice", "one")
			t.deliver(mailed("two"))
			t.mark(alice, feed.Mark{As: feed.Read, Pos: []int64{1}})
			t.advance(61 * time.Second)
			if second := t.dueFor("alice", "two"); second.Key == first.Key {
				t.Errorf("two digests with other items have the Key %s", first.Key)
			}
		}},
		{"F11", "an item that moved while its digest was sent is in no other one", func(t *trial) {
			t.deliver(reply("bob", "one"), mailed("two"))
			t.advance(mailAfter + time.Second)
			d := t.dueFor("alice", "two", "one")
			t.deliver(reply("carol", "joins"))
			t.settle(d, true, 0)
			t.advance(time.Hour)
			t.wantNothingDue("the item was in the digest")
		}},
		{"F11", "only the latest claim settles a digest", func(t *trial) {
			t.deliver(mailed("one"))
			t.advance(mailAfter + time.Second)
			first := t.dueFor("alice", "one")
			t.advance(61 * time.Second)
			second := t.dueFor("alice", "one")
			t.settle(first, false, 0)
			t.wantNothingDue("it is claimed by another one")
			t.settle(second, true, 0)
			t.settle(second, false, 0)
			t.settle(feed.Digest{User: "alice"}, false, 0)
			t.settle(feed.Digest{User: "nobody", Claim: second.Claim}, true, 0)
			t.wantNothingDue("it is settled")
			if h := t.head("inbox:nobody"); h != (feed.Head{}) {
				t.Errorf("a feed that nobody wrote to: got head %+v, want zero", h)
			}
		}},
		{"F11", "a digest changes no revision", func(t *trial) {
			t.deliver(mailed("one"))
			h := t.head(alice)
			t.advance(mailAfter + time.Second)
			t.settle(t.dueFor("alice", "one"), true, 0)
			if now := t.head(alice); !sameHead(h, now) {
				t.Errorf("head: got %+v, want %+v as before", now, h)
			}
		}},
	}
}
