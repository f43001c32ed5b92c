package sqlstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

var relayOptions = feed.RelayOptions{MailAfter: 5 * time.Minute, Most: 1_000}

// relayAll relays until nothing is due.
func relayAll(t testing.TB, f *sqlstore.Feeds) (all feed.Relayed) {
	t.Helper()
	for more := true; more; {
		done, err := f.Relay(t.Context(), relayOptions)
		if err != nil {
			t.Fatal(err)
		}
		all.Moved += done.Moved
		all.Changed = append(all.Changed, done.Changed...)
		all.Dropped, all.Failed = done.Dropped, done.Failed
		more = done.More
	}
	return all
}

func head(t testing.TB, f *sqlstore.Feeds, n feed.Name) feed.Head {
	t.Helper()
	heads, err := f.Heads(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return heads[0]
}

func TestFeedsBasics(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		f := s.Feeds()
		ctx := t.Context()
		send := func(ms ...feed.Message) {
			t.Helper()
			if err := f.Send(ctx, ms...); err != nil {
				t.Fatal(err)
			}
		}
		reply := func(from presence.UserID) feed.Message {
			return feed.Message{To: []presence.UserID{"alice", "bob"}, From: from, Type: "reply", About: "thread:1", Group: "replies", Text: "{actors} replied", URL: "/threads/1", Mail: true, Data: json.RawMessage(`{"a":1}`)}
		}
		send(reply("bob"), reply("carol"), feed.Message{To: []presence.UserID{"alice"}, Text: "<hello> \"you\""})
		must(t, db, `INSERT INTO rollcall_outbox (id, message) VALUES ('other', '{"feed":"thread:1","id":"post-1","text":"A post","from":"bob"}')`)
		done := relayAll(t, f)
		if done.Moved != 5 || done.Dropped["self"] != 1 || len(done.Changed) != 3 {
			t.Errorf("got %+v", done)
		}
		h, items, more, err := f.Page(ctx, "inbox:alice", 0, 10)
		if err != nil || more || h.Rev != 1 || h.Pos != 3 || h.Unread != 2 || h.Unseen != 2 || len(items) != 2 {
			t.Fatalf("got %+v, %+v, %v, %v", h, items, more, err)
		}
		if i := items[1]; i.Count != 2 || len(i.Actors) != 2 || i.Actors[0].ID != "carol" || i.Mail != feed.ToMail || string(i.Data) != `{"a":1}` || time.Since(i.At).Abs() > time.Minute {
			t.Errorf("got %+v", i)
		}
		send(reply("dave"))
		relayAll(t, f)
		changes, err := f.Changes(ctx, feed.Since{Name: "inbox:alice", Rev: 1, Born: h.Born}, feed.Since{Name: "thread:1"}, feed.Since{Name: "thread:2"}, feed.Since{Name: "inbox:alice", Rev: 7, Born: h.Born})
		if err != nil || len(changes[0].Items) != 1 || changes[0].Items[0].Count != 3 || changes[0].Head.Unread != 2 || len(changes[1].Items) != 1 || changes[1].Items[0].State != feed.Read || changes[2].Gap || !changes[3].Gap {
			t.Errorf("got %+v, %v", changes, err)
		}
		// A digest.
		must(t, db, "UPDATE rollcall_feeds SET mail_at = 1 WHERE mail_at IS NOT NULL")
		due, err := f.Due(ctx, 10, time.Minute)
		if err != nil || len(due) != 2 || len(due[0].Items) != 1 {
			t.Errorf("got %+v, %v", due, err)
		}
		for _, d := range due {
			if err := f.Settle(ctx, d, true, time.Minute); err != nil {
				t.Error(err)
			}
		}
		if n := one[int](t, db, "SELECT count(*) FROM rollcall_feeds WHERE mail_at IS NOT NULL"); n != 0 {
			t.Errorf("%d digests are due", n)
		}
		h, err = f.Mark(ctx, "inbox:alice", feed.Mark{Seen: true})
		if err != nil || h.Unseen != 0 || h.Rev != 3 {
			t.Errorf("got %+v, %v", h, err)
		}
		for range 2 { // rule F7
			h, err = f.Mark(ctx, "inbox:alice", feed.Mark{As: feed.Read, About: "thread:1"})
			if err != nil || h.Unread != 1 || h.Rev != 4 {
				t.Errorf("got %+v, %v", h, err)
			}
		}
		h, err = f.Mark(ctx, "inbox:alice", feed.Mark{As: feed.Archived, Pos: []int64{3, 99}})
		if err != nil || h.Unread != 0 || h.Rev != 5 {
			t.Errorf("got %+v, %v", h, err)
		}
		h, err = f.Mark(ctx, "inbox:alice", feed.Mark{As: feed.Unread, UpTo: 100})
		if err != nil || h.Unread != 1 || h.Rev != 6 {
			t.Errorf("got %+v, %v", h, err)
		}
		if _, err := f.Edit(ctx, "thread:1", "post-1", feed.Message{Text: "Another"}); err != nil {
			t.Error(err)
		}
		if _, err := f.Remove(ctx, "thread:1", "post-1"); err != nil {
			t.Error(err)
		}
		if h, err := f.Remove(ctx, "thread:1", "post-1"); err != nil || h.Rev != 3 {
			t.Errorf("got %+v, %v", h, err)
		}
		if _, err := f.Edit(ctx, "thread:1", "post-1", feed.Message{Text: "Another"}); !errors.Is(err, feed.ErrNoItem) {
			t.Errorf("got %v", err)
		}
		if err := f.Mute(ctx, "alice", feed.Mute{Scope: "about:thread:1", How: feed.MuteAll}); err != nil {
			t.Error(err)
		}
		if all, err := f.Mutes(ctx, "alice"); err != nil || len(all) != 1 || all[0].How != feed.MuteAll {
			t.Errorf("got %v, %v", all, err)
		}
		send(reply("erin"))
		if done := relayAll(t, f); done.Dropped["muted"] != 1 || done.Moved != 1 {
			t.Errorf("got %+v", done)
		}
		must(t, db, "INSERT INTO rollcall_outbox (id, message) VALUES ('bad', 'no'), ('worse', '{}')")
		if done := relayAll(t, f); done.Failed["json"] != 1 || done.Failed["message"] != 1 {
			t.Errorf("got %+v", done)
		}
		if o, err := f.Waiting(ctx); err != nil || o.Waiting != 2 || o.Failed != 0 || o.Oldest <= 0 {
			t.Errorf("got %+v, %v", o, err)
		}
		must(t, db, "UPDATE rollcall_feeds SET unread = 7, unseen = 7 WHERE feed = 'inbox:bob'")
		if wrong, err := f.Recount(ctx, 10); err != nil || wrong != 1 {
			t.Errorf("got %v, %v", wrong, err)
		}
		to := make([]presence.UserID, 1_234)
		for i := range to {
			to[i] = presence.UserID(fmt.Sprint("user-", i))
		}
		send(feed.Message{To: to, Text: "many"})
		if done := relayAll(t, f); done.Moved != 1_234 {
			t.Errorf("got %+v", done)
		}
		o := feed.TrimOptions{Most: 1, Keep: time.Hour, Archived: time.Hour, Rows: 1_000}
		if n, err := f.Trim(ctx, o); err != nil || n != 1 {
			t.Errorf("got %v, %v", n, err)
		}
		must(t, db, "UPDATE rollcall_items SET at = at - 4000000")
		must(t, db, "UPDATE rollcall_ids SET at = at - 4000000")
		must(t, db, "UPDATE rollcall_feeds SET trim_at = trim_at - 4000000")
		for n := 1; n > 0; {
			if n, err = f.Trim(ctx, o); err != nil {
				t.Fatal(err)
			}
		}
		if n := one[int](t, db, "SELECT count(*) FROM rollcall_items") + one[int](t, db, "SELECT count(*) FROM rollcall_ids"); n != 0 {
			t.Errorf("%d rows stay", n)
		}
		if h := head(t, f, "inbox:user-7"); h.Rev != 2 || h.Floor != 2 || h.Unread != 0 {
			t.Errorf("got %+v", h)
		}
	})
}
