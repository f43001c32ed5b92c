package track_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A client may look for a list whose hash is that of another page's list. Each of the two gets its own dots.
func TestListsOfOneHashShareNoWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		for _, id := range []string{"alice", "bob", "carol"} {
			connect(t, tracker, track.ConnectOptions{Visitor: visitor(id)})
			time.Sleep(time.Second)
		}
		window := func(also presence.UserID) track.ConnectOptions {
			return track.ConnectOptions{Observe: true, Window: track.Window{Users: 1, Also: []presence.UserID{also}}}
		}
		mallory := connect(t, tracker, window("bob"))
		tracker.ShareHash(presence.Site, window("bob").Window, window("alice").Window)
		state := func(c *track.Connection) (users string) {
			for _, e := range c.Events(nil) {
				users += string(e.Data)
			}
			return users
		}
		if got := state(connect(t, tracker, window("alice"))); !strings.Contains(got, `"alice":`) || strings.Contains(got, `"bob":`) {
			t.Errorf("got %s, want the dot of alice alone", got)
		}
		if got := state(mallory); !strings.Contains(got, `"bob":`) || strings.Contains(got, `"alice":`) {
			t.Errorf("the other: got %s, want the dot of bob alone", got)
		}
	})
}
