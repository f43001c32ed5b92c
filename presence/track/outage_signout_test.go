package track_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Who signs out, or closes a page, while the store is out is gone on every node
// once it is back; who signed in again meanwhile stays.
func TestGoodbyeDuringAnOutage(t *testing.T) {
	for _, tc := range []struct {
		name    string
		goodbye func(ctx context.Context, a *track.Tracker, there *track.Connection) error
		why     error
	}{
		{"sign-out", func(ctx context.Context, a *track.Tracker, _ *track.Connection) error {
			return a.SignOut(ctx, "alice")
		}, presence.ErrSignedOut},
		{"page closed", func(ctx context.Context, a *track.Tracker, there *track.Connection) error {
			return a.Leave(ctx, there.Token(), visitor("alice"))
		}, context.Canceled},
	} {
		for _, again := range []bool{false, true} {
			name := tc.name
			if again {
				name += ", and signed in again"
			}
			bubble(t, name, func(t *testing.T) {
				faults := presencetest.NewFaults(memstore.New())
				a, b := pair(t, faults)
				w := watch(t, b)
				there := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
				w.want("diff +alice -")

				faults.Break(presencetest.Fault{Err: errDown})
				time.Sleep(3 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := tc.goodbye(ctx, a, there); !errors.Is(err, presence.ErrStoreOut) {
					t.Errorf("got %v, want ErrStoreOut", err)
				}
				time.Sleep(3 * time.Second)
				var back *track.Connection
				if again {
					back = connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
				}
				time.Sleep(3 * time.Second)
				faults.Heal()
				time.Sleep(2 * time.Minute)

				if got := there.Err(); !errors.Is(got, tc.why) {
					t.Errorf("the connection ended with %v, want %v", got, tc.why)
				}
				if again && back.Err() != nil {
					t.Errorf("the connection opened since ended with %v, want it open", back.Err())
				}
				w.read()
				if _, online := w.roster["site"]["alice"]; online != again {
					t.Errorf("got %q, want alice online: %v", w.lines, again)
				}
			})
		}
	}
}

// A page view that waits at a node while its user signs out at another one is not written later. One
// that came since is.
func TestViewsThatWaitedEndWithASignOut(t *testing.T) {
	for name, signOut := range map[string]func(ctx context.Context, b *track.Tracker) error{
		"sign-out": func(ctx context.Context, b *track.Tracker) error { return b.SignOut(ctx, "alice") },
		"sign-off": func(ctx context.Context, b *track.Tracker) error { return b.SignOff(ctx, "alice", "firefox") },
	} {
		for _, since := range []bool{false, true} {
			bubble(t, fmt.Sprint(name, ", views since: ", since), func(t *testing.T) {
				memory := memstore.New()
				slow := presencetest.NewFaults(memory)
				a := start(t, slow, track.Config{Node: "a"})
				b := start(t, memory, track.Config{Node: "b"})
				noError(t, a.SetStatus(t.Context(), "alice", presence.Busy))
				slow.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply, presencetest.CallCounts)
				a.Seen(presence.Site, user("alice"), presence.Device{})
				time.Sleep(2 * time.Second)
				noError(t, signOut(t.Context(), b))
				time.Sleep(20 * time.Second)
				want := ""
				if since {
					a.Seen(presence.Site, user("alice"), presence.Device{})
					want = "alice=busy "
				}
				slow.Heal()
				time.Sleep(10 * time.Second)
				if got := stored(t, memory, presence.Site); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

// A page view that is just being written while its user signs out at another node does not hold the user.
func TestViewsUnderWayEndWithASignOut(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory := memstore.New()
		slow := presencetest.NewFaults(memory)
		a, b := start(t, slow, track.Config{Node: "a"}), start(t, memory, track.Config{Node: "b"})
		slow.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallApply)
		a.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(500 * time.Millisecond)
		noError(t, b.SignOut(t.Context(), "alice"))
		time.Sleep(5 * time.Second)
		if got := stored(t, memory, presence.Site); got != "" {
			t.Errorf("got %q, want nobody", got)
		}
	})
}

// What a node could not tell it still tells when it stops.
func TestGoodbyeBeforeStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a, b := pair(t, faults)
		alice := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(5 * time.Second)
		if err := a.SignOut(t.Context(), "alice"); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want ErrStoreOut", err)
		}
		time.AfterFunc(time.Second, faults.Heal)
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := alice.Err(); !errors.Is(got, presence.ErrSignedOut) {
			t.Errorf("the connection ended with %v, want ErrSignedOut", got)
		}
	})
}

// A user signs out at a node that does not reach the store, after the store has lost its data. The node does not show
// the user as it finds the store back, however long the outage was.
func TestSignOutInALongOutageAfterALoss(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newSwapStore()
		way := presencetest.NewFaults(store)
		node := start(t, way, track.Config{})
		connect(t, node, track.ConnectOptions{Visitor: visitor("alice")})
		reader := openPage(t, node, track.ConnectOptions{})
		reader.want("state alice")
		time.Sleep(time.Minute)
		store.goOnAs(memstore.New())
		way.Break(presencetest.Fault{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := node.SignOut(ctx, "alice"); err == nil {
			t.Error("the store took the sign-out")
		}
		time.Sleep(2 * time.Minute)
		way.Heal()
		time.Sleep(5 * time.Second)
		reader.want("diff + -alice")
	})
}
