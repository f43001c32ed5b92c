package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A page says at any node that nobody sees it, or that somebody does: a beat may come to another node than the
// stream has. Only who holds the connection's token can say so.
func TestHiddenAtAnotherNode(t *testing.T) {
	bubble(t, "hidden", func(t *testing.T) {
		a, b := pair(t, memstore.New())
		for _, who := range []presence.Visitor{visitor("alice"), {Guest: "g"}} {
			c := connect(t, a, track.ConnectOptions{Visitor: who})
			_ = c.Events(nil)
			for _, hidden := range []bool{true, false} {
				alive, err := b.Beat(t.Context(), c.Token(), who, track.Page{Hidden: &hidden})
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				if noError(t, err); !alive || c.Hidden() != hidden {
					t.Errorf("%v: alive %v, hidden %v, want true and %v", who, alive, c.Hidden(), hidden)
				}
				b.Seen(presence.Site, user(map[bool]string{true: "bob", false: "carol"}[hidden]), presence.Device{})
				time.Sleep(time.Second)
				synctest.Wait()
				if got := len(c.Events(nil)); hidden && got > 0 || !hidden && who.User.ID != "" && got == 0 {
					t.Errorf("%v, hidden %v: got %d events", who, hidden, got)
				}
			}
			if alive, _ := b.Beat(t.Context(), c.Token(), visitor("mallory"), track.Page{Hidden: new(bool)}); alive {
				t.Errorf("another user's beat counts for %v", who)
			}
			c.Close()
		}
	})
}
