package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func passing(client string) track.ConnectOptions {
	return track.ConnectOptions{Topics: []presence.Topic{presence.Site, "thread:1"}, Visitor: presence.Visitor{Passing: client}}
}

// A guest without a cookie counts while a stream is open and for the grace after it, and then no more.
func TestPassingGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		want := func(when string, site, thread int) {
			t.Helper()
			wantGuests(t, store, when, map[presence.Topic]int{presence.Site: site, "thread:1": thread})
		}
		a := connect(t, tracker, passing("a"))
		connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{presence.Site}, Observe: true, Visitor: presence.Visitor{Passing: "a"}})
		want("open", 1, 1)
		for range 4 {
			time.Sleep(tracker.Config().Age)
			_, err := store.Age(t.Context(), tracker.Config().Age)
			noError(t, err)
		}
		want("open for long", 1, 1)
		a.Unsubscribe("thread:1")
		time.Sleep(6 * time.Second)
		want("in the grace of a topic", 1, 1)
		time.Sleep(2 * time.Second)
		want("after the grace of a topic", 1, 0)
		a.Close()
		time.Sleep(6 * time.Second)
		want("in the grace", 1, 0)
		time.Sleep(2 * time.Second)
		want("after the grace", 0, 0)
		if n := tracker.PassingGuests(); n != 0 {
			t.Errorf("%d passing guests are remembered, want none", n)
		}
		time.Sleep(time.Hour)
		want("later", 0, 0)
	})
}

// One reader without cookies goes from page to page, and is one guest. Polls that come one after the other are one
// guest. Streams that are open at the same time are as many guests.
func TestPassingReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		want := func(when string, site int) {
			t.Helper()
			wantGuests(t, store, when, map[presence.Topic]int{presence.Site: site})
		}
		for range 8 {
			page := connect(t, tracker, passing("a"))
			want("a page", 1)
			page.Close()
			want("between two pages", 1)
		}
		time.Sleep(9 * time.Second)
		want("closed", 0)
		first, second := connect(t, tracker, passing("a")), connect(t, tracker, passing("a"))
		other := connect(t, tracker, passing("b"))
		want("three streams", 3)
		first.Close()
		connect(t, tracker, passing("a")).Close()
		want("three streams and a grace", 3)
		time.Sleep(10 * time.Second)
		want("two streams", 2)
		second.Close()
		other.Close()
		time.Sleep(10 * time.Second)
		want("none", 0)
		if n := tracker.PassingGuests(); n != 0 {
			t.Errorf("%d passing guests are remembered, want none", n)
		}
	})
}

// The browser of a passing guest has kept the cookie that the stream set, or its user signs in: the guest no longer
// counts by the stream, neither while it is open nor in its grace, at any node.
func TestPassingGuestKeepsTheCookie(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			a, b := pair(t, store)
			with := passing("client")
			with.Visitor.Guest = "g"
			page := connect(t, a, with)
			wantGuests(t, store, "by the stream", map[presence.Topic]int{presence.Site: 1, "thread:1": 1})
			if closed {
				page.Close()
			}
			b.GuestSignedIn(presence.Site, "g")
			b.SeenGuest(presence.Site, "g")
			wantGuests(t, store, "by the cookie", map[presence.Topic]int{presence.Site: 1, "thread:1": 0})
			a.SeenGuest(presence.Site, "g")
			time.Sleep(3 * time.Minute)
			wantGuests(t, store, "later", map[presence.Topic]int{presence.Site: 1, "thread:1": 0})
			page.Close()
			time.Sleep(11 * time.Second)
			if n := a.PassingGuests() + a.StreamingGuests(); n != 0 {
				t.Errorf("%d guests are remembered, want none", n)
			}
		})
	}
}

// The next stream of the client has the id of a passing guest who then keeps the cookie: it goes on counting.
func TestPassingGuestOfALaterStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		with := passing("office")
		with.Visitor.Guest = "g"
		connect(t, tracker, with).Close()
		connect(t, tracker, passing("office"))
		tracker.GuestSignedIn(presence.Site, "g")
		wantGuests(t, store, "the other one", map[presence.Topic]int{presence.Site: 1, "thread:1": 1})
	})
}

// A node that closes takes its passing guests with it: their pages connect to another node.
func TestPassingGuestOfANodeThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		connect(t, a, passing("client"))
		wantGuests(t, store, "open", map[presence.Topic]int{presence.Site: 1})
		noError(t, a.Close(t.Context()))
		connect(t, b, passing("client at b"))
		wantGuests(t, store, "at the other node", map[presence.Topic]int{presence.Site: 1})
	})
}
