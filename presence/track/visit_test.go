package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A connection that ends is over at each node to which beats of its page come, however it ends: whether its own node heard
// beats too or not, and also for a client that goes on beating.
func TestBeatsOfAConnectionThatEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		beat bool // the page said that it beats
		own  bool // it beats at its own node too
	}{"beats at both nodes": {true, true}, "beats at the other node": {true, false}, "never said that it beats": {false, false}} {
		bubble(t, name, func(t *testing.T) {
			store := memstore.New()
			a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
			page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: tc.beat})
			token := page.Token()
			beat := func() bool {
				alive, err := b.Beat(t.Context(), token, presence.Visitor{}, track.Page{})
				noError(t, err)
				return alive
			}
			for range 3 {
				time.Sleep(10 * time.Second)
				if tc.own {
					beatAt(t, a, page, false)
				}
				if !beat() {
					t.Fatal("a beat of an open connection: got false, want true")
				}
			}
			page.Close()
			for i := range 3 {
				synctest.Wait()
				if beat() {
					t.Errorf("beat %d after the end: got true, want false", i+1)
				}
				time.Sleep(6 * time.Second)
			}
			if view, err := a.View(t.Context(), presence.Site); err != nil || view.Total != 0 {
				t.Errorf("18 s after the end: got %+v and %v, want nobody online", view, err)
			}
		})
	}
}
