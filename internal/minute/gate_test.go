package minute

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		passed := 0
		for range 3 * 60 { // once a second, for three minutes
			if g.Pass() {
				passed++
			}
			time.Sleep(time.Second)
		}
		if passed != 3 {
			t.Errorf("passed %d times in three minutes, want 3", passed)
		}
		if g.PassAfter(61*time.Second) || !g.PassAfter(time.Minute) || g.Pass() {
			t.Error("after a minute: want that it passes once, and not after 61 s")
		}
		if g.Open(); !g.Pass() {
			t.Error("did not pass once it was opened")
		}
	})
}
