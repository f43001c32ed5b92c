package presence_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// A Go program that resumes a topic over the roster limit gets the total of now.
func TestResumeOverTheRosterLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), presence.Config{MaxRoster: 2})
		connect(t, tracker, presence.ConnectOptions{Observe: true}) // the topic stays loaded
		var at presence.Cursor
		for i := range 5 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(2 * time.Second)
			if i == 3 {
				view, err := tracker.View(t.Context(), presence.Site)
				noError(t, err)
				at = view.Cursor
			}
		}
		for change, err := range tracker.Changes(t.Context(), presence.Site, at) {
			if err != nil || change.State || change.Total != 5 {
				t.Errorf("got %+v, %v, want a total of 5", change, err)
			}
			break
		}
	})
}
