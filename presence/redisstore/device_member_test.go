package redisstore_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// The topic of devices has ids with a \x1e and statuses that are words. Other ids and
// statuses that no user can have are refused, as ever.
func TestDeviceMembers(t *testing.T) {
	t.Parallel()
	store := redisstore.New(redistest.Start(t).Client(), redisstore.Config{Timeout: patience})
	defer store.Close()
	const topic presence.Topic = "@people"
	join := func(id presence.UserID, status presence.Status) {
		t.Helper()
		u := presence.User{ID: id, Name: "Name", Data: json.RawMessage(`{"kind":"mobile"}`), Status: status}
		r := store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{{Kind: backend.OpJoin, User: u, Holder: "a.1", For: time.Hour}}}})
		if r[0].Err != nil {
			t.Fatal(r[0].Err)
		}
	}
	const word presence.Status = "ec-.lkj3.busy.aW4gYSBjYWxs."
	join("alice\x1ephone:1", word)
	snap, err := store.Snapshot(t.Context(), topic)
	if err != nil || len(snap.Members) != 1 || snap.Members[0].ID != "alice\x1ephone:1" || snap.Members[0].Status != word {
		t.Fatalf("got %+v, %v, want the device with its word", snap, err)
	}
	if diffs, err := store.Log(t.Context(), topic, backend.Origin); err != nil || len(diffs) != 1 || diffs[0].Joins[0].Status != word {
		t.Fatalf("got %+v, %v, want the join of the device", diffs, err)
	}
	for _, bad := range []presence.User{{ID: "bob\x1ea b", Status: word}, {ID: "bob\x1e\x1e", Status: word}, {ID: "bob", Status: "asleep"}, {ID: "bob", Status: "e;c.x"}} {
		join(bad.ID, bad.Status)
		if s, err := store.Snapshot(t.Context(), topic); err == nil {
			t.Errorf("%q with %q: got %+v, want an error", bad.ID, bad.Status, s)
		}
		store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{{Kind: backend.OpSignOut, User: presence.User{ID: bad.ID}}}}})
	}
}
