package track_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

func guestOf(id string) presence.Visitor { return presence.Visitor{Guest: id} }

// wantGuests checks the number of guests in each topic, two seconds from now.
func wantGuests(t *testing.T, store backend.Store, when string, want map[presence.Topic]int) {
	t.Helper()
	time.Sleep(2 * time.Second)
	for topic, n := range want {
		counts, err := store.Counts(t.Context(), topic)
		if err != nil || counts[0].Guests != n {
			t.Errorf("%s: got %+v, %v in %s, want %d guests", when, counts, err, topic, n)
		}
	}
}

// A guest signs in: the page that is about to go still streams, at another node, and does
// not count the guest again, neither at half of the age period nor after a wipe. Who signs
// out is a guest again.
func TestGuestSignsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const thread = presence.Topic("thread:1")
		store := newSwapStore()
		a, b := pair(t, store)
		topics := []presence.Topic{presence.Site, thread}
		a.SeenGuest(presence.Site, "g")
		goes := connect(t, a, track.ConnectOptions{Topics: topics, Visitor: guestOf("g")})
		connect(t, a, track.ConnectOptions{Topics: topics, Visitor: guestOf("stays")})
		connect(t, a, track.ConnectOptions{Visitor: guestOf("g")}).Close() // another tab
		here := connect(t, b, track.ConnectOptions{Topics: []presence.Topic{"thread:2"}, Visitor: guestOf("g")})
		wantGuests(t, store, "before", map[presence.Topic]int{presence.Site: 2, thread: 2, "thread:2": 1})

		b.GuestSignedIn(presence.Site, "g")
		b.Seen(presence.Site, user("alice"), presence.Device{})
		wantGuests(t, store, "signed in", map[presence.Topic]int{presence.Site: 1, thread: 1, "thread:2": 0})
		noError(t, goes.Subscribe(t.Context(), "thread:3", ""))
		time.Sleep(4 * time.Minute) // streaming guests are counted again meanwhile
		wantGuests(t, store, "later", map[presence.Topic]int{presence.Site: 1, thread: 1, "thread:2": 0, "thread:3": 0})
		store.wipe()
		time.Sleep(time.Minute)
		wantGuests(t, store, "after a wipe", map[presence.Topic]int{presence.Site: 1, thread: 1, "thread:2": 0, "thread:3": 0})
		goes.Close()
		here.Close()
		if a.StreamingGuests() != 1 || b.StreamingGuests() != 0 {
			t.Errorf("got %d and %d guests remembered, want the one who streams", a.StreamingGuests(), b.StreamingGuests())
		}

		a.SeenGuest(presence.Site, "g")
		connect(t, b, track.ConnectOptions{Topics: []presence.Topic{thread}, Visitor: guestOf("g")})
		wantGuests(t, store, "signed out", map[presence.Topic]int{presence.Site: 2, thread: 2})
	})
}

// While the store is out nobody waits, and of one guest's operations the latest counts.
func TestGuestSignsInDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		tracker.SeenGuest(presence.Site, "was there")
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Hang: true})
		began := time.Now()
		for range 1000 {
			tracker.SeenGuest(presence.Site, "signs in")
			tracker.GuestSignedIn(presence.Site, "signs in")
			tracker.GuestSignedIn(presence.Site, "signs out")
			tracker.SeenGuest(presence.Site, "signs out")
			tracker.GuestSignedIn(presence.Site, "signs out too")
			tracker.SeenGuest(presence.Site, "signs out too")
			tracker.GuestSignedIn(presence.Site, "was there")
			tracker.GuestSignedIn(presence.Site, "")
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waited %v for a store that is out", waited)
		}
		if got := tracker.Stats().Pending; got > 4 {
			t.Errorf("got %d operations that wait, want one a guest", got)
		}
		time.Sleep(20 * time.Second)
		faults.Heal()
		time.Sleep(20 * time.Second)
		wantGuests(t, faults, "when the store is back", map[presence.Topic]int{presence.Site: 2})
	})
}

// Anybody who has signed in can send the cookie of a guest with each request, and so call
// this as often as there are requests. Neither goroutines nor calls of the store pile up.
func TestGuestSignsInAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Hang: true})
		before, published := runtime.NumGoroutine(), faults.Calls(presencetest.CallPublish)
		for range 1000 {
			tracker.GuestSignedIn(presence.Site, "g")
		}
		synctest.Wait()
		if got := runtime.NumGoroutine() - before; got > 10 {
			t.Errorf("got %d more goroutines, want a few", got)
		}
		if got := faults.Calls(presencetest.CallPublish) - published; got > 10 {
			t.Errorf("got %d notices that wait for the store, want a few", got)
		}
	})
}

// A browser has two tabs, whose pages share the stream of the first. In the second tab its
// guest signs in, and out again. The guest counts as long as the pages are open.
func TestGuestOfAnOldStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		tracker := start(t, store, track.Config{})
		connect(t, tracker, track.ConnectOptions{Visitor: guestOf("g")})
		tracker.GuestSignedIn(presence.Site, "g")
		wantGuests(t, store, "signed in", map[presence.Topic]int{presence.Site: 0})
		tracker.SeenGuest(presence.Site, "g")
		wantGuests(t, store, "signed out", map[presence.Topic]int{presence.Site: 1})
		for range 3 {
			time.Sleep(tracker.Config().Age)
			if _, err := store.Age(t.Context(), tracker.Config().Age); err != nil {
				t.Fatal(err)
			}
		}
		wantGuests(t, store, "three age periods later", map[presence.Topic]int{presence.Site: 1})
	})
}
