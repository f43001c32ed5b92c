package track_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// at is a user in a browser.
func at(id, browser string) track.ConnectOptions {
	v := visitor(id)
	v.Browser = browser
	return track.ConnectOptions{Visitor: v}
}

// signOff signs a user out of a browser.
func signOff(t *testing.T, tracker *track.Tracker, user presence.UserID, browser string) {
	t.Helper()
	if err := tracker.SignOff(t.Context(), user, browser); err != nil {
		t.Errorf("SignOff: %v", err)
	}
}

// wantEnded checks which connections a sign-out has ended.
func wantEnded(t *testing.T, when string, want bool, conns ...*track.Connection) {
	t.Helper()
	synctest.Wait()
	for i, c := range conns {
		if got := errors.Is(c.Err(), presence.ErrSignedOut); got != want {
			t.Errorf("%s: got %v of connection %d, want it signed out: %v", when, c.Err(), i, want)
		}
	}
}

// Alice signs out of one browser, whose tabs stream at two nodes. Her other browser keeps
// her online, and no reader at any node sees anything. With the last browser she leaves at
// once, also where page views would hold her.
func TestSignOffOfOneBrowser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		readers := []*page{openPage(t, a, track.ConnectOptions{}), openPage(t, b, track.ConnectOptions{})}
		want := func(lines ...string) {
			t.Helper()
			for _, r := range readers {
				r.want(lines...)
			}
		}
		want("state ")
		a.Seen(presence.Site, user("alice"), presence.Device{})
		here, there := connect(t, a, at("alice", "laptop")), connect(t, b, at("alice", "laptop"))
		phone := connect(t, b, at("alice", "phone"))
		b.Seen(presence.Site, user("alice"), presence.Device{})
		want("diff +alice -")

		signOff(t, a, "alice", "laptop")
		wantEnded(t, "the laptop signed off", true, here, there)
		wantEnded(t, "the laptop signed off", false, phone)
		time.Sleep(time.Minute)
		want()
		signOff(t, a, "alice", "laptop") // again
		signOff(t, a, "alice", "another")
		want()

		signOff(t, a, "alice", "phone")
		wantEnded(t, "the phone signed off", true, phone)
		want("diff + -alice")
		a.Seen(presence.Site, user("alice"), presence.Device{}) // signed in again
		want("diff +alice -")
		signOff(t, b, "alice", "laptop") // a page view without a stream does not hold
		want("diff + -alice")
	})
}

// The sign-out of one browser is one topic's matter at a time: where the other browser has
// no stream, the user leaves.
func TestSignOffInEachTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		site := openPage(t, a, track.ConnectOptions{})
		thread := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		shop := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"shop"}})
		o := at("alice", "laptop")
		o.Topics = []presence.Topic{presence.Site, "thread:1"}
		connect(t, b, o)
		connect(t, a, at("alice", "phone"))
		b.Seen("shop", user("alice"), presence.Device{})
		for _, p := range []*page{site, thread, shop} {
			p.skip()
		}
		signOff(t, a, "alice", "laptop")
		site.want()
		thread.want("diff + -alice")
		shop.want("diff + -alice")
	})
}

// The page view of a browser that signed off does not hold the user once the other browser
// is closed, also if it came after that browser's stream.
func TestSignOffEndsPageViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		w := openPage(t, a, track.ConnectOptions{})
		phone := connect(t, b, at("alice", "phone"))
		time.Sleep(time.Second)
		a.Seen(presence.Site, user("alice"), presence.Device{})
		w.skip()
		viewed := time.Now()
		time.Sleep(time.Second)
		signOff(t, a, "alice", "laptop")
		w.want()
		if !a.NeedsSeen(presence.Site, "alice", viewed) {
			t.Error("the next page view is throttled, want it recorded")
		}
		phone.Close()
		w.want()
		time.Sleep(a.Config().Grace + 2*time.Second)
		w.want("diff + -alice")
	})
}

