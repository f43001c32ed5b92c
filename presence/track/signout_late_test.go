package track_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A call that tells of a sign-out takes two seconds, and so the store takes the sign-out for later than it was. The user has signed
// in again meanwhile, and is shown a few seconds later, also after a second page.
func TestSignInWhileASignOutIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		slow := presencetest.NewFaults(memory)
		a, b := start(t, slow, track.Config{Node: "a"}), start(t, memory, track.Config{Node: "b"})
		w := watch(t, b)
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(10 * time.Second)
		slow.Break(presencetest.Fault{Delay: 2 * time.Second}, presencetest.CallApply)
		go func() { _ = a.SignOut(context.Background(), "alice") }()
		time.Sleep(time.Second)
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(2 * time.Second)
		slow.Heal()
		time.Sleep(4 * time.Second)
		w.skip()
		if _, there := view(t, b).Member("alice"); !there {
			t.Error("alice, who has a page open, is not shown")
		}
		second := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(5 * time.Second)
		second.Close()
		time.Sleep(3 * time.Minute)
		w.want()
	})
}
