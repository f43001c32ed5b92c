package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A client chooses the size of its window. All sizes from the whole roster on are one window, which is made once.
func TestWindowsOverTheWholeRosterAreOne(t *testing.T) {
	bubble(t, "three users", func(t *testing.T) {
		tracker := idleNode(t, memstore.New(), track.Config{})
		for _, id := range []presence.UserID{"alice", "bob", "carol"} {
			tracker.Seen(presence.Site, presence.User{ID: id}, presence.Device{})
		}
		time.Sleep(time.Second)
		view, err := tracker.View(t.Context(), presence.Site)
		if err != nil || view.Total != 3 {
			t.Fatalf("got %v, %v, want three users", view, err)
		}
		for size := 3; size < 100; size++ {
			if !track.SharesWindow(view, size, 1000) {
				t.Errorf("a window of %d is not that of 1000", size)
			}
		}
		if track.SharesWindow(view, 2, 3) {
			t.Error("a window of two is that of three")
		}
	})
}
