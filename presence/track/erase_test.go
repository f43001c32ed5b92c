package track_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// kept returns an export as text.
func kept(t *testing.T, tracker *track.Tracker, user presence.UserID) string {
	t.Helper()
	all, err := tracker.Export(t.Context(), user)
	noError(t, err)
	text, err := json.Marshal(all)
	noError(t, err)
	return string(text)
}

// wantErased checks that nothing is kept of alice.
func wantErased(t *testing.T, tracker *track.Tracker) {
	t.Helper()
	if got, want := kept(t, tracker, "alice"), kept(t, tracker, "nobody"); got != want {
		t.Errorf("got %s, want %s as of nobody", got, want)
	}
	view, err := tracker.View(t.Context(), presence.Site)
	noError(t, err)
	if _, there := view.Member("alice"); there {
		t.Error("the roster has the user")
	}
}

// A node that cannot be reached hears of an erasure later, by a notice without the id. It ends
// what it holds then, and brings nothing back.
func TestEraseAtACutOffNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		deaf := &deafStore{Store: store}
		secret := []byte("0123456789abcdef")
		a, b := start(t, store, track.Config{Node: "a", Secret: secret}), start(t, deaf, track.Config{Node: "b", Secret: secret})
		alice := connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
		bob := connect(t, b, track.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{presence.Site}})
		time.Sleep(time.Second)
		deaf.mu.Lock()
		deaf.deaf = true
		deaf.mu.Unlock()
		noError(t, a.Erase(t.Context(), "alice"))
		time.Sleep(10 * time.Second)
		deaf.mu.Lock()
		deaf.deaf = false
		for _, n := range deaf.kept {
			if strings.Contains(n.Payload, "alice") || n.Lasting && n.User == "alice" {
				t.Errorf("the notice %+v is kept, and names the user", n)
			}
			if n.Lasting {
				n.Ago = 10 * time.Second
				deaf.fn(n)
			}
		}
		deaf.mu.Unlock()
		time.Sleep(time.Second)
		if err := alice.Err(); !errors.Is(err, presence.ErrSignedOut) {
			t.Errorf("got %v, want that the connection was signed out", err)
		}
		if err := bob.Err(); err != nil {
			t.Errorf("bob: got %v, want a connection that goes on", err)
		}
		time.Sleep(time.Minute)
		if view, _ := a.View(t.Context(), presence.Site); view.Total != 1 {
			t.Errorf("got %d online, want bob alone", view.Total)
		}
	})
}

// What was promised is done within ten seconds, also if the node that promised it dies at once.
func TestEraseOutlivesTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowEraser{Store: memstore.New()}
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		for i := range 20 { // b reads the list every 2 s, and this may fall anywhere between
			time.Sleep(1900 * time.Millisecond)
			b.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(time.Millisecond) // the view is not written yet
			noError(t, a.Erase(t.Context(), "alice"))
			noError(t, a.Close(context.Background()))
			time.Sleep(9500 * time.Millisecond)
			wantErased(t, b)
			store.wantEnded(t, i+1)
			a = start(t, store, track.Config{Node: "a"})
		}
	})
}

// What was promised is done within ten seconds after the part that was out is back, by another node too.
func TestEraseAfterAnOutage(t *testing.T) {
	for dies, out := range map[bool][]presencetest.Call{false: {presencetest.CallEraseUser}, true: {presencetest.CallEraseUser, presencetest.CallPublish}} {
		synctest.Test(t, func(t *testing.T) {
			store := &slowEraser{Store: memstore.New()}
			faults := presencetest.NewFaults(store)
			a, b := start(t, faults, track.Config{Node: "a"}), start(t, faults, track.Config{Node: "b"})
			b.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(time.Second)
			faults.Break(presencetest.Fault{Err: errors.New("down")}, out...)
			noError(t, a.Erase(t.Context(), "alice"))
			if dies {
				noError(t, a.Close(context.Background()))
			}
			time.Sleep(30 * time.Second)
			faults.Heal()
			time.Sleep(10 * time.Second)
			wantErased(t, b)
			store.wantEnded(t, 1)
		})
	}
}

// An erasure that nobody can promise changes nothing.
func TestEraseRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		faults := presencetest.NewFaults(store)
		a := start(t, faults, track.Config{Node: "a"})
		alice := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
		time.Sleep(time.Second)
		before := kept(t, a, "alice")
		faults.Break(presencetest.Fault{Err: errors.New("down")}, presencetest.CallAddErasure)
		if err := a.Erase(t.Context(), "alice"); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want %v", err, presence.ErrStoreOut)
		}
		for i := range 100 { // they leave room for the one that is promised later
			_ = a.Erase(t.Context(), presence.UserID(fmt.Sprint("u", i)))
		}
		if err := a.Erase(t.Context(), "a\x00b"); !errors.Is(err, presence.ErrInvalidUser) {
			t.Errorf("got %v, want %v", err, presence.ErrInvalidUser)
		}
		time.Sleep(10 * time.Second)
		if after := kept(t, a, "alice"); after != before || alice.Err() != nil {
			t.Errorf("got %s and %v, want %s as before", after, alice.Err(), before)
		}
		faults.Heal()
		noError(t, a.Erase(t.Context(), "alice"))
		time.Sleep(10 * time.Second)
		wantErased(t, a)
	})
}

// A user who comes back during the erasure begins anew, and stays, also where another node ends the erasure.
func TestEraseAndComeBack(t *testing.T) {
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := pair(t, memstore.New())
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
			time.Sleep(time.Second)
			noError(t, a.Erase(t.Context(), "alice"))
			if dies {
				noError(t, a.Close(context.Background()))
			}
			time.Sleep(time.Second)
			again := connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
			time.Sleep(time.Minute)
			view, err := b.View(t.Context(), presence.Site)
			noError(t, err)
			if _, there := view.Member("alice"); !there || again.Err() != nil {
				t.Errorf("got %v and a roster with the user: %v, want both", again.Err(), there)
			}
		})
	}
}
