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

// The topic of devices has ids with a \x1e and a visibility. Other ids, and statuses
// that no user can have, are refused, as ever.
func TestDeviceMembers(t *testing.T) {
	t.Parallel()
	store := redisstore.New(redistest.Start(t).Client(), redisstore.Config{Timeout: patience})
	defer store.Close()
	const topic presence.Topic = "@people"
	join := func(u presence.User) {
		t.Helper()
		time.Sleep(2 * time.Millisecond) // a join of the moment of a sign-out holds nobody
		u.Name, u.Data = "Name", json.RawMessage(`{"kind":"mobile"}`)
		r := store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{{Kind: backend.OpJoin, User: u, Holder: "a.1", For: time.Hour}}}})
		if r[0].Err != nil {
			t.Fatal(r[0].Err)
		}
	}
	shown := &presence.Visibility{Online: presence.Everyone, Seen: presence.Contacts, Status: presence.Busy, Text: "in a call"}
	join(presence.User{ID: "alice\x1ephone:1", Visibility: shown})
	snap, err := store.Snapshot(t.Context(), topic)
	if err != nil || len(snap.Members) != 1 || snap.Members[0].ID != "alice\x1ephone:1" || !snap.Members[0].Visibility.Equal(shown) {
		t.Fatalf("got %+v, %v, want the device with its visibility", snap, err)
	}
	if diffs, err := store.Log(t.Context(), topic, backend.Origin); err != nil || len(diffs) != 1 || !diffs[0].Joins[0].Visibility.Equal(shown) {
		t.Fatalf("got %+v, %v, want the join of the device", diffs, err)
	}
	for _, bad := range []presence.User{{ID: "bob\x1ea b", Visibility: shown}, {ID: "bob\x1e\x1e", Visibility: shown}, {ID: "bob", Status: "asleep"}, {ID: "bob", Status: "e;c.x"}} {
		join(bad)
		if s, err := store.Snapshot(t.Context(), topic); err == nil {
			t.Errorf("%+v: got %+v, want an error", bad, s)
		}
		store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{{Kind: backend.OpSignOut, User: presence.User{ID: bad.ID}}}}})
	}
}
