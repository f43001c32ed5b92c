package track_test

import (
	"fmt"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// More diffs than the history holds may come between two frames: the roster has
// them all, and readers get a state.
func TestMoreDiffsThanTheHistoryHolds(t *testing.T) {
	for _, limit := range []int{-1, 10} {
		bubble(t, fmt.Sprint("roster limit ", limit), func(t *testing.T) {
			store := memstore.New()
			tracker := start(t, store, track.Config{LogSize: 4, MaxRoster: limit})
			p := watch(t, tracker)
			for _, kind := range []backend.OpKind{backend.OpJoin, backend.OpRelease} {
				for i := range 50 {
					op := backend.Op{Kind: kind, User: user(fmt.Sprint("u", i)), Holder: "a.1", For: tracker.Config().TTL}
					if kind == backend.OpRelease && i < 3 {
						continue // some stay
					}
					if kind == backend.OpRelease {
						op.For = 0
					}
					store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{op}}})
				}
				for range 30 {
					p.settle()
				}
				want := 50
				if kind == backend.OpRelease {
					want = 3
				}
				view, err := tracker.View(t.Context(), presence.Site)
				if err != nil || view.Total != want || len(view.Newest(100)) != want {
					t.Fatalf("got a view of %d, %v, want %d", view.Total, err, want)
				}
			}
			p.read()
			if got := len(p.roster["site"]); got != 3 {
				t.Errorf("the reader has %d, want 3: %q", got, p.lines)
			}
		})
	}
}
