package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A page closes at a node whose writes hang, and its user signs out at another one while the end of the page
// is being written. What is written again, after an outage in which leases may have expired, does not show
// the user: whenever the sign-out is heard.
func TestSignOutWhileTheEndOfAPageIsWritten(t *testing.T) {
	for after := time.Second; after < 10*time.Second; after += time.Second {
		bubble(t, after.String(), func(t *testing.T) { testSignOutWhileWriting(t, after) })
	}
}

func testSignOutWhileWriting(t *testing.T, after time.Duration) {
	store := memstore.New()
	way := presencetest.NewFaults(store)
	a, b := start(t, way, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
	page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
	time.Sleep(time.Minute)
	way.Break(presencetest.Fault{Hang: true}, presencetest.CallApply, presencetest.CallPoll)
	time.Sleep(20 * time.Second)
	page.Close()
	time.Sleep(after)
	noError(t, b.SignOut(t.Context(), "alice"))
	way.Heal()
	time.Sleep(time.Minute)
	diffs, err := store.Log(t.Context(), presence.Site, "")
	noError(t, err)
	if len(diffs) != 2 || len(diffs[1].Leaves) != 1 {
		t.Errorf("got diffs %+v, want one join and one leave", diffs)
	}
}
