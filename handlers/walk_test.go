package handlers_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence/track"
)

// TestWalkOfSettings is the walk of a change of settings, from its request to the diff of a
// watcher. TestWalks in the root of the module compares it with a run whose user stands still.
func TestWalkOfSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{presence: track.Config{Grace: -1}})
		s.online("bob", "b1")
		l := s.listen(request{path: "events?topic=people&person=bob", user: "alice"})
		l.want("welcome")
		l.want("state")
		time.Sleep(time.Second)
		if os.Getenv("WALK") != "still" {
			s.wantStatus(put("settings", "bob", `{"status":"busy"}`), 204)
			l.want("diff")
		}
	})
}
