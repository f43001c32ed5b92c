package redisstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// The pages of a large topic name everybody once at a node that starts where the log has updates
// alone: its sample is a page of HSCAN, in no order.
func TestPagesOfALargeTopic(t *testing.T) {
	store := redisstore.New(redistest.Start(t).Client(), redisstore.Config{Timeout: patience, LogSize: 8})
	defer store.Close()
	const users, batch, most = 6000, 250, 500
	apply := func(from, to int, kind presence.OpKind) {
		var ops []presence.Op
		for i := from; i < to; i++ {
			id := fmt.Sprintf("u%04d", i)
			ops = append(ops, presence.Op{Kind: kind, User: presence.User{ID: presence.UserID(id)}, Holder: presence.Holder("b.q." + id), For: time.Hour, Idle: kind == presence.OpAttend})
		}
		if err := store.Apply(t.Context(), []presence.Batch{{Topic: presence.Site, Ops: ops}})[0].Err; err != nil {
			t.Fatal(err)
		}
	}
	for from := 0; from < users; from += batch {
		apply(from, from+batch, presence.OpJoin)
		time.Sleep(2 * time.Millisecond)
	}
	for i := range 200 {
		apply(i, i+1, presence.OpAttend)
	}
	tracker, err := presence.New(store, presence.Config{MaxRoster: 50, LogSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer tracker.Close(t.Context())
	named := make(map[presence.UserID]int)
	for after, pages := "", 0; ; pages++ {
		view, err := tracker.View(t.Context(), presence.Site)
		for tries := 0; errors.Is(err, presence.ErrStoreOut) && tries < 100; tries++ { // it is still being read
			time.Sleep(50 * time.Millisecond)
			view, err = tracker.View(t.Context(), presence.Site)
		}
		if err != nil {
			t.Fatal(err)
		}
		page, next, err := tracker.RosterPage(t.Context(), view, "", after, most)
		if err != nil || len(page) > most || pages > users {
			t.Fatalf("page %d: got %d users, %v", pages, len(page), err)
		}
		for _, m := range page {
			named[m.ID]++
		}
		if pages == 1 {
			apply(users, users+batch, presence.OpJoin) // users who come meanwhile
		}
		if after = next; after == "" {
			break
		}
	}
	for i := range users {
		if id := presence.UserID(fmt.Sprintf("u%04d", i)); named[id] == 0 {
			t.Fatalf("the pages name %d of %d users, and not %s", len(named), users, id)
		} else if named[id] > 2 {
			t.Errorf("the pages name %s %d times", id, named[id])
		}
	}
}
