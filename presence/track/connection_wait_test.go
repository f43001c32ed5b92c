package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A page whose user the roster here has, such as the next poll of a page, does not wait for the store. The first page does, so that
// its list has its visitor.
func TestListedUserDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := presencetest.NewFaults(memstore.New())
		a := start(t, slow, track.Config{})
		watch(t, a)
		time.Sleep(10 * time.Second)
		slow.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallApply)
		for _, want := range []time.Duration{time.Second, 0} {
			began := time.Now()
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			if took := time.Since(began); (took - want).Abs() > 500*time.Millisecond {
				t.Errorf("it took %v, want about %v", took, want)
			}
			time.Sleep(2 * time.Second)
		}
	})
}
