package feedtest_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
)

// TestMemory shows what a test of a site does with a Memory.
func TestMemory(t *testing.T) {
	ctx, store := t.Context(), feedtest.NewMemory()
	if err := store.Send(ctx, feed.Message{To: []presence.UserID{"alice"}, From: "bob", Text: "{actors} replied", About: "thread:1", Group: "replies", Mail: true}); err != nil {
		t.Fatal(err)
	}
	if err := store.Insert("x1", `{"to":["alice","carol"],"from":"carol","text":"{actors} replied","about":"thread:1","group":"replies"}`); err != nil {
		t.Fatal(err)
	}
	if got := len(store.Outbox()); got != 2 {
		t.Errorf("rows of the outbox: got %d, want 2", got)
	}
	store.Out(true)
	if _, err := store.Relay(ctx, feed.RelayOptions{}); err == nil {
		t.Error("a relay while the database is out: got no error")
	}
	store.Out(false)
	if r, err := store.Relay(ctx, feed.RelayOptions{MailAfter: time.Minute}); err != nil || r.Moved != 2 || r.Dropped["self"] != 1 {
		t.Errorf("relay: got %+v, %v, want 2 moved and 1 dropped as self", r, err)
	}
	h, items, more, err := store.Page(ctx, "inbox:alice", 0, 20)
	if err != nil || more || len(items) != 1 || h.Unread != 1 || items[0].Count != 2 {
		t.Errorf("page: got %+v, %+v, %v, %v, want one unread item of 2 messages", h, items, more, err)
	}
	store.Advance(time.Minute)
	due, err := store.Due(ctx, 10, time.Minute)
	if err != nil || len(due) != 1 || due[0].User != "alice" {
		t.Errorf("due: got %+v, %v, want one digest for alice", due, err)
	}
}