// Connections whose browser is not known end with any sign-out of their user, because they
// may be of that browser. A browser that is not known signs out all.
func TestSignOffOfUnknownBrowsers(t *testing.T) {
	for _, unknown := range []string{"", strings.Repeat("x", 65)} {
		synctest.Test(t, func(t *testing.T) {
			tracker := start(t, memstore.New(), track.Config{})
			w := openPage(t, tracker, track.ConnectOptions{})
			strange, phone := connect(t, tracker, at("alice", unknown)), connect(t, tracker, at("alice", "phone"))
			w.skip()
			signOff(t, tracker, "alice", "laptop")
			wantEnded(t, "the laptop signed off", true, strange)
			wantEnded(t, "the laptop signed off", false, phone)
			w.want()
			signOff(t, tracker, "alice", unknown)
			wantEnded(t, "an unknown browser signed off", true, phone)
			w.want("diff + -alice")
		})
	}
}

// A browser's id is what a client says: it ends no connection of another user, and no
// guest's.
func TestSignOffEndsItsUserAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := pair(t, store)
		w := openPage(t, a, track.ConnectOptions{Visitor: guestOf("shared")})
		alice, bob := connect(t, a, at("alice", "shared")), connect(t, b, at("bob", "shared"))
		w.skip()
		signOff(t, a, "mallory", "shared")
		signOff(t, a, "", "shared")
		wantEnded(t, "others signed off", false, alice, bob, w.conn)
		w.want()
		signOff(t, a, "alice", "shared")
		wantEnded(t, "alice signed off", false, bob, w.conn)
		w.want("diff + -alice")
	})
}

// A node that hears late ends the connections of then. A user who has come back since, in
// the same browser, stays: by a stream, and by a page view alone.
func TestSignOffIsHeardLate(t *testing.T) {
	for _, streams := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			memory := memstore.New()
			deaf := &deafStore{Store: memory}
			a, b := start(t, memory, track.Config{Node: "a"}), start(t, deaf, track.Config{Node: "b"})
			w := openPage(t, a, track.ConnectOptions{})
			before := connect(t, b, at("alice", "laptop"))
			deaf.setDeaf(true)
			w.skip()
			signOff(t, a, "alice", "laptop")
			time.Sleep(20 * time.Second)
			var since *track.Connection
			if streams {
				since = connect(t, b, at("alice", "laptop"))
			} else {
				a.Seen(presence.Site, user("alice"), presence.Device{})
			}
			time.Sleep(20 * time.Second)
			deaf.fn(backend.Notice{Kind: backend.NoticeSignedOut, User: "alice", Payload: "browser laptop", Lasting: true, Ago: 40 * time.Second})
			wantEnded(t, "heard late", true, before)
			if streams {
				wantEnded(t, "heard late", false, since)
			}
			time.Sleep(a.Config().Grace + 2*time.Second)
			w.want()
		})
	}
}

// A lease that a sign-off ended is not made again by a node that did not hear of it, and
// not after a wipe.
func TestSignedOffLeaseIsNotMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := pair(t, store)
		w := openPage(t, a, track.ConnectOptions{})
		b.Seen(presence.Site, user("alice"), presence.Device{})
		connect(t, b, at("alice", "laptop"))
		connect(t, b, at("bob", "laptop"))
		w.skip()
		signOff(t, a, "alice", "laptop")
		w.want("diff + -alice")
		store.wipe()
		time.Sleep(time.Minute)
		if w.read(); w.roster["site"]["alice"] != "" || w.roster["site"]["bob"] == "" {
			t.Errorf("got the roster %v after a wipe, want bob alone", w.roster)
		}
	})
}

// The user of a busy topic comes back in the batch in which a browser signs off: of two
// sign-offs the later one counts too.
func TestSignOffBehindAPageView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		w := openPage(t, tracker, track.ConnectOptions{})
		w.skip()
		done := make(chan struct{}, 2)
		for range 2 {
			tracker.Seen(presence.Site, user("alice"), presence.Device{})
			synctest.Wait()
			go func() {
				signOff(t, tracker, "alice", "laptop")
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		<-done
		<-done
		time.Sleep(time.Minute)
		w.want()
	})
}
