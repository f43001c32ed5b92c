package memstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// All batches of one call are of one moment, also where a listener takes long: else the leaves of a user who
// turns invisible would tell in which order topics were written.
func TestApplyIsOfOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		var at []time.Time
		for _, topic := range []presence.Topic{"site", "thread:1"} {
			stop, err := store.Watch(t.Context(), topic, backend.Watcher{Diff: func(d backend.Diff) {
				at = append(at, d.At)
				time.Sleep(3 * time.Millisecond)
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
		}
		join := []backend.Op{{Kind: backend.OpJoin, User: presence.User{ID: "bob"}, Holder: "a.1", For: time.Minute}}
		for _, result := range store.Apply(t.Context(), []backend.Batch{{Topic: "site", Ops: join}, {Topic: "thread:1", Ops: join}}) {
			if result.Err != nil {
				t.Fatal(result.Err)
			}
		}
		if len(at) != 2 || !at[0].Equal(at[1]) {
			t.Errorf("got diffs of %v, want two of one moment", at)
		}
	})
}
