package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A window tells when users were last seen as the whole roster does, also where the store lost them, and where it
// lost its log.
func TestWindowTellsLastSeen(t *testing.T) {
	bubble(t, "wiped", func(t *testing.T) {
		store := newSwapStore()
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		for _, id := range []string{"alice", "bob", "carol"} {
			connect(t, b, track.ConnectOptions{Visitor: visitor(id)})
		}
		come := connect(t, b, track.ConnectOptions{Visitor: visitor("dave")})
		whole := openPage(t, a, track.ConnectOptions{Observe: true})
		window := openPage(t, a, track.ConnectOptions{Observe: true, Window: track.Window{Users: 50, Also: []presence.UserID{"bob"}}})
		read := func() {
			time.Sleep(100 * time.Millisecond)
			whole.read()
			window.read()
		}
		read()
		store.goOnAs(memstore.New())
		for i := range 40 {
			switch i {
			case 8:
				noError(t, a.SignOut(t.Context(), "alice"))
			case 16:
				noError(t, b.SignOut(t.Context(), "bob"))
			case 24:
				come.Close()
			}
			time.Sleep(400 * time.Millisecond)
			read()
		}
		time.Sleep(time.Minute)
		read()
		for _, id := range []string{"alice", "bob", "dave"} {
			if want := whole.lastSeen[id]; want == "" || window.lastSeen[id] != want {
				t.Errorf("%s was last seen at %q by a window, and at %q by the whole roster", id, window.lastSeen[id], want)
			}
		}
	})
}

// The leave of a user may end the time in which users are provisional, and with it the history that tells it.
func TestWindowTellsTheLastProvisionalLeave(t *testing.T) {
	for at := time.Duration(0); at < 8*time.Second; at += 200 * time.Millisecond {
		bubble(t, at.String(), func(t *testing.T) {
			store := newSwapStore()
			a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
			connect(t, b, track.ConnectOptions{Visitor: visitor("bob")})
			whole := openPage(t, a, track.ConnectOptions{Observe: true})
			window := openPage(t, a, track.ConnectOptions{Observe: true, Window: track.Window{Users: 50}})
			read := func() {
				time.Sleep(100 * time.Millisecond)
				whole.read()
				window.read()
			}
			read()
			store.goOnAs(memstore.New())
			time.Sleep(at)
			read()
			noError(t, b.SignOut(t.Context(), "bob"))
			for range 40 {
				time.Sleep(time.Second)
				read()
			}
			if want := whole.lastSeen["bob"]; want == "" || window.lastSeen["bob"] != want {
				t.Errorf("bob was last seen at %q by a window, and at %q by the whole roster", window.lastSeen["bob"], want)
			}
		})
	}
}
