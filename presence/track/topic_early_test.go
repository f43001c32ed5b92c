package track_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The store loses its data twice, and Alice hides. The nodes made her lease again after the first loss, and
// that is not told after the second.
func TestDiffsFromBeforeTheSecondLoss(t *testing.T) {
	for wait := 250 * time.Millisecond; wait < 2*time.Second; wait += 125 * time.Millisecond { // some while nodes wait to read the topic again
		synctest.Test(t, func(t *testing.T) {
			store := newSwapStore()
			a, b := pair(t, store)
			w := watch(t, a)
			connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
			w.want("diff +alice -")
			store.wipe()
			time.Sleep(wait)
			store.wipe()
			time.Sleep(600 * time.Millisecond)
			choose(t, b, "alice", presence.Invisible)
			w.read()
			before := len(w.lines)
			time.Sleep(20 * time.Second)
			w.read()
			for _, line := range w.lines[before:] {
				if strings.Contains(line, "+alice") {
					t.Errorf("%v after the first loss: got %q", wait, line)
				}
			}
		})
	}
}
