package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A reader of a window hears the total each second while it changes, and a change of a user with a dot within half a
// second, also while the window waits for its turn.
func TestWindowWhileItWaits(t *testing.T) {
	bubble(t, "steady changes", func(t *testing.T) {
		store := memstore.New()
		node := start(t, store, track.Config{})
		come(t, store, span(0, 50)...)
		c := connect(t, node, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: track.Window{Users: 20, Also: []presence.UserID{"u0"}}})
		total, online := 0, true
		read := func() {
			synctest.Wait()
			for _, e := range c.Events(nil) {
				d := windowEvent(t, e)
				total = d.Total
				if _, left := d.Leaves["u0"]; left {
					online = false
				} else if d.Joins["u0"] != "" {
					online = true
				}
			}
		}
		read()
		const tenth = 100 * time.Millisecond
		for i := range 300 {
			came := 50 + 4*i
			if is := i/20%2 == 0; i%20 == 5 && online != is {
				t.Errorf("half a second after u0 came or went the page has %v, want %v", online, is)
			} else if i%20 == 0 && i > 0 {
				if is {
					come(t, store, "u0")
				} else {
					leave(t, store, "u0")
				}
			}
			if i > 20 && total < came-60 {
				t.Errorf("after %v the page has a total of %d, want at least that of 1.5 s ago, %d", time.Duration(i)*tenth, total, came-60)
			}
			come(t, store, span(1000+4*i, 1004+4*i)...)
			time.Sleep(tenth)
			read()
		}
	})
}
