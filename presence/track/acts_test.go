package track_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// onlineNow returns the ids of the users online in the site, as a tracker knows it.
func onlineNow(t *testing.T, tracker *track.Tracker) string {
	t.Helper()
	view, err := tracker.View(t.Context(), presence.Site)
	noError(t, err)
	ids := ""
	for _, m := range view.Newest(100) {
		ids += string(m.ID) + " "
	}
	return ids
}

func TestDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		here, there := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		eve := connect(t, there, track.ConnectOptions{Visitor: visitor("eve")})
		connect(t, there, track.ConnectOptions{Visitor: visitor("bob")})
		time.Sleep(time.Second)
		noError(t, here.Staff().Disconnect(t.Context(), "staff", "eve", time.Minute))
		time.Sleep(time.Second)
		if !errors.Is(eve.Err(), presence.ErrSignedOut) {
			t.Errorf("the connection ended with %v, want %v", eve.Err(), presence.ErrSignedOut)
		}
		for _, tracker := range []*track.Tracker{here, there} {
			tracker.Seen(presence.Site, user("eve"), presence.Device{})
			if _, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("eve"), Topics: []presence.Topic{"site"}}); !errors.Is(err, presence.ErrBarred) {
				t.Errorf("she comes back: got %v, want %v", err, presence.ErrBarred)
			}
			time.Sleep(time.Second)
			if got := onlineNow(t, tracker); got != "bob " {
				t.Errorf("online are %q, want bob alone", got)
			}
			if acts := tracker.Staff().Acts(); len(acts) != 1 || acts[0].By != "staff" || acts[0].User != "eve" || acts[0].Did != presence.ActDisconnect || acts[0].Bar != time.Minute {
				t.Errorf("got acts %+v, want one: staff disconnected eve for a minute", acts)
			}
		}
		time.Sleep(time.Minute)
		connect(t, here, track.ConnectOptions{Visitor: visitor("eve")})
		time.Sleep(time.Second)
		if got := onlineNow(t, there); got != "eve bob " {
			t.Errorf("after the bar: online are %q, want eve and bob", got)
		}
	})
}

// Who is about to connect when staff disconnects the user does not come in after it.
func TestDisconnectOfUserWhoConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		faults.Break(presencetest.Fault{Delay: time.Second}, presencetest.CallSnapshot)
		came := make(chan error)
		go func() {
			_, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("eve"), Topics: []presence.Topic{"thread:1"}})
			came <- err
		}()
		time.Sleep(100 * time.Millisecond)
		noError(t, tracker.Staff().Disconnect(t.Context(), "staff", "eve", time.Minute))
		if err := <-came; !errors.Is(err, presence.ErrBarred) {
			t.Errorf("got %v, want %v", err, presence.ErrBarred)
		}
	})
}

// What the store does not take is done once the store is back, all of it.
func TestDisconnectWhileTheStoreIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		eve := connect(t, tracker, track.ConnectOptions{Visitor: visitor("eve")})
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.CallPublish)
		if err := tracker.Staff().Disconnect(t.Context(), "staff", "eve", 10*time.Minute); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want %v", err, presence.ErrStoreOut)
		}
		faults.Heal()
		time.Sleep(10 * time.Second)
		if acts := tracker.Staff().Acts(); len(acts) != 1 || !errors.Is(eve.Err(), presence.ErrSignedOut) || onlineNow(t, tracker) != "" {
			t.Errorf("got %d acts, a connection that ended with %v, and online %q, want one, %v and nobody",
				len(acts), eve.Err(), onlineNow(t, tracker), presence.ErrSignedOut)
		}
	})
}

// A bar is as long as notices are kept, at most.
func TestDisconnectForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		noError(t, tracker.Staff().Disconnect(t.Context(), "staff", "eve", time.Hour))
		if got := tracker.Staff().Acts()[0].Bar; got != track.MaxBar {
			t.Errorf("got a bar of %v, want %v", got, track.MaxBar)
		}
	})
}

func TestDisconnectConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		here, there := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		one := connect(t, there, track.ConnectOptions{Visitor: visitor("eve")})
		two := connect(t, there, track.ConnectOptions{Visitor: visitor("eve")})
		three := connect(t, here, track.ConnectOptions{Visitor: visitor("eve"), Topics: []presence.Topic{"thread:1"}})
		time.Sleep(time.Second)
		users, err := here.Staff().Inspect(t.Context(), presence.Site, "", 10)
		if err != nil || len(users) != 1 || len(users[0].Leases) != 1 || users[0].Leases[0].Pages != 2 || users[0].Leases[0].Holder.Node() != "b" {
			t.Fatalf("got %+v and %v, want eve with two pages at node b", users, err)
		}
		holder := users[0].Leases[0].Holder
		if err := here.Staff().DisconnectConnection(t.Context(), "staff", "bob", holder); err != nil { // not his
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if one.Err() != nil || two.Err() != nil {
			t.Errorf("a connection that is not bob's ended: %v, %v", one.Err(), two.Err())
		}
		noError(t, here.Staff().DisconnectConnection(t.Context(), "staff", "eve", holder))
		time.Sleep(time.Second)
		if one.Err() == nil || two.Err() == nil || three.Err() != nil {
			t.Errorf("the connections ended with %v, %v and %v, want an end of those at node b", one.Err(), two.Err(), three.Err())
		}
		noError(t, here.Staff().DisconnectConnection(t.Context(), "staff", "eve", three.ID()))
		time.Sleep(time.Second)
		if three.Err() == nil {
			t.Error("a connection that was named goes on, want its end")
		}
	})
}

// A notice that is repeated is one act, and old acts make room.
func TestActsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		noError(t, tracker.Staff().DisconnectConnection(t.Context(), "staff", "first", "a.1"))
		again := backend.Notice{Kind: backend.NoticeActed, User: "eve", Payload: `{"ID":"x","By":"staff","Did":"disconnect connection"}`, Lasting: true}
		for range 3 {
			noError(t, store.Publish(context.Background(), again))
		}
		if got := len(tracker.Staff().Acts()); got != 2 {
			t.Errorf("got %d acts, want 2: the repeated one counts once", got)
		}
		for i := range 300 {
			noError(t, tracker.Staff().DisconnectConnection(t.Context(), "staff", presence.UserID(fmt.Sprint("u", i)), "a.1"))
		}
		acts := tracker.Staff().Acts()
		if len(acts) != 200 || acts[0].User != "u299" {
			t.Errorf("got %d acts, the latest about %q, want 200, about u299", len(acts), acts[0].User)
		}
		for _, payload := range []string{"", "{", "[]", `{"Bar":-1}`} { // of other versions, or made up
			noError(t, store.Publish(context.Background(), backend.Notice{Kind: backend.NoticeActed, User: "eve", Payload: payload}))
		}
		if err := tracker.Staff().Disconnect(t.Context(), "staff", "", time.Minute); !errors.Is(err, presence.ErrInvalidUser) {
			t.Errorf("nobody: got %v, want %v", err, presence.ErrInvalidUser)
		}
	})
}
