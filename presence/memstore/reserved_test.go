package memstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// Rule 2: the ids of a roster's diffs, which readers see in cursors, do not tell that something happened in a topic that
// no page may name.
func TestReservedTopicsLeaveNoGap(t *testing.T) {
	next := func(between presence.Topic) string {
		store := memstore.New()
		join := func(topic presence.Topic, id presence.UserID) {
			store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{
				{Kind: backend.OpJoin, User: presence.User{ID: id}, Holder: "a.1", For: time.Hour},
			}}})
		}
		join(presence.Site, "alice")
		join(between, "bob")
		join(presence.Site, "carol")
		head, err := store.Snapshot(t.Context(), presence.Site)
		if err != nil {
			t.Fatal(err)
		}
		return string(head.ID)[8:] // behind the epoch
	}
	if got, want := next("@people"), "-2"; got != want {
		t.Errorf("got id …%s after a diff of a reserved topic, want …%s", got, want)
	}
}
