package core_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestWhenAUserIsRecorded(t *testing.T) {
	play(t, []scenario{
		{"once in the throttle time", either, []step{
			{as: "alice", want: "alice"},
			{wait: 59 * time.Second, do: "/threads/1", sets: "no"},
			{wait: time.Second, do: "/threads/2", want: "alice"},
			{do: "/threads/3", sets: "no"},
			{by: 1, as: "bob", want: "bob"},
		}},
		{"once in the throttle time on all nodes", kept, []step{
			{as: "alice", want: "alice"},
			{on: second},
		}},
		{"again where a store has lost the user", kept, []step{
			{as: "alice", want: "alice"},
			{on: otherFleet, want: "alice"},
			{on: otherFleet},
		}},
		{"the first browser throttles the second, which then has a cookie of its own", kept, []step{
			{as: "alice", want: "alice"},
			{by: 1, as: "alice"},
			{by: 1, on: second},
			{by: 1, on: second, wait: time.Minute, want: "alice"},
		}},
		{"at once after signing in, as another user, and signing out", kept, []step{
			{as: "guest"},
			{want: "guest"},
			{as: "alice", want: "alice", out: 1},
			{as: "bob", want: "bob"},
			{as: "guest", want: "guest"},
		}},
		{"a user whose id hashes to what stands for a guest is no guest", kept, []step{
			{as: "user1159293026", want: "user1159293026"},
			{},
			{as: "guest", want: "guest"},
		}},
		{"at once after signing out and in again", either, []step{
			{as: "alice", want: "alice"},
			{do: "POST /logout"},
			{as: "guest", do: "POST /login"},
			{as: "alice", want: "alice"},
		}},
		// Without cookies the tracker tells: see TestUserWithoutCookiesWhoSignedOutElsewhere.
		{"at once after signing in again, where only the login is seen", kept, []step{
			{as: "alice", want: "alice"},
			{as: "guest", do: "POST /login"},
			{as: "alice", want: "alice"},
		}},
		{"at once after a request that changes something", either, []step{
			{as: "alice", want: "alice"},
			{do: "POST /login"},
			{want: "alice"},
		}},
		{"again after the page joined the stream of another tab, which holds the user instead", either, []step{
			{as: "alice", want: "alice"},
			{do: "POST /presence/beat"},
			{},
			{do: "POST /presence/beat?joined=1"},
			{want: "alice"},
		}},
		{"never, if hidden", kept, []step{
			{as: hidden, sets: "no"},
			{sets: "no"},
			{do: "/presence/events", sets: "no"},
		}},
		{"never, if hidden; but the browser leaves the guests", kept, []step{
			{as: "guest"},
			{want: "guest"},
			{as: hidden, out: 1},
			{wait: time.Second},
			{wait: time.Second},
			{as: "guest", want: "guest"},
		}},
		{"once in the throttle time where pages may be in shared caches, and set no cookie", kept, []step{
			{as: "alice", do: "/cached", want: "alice", sets: "no"},
			{do: "/cached", sets: "no"},
		}},
		{"once in the throttle time where cached pages leave the browser a guest's cookie, and out of the guests once", kept, []step{
			{do: "/presence/events"},
			{as: "alice", do: "/cached", want: "alice", out: 1},
			{wait: time.Second, do: "/cached"},
			{wait: time.Second, do: "/cached"},
			{do: "/presence/events", out: 1}, // the next page view must be recorded
			{do: "/cached", want: "alice", out: 1},
			{wait: time.Minute, do: "/cached", want: "alice", out: 1},
			{sets: "earlier"}, // a page that is not cached
		}},
	})
}

func TestUserWithoutCookiesWhoSignedOutElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		if _, err := s.tracker.View(t.Context(), presence.Site); err != nil { // a page with the widget
			t.Fatal(err)
		}
		alice := s.browser("alice")
		alice.refuses = true
		alice.get("/")
		s.expect("alice")
		alice.get("/")
		s.expect()
		if err := s.tracker.SignOut(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		alice.get("/")
		s.expect("alice")
	})
}

// online tells whether the site shows a user.
func (s *site) online(id presence.UserID) bool {
	s.t.Helper()
	if _, err := s.tracker.Sweep(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	view, err := s.tracker.View(s.t.Context(), presence.Site)
	if err != nil {
		s.t.Fatal(err)
	}
	_, ok := view.Member(id)
	return ok
}

// A page view that comes after a stream was opened keeps its user for the age
// period, throttled or not, and also when the stream closes.
func TestPageViewAfterAStream(t *testing.T) {
	for _, tt := range []struct {
		name           string
		refuses, ended bool // the cookies; the stream, before the page view
	}{
		{"stream open, with cookies", false, false},
		{"stream open, without cookies", true, false},
		{"stream closed, with cookies", false, true},
		{"stream closed, without cookies", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				alice := s.browser("alice")
				alice.refuses = tt.refuses
				alice.get("/")
				s.expect("alice")
				time.Sleep(time.Second)
				end := s.stream(alice)
				if tt.ended {
					end()
				}
				time.Sleep(time.Second)
				alice.get("/threads/1")
				s.expect("alice")
				alice.get("/threads/2")
				s.expect() // once is enough
				if !tt.ended {
					end()
				}
				time.Sleep(30 * time.Second) // longer than the grace
				if !s.online("alice") {
					t.Error("alice is gone, and a page view came after her stream was opened")
				}
			})
		})
	}
}

func TestClosedTabIsNotOnlineForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		alice := s.browser("alice")
		alice.get("/")
		time.Sleep(time.Second)
		end := s.stream(alice)
		time.Sleep(time.Second)
		end()
		time.Sleep(11 * time.Second)
		if s.online("alice") {
			t.Error("alice is online, and her only tab was closed longer ago than the grace")
		}
	})
}

// The cookie may come too late: a page is asked for while the answer that
// expires the stamp is on its way.
func TestPageViewWhileAStreamIsBeingOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		alice := s.browser("alice")
		alice.get("/")
		s.expect("alice")
		before := alice.cookies["presence"]
		time.Sleep(time.Second)
		end := s.stream(alice)
		alice.cookies["presence"] = before
		time.Sleep(time.Second)
		alice.get("/")
		s.expect("alice")
		alice.get("/")
		s.expect()
		end()
	})
}

// stream opens a stream as a presence endpoint does, and returns what ends it.
func (s *site) stream(b *browser) (end func()) {
	s.t.Helper()
	closing, opened, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.events = func(w http.ResponseWriter, r *http.Request) {
		conn, err := s.tracker.Connect(r.Context(), track.ConnectOptions{
			Visitor: presence.VisitorFromContext(r.Context()),
			Topics:  []presence.Topic{presence.Site},
		})
		if err != nil {
			s.t.Error(err)
			return
		}
		defer conn.Close()
		w.WriteHeader(http.StatusOK)
		close(opened)
		<-closing
	}
	go func() {
		defer close(closed)
		b.get("/presence/events")
	}()
	<-opened
	synctest.Wait()
	return func() {
		close(closing)
		<-closed
	}
}

// A user's browser has one name, from its first cookie on: as a user, and after it was a
// guest's. It is what the cookie says, also for a cookie that was made up.
func TestBrowserOfAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("alice")
		b.get("/")
		if got := s.visitor.Browser; got != "" {
			t.Errorf("got browser %q without a cookie, want none", got)
		}
		b.get("/presence/roster")
		id := s.visitor.Browser
		for _, path := range []string{"/", "/presence/events", "/"} {
			if b.get(path); s.visitor.Browser != id || id == "" {
				t.Errorf("%s: got browser %q, want %q", path, s.visitor.Browser, id)
			}
		}
		b.user = ""
		for _, path := range []string{"/", "/", "/presence/events"} {
			if b.get(path); s.visitor.Browser != "" || s.visitor.Guest == "" {
				t.Errorf("%s: got %+v, want a guest and no browser", path, s.visitor)
			}
		}
		b.user = "bob"
		if b.get("/"); s.visitor.Browser != id {
			t.Errorf("got browser %q of another user, want %q", s.visitor.Browser, id)
		}
		if other := s.browser("alice"); true {
			other.get("/")
			if other.get("/"); s.visitor.Browser == id {
				t.Error("another browser has the same name")
			}
		}
		b.cookies["presence"] = "0.AAAAAAAAAAAAAAAA.-"
		if b.get("/"); s.visitor.Browser != "AAAAAAAA" {
			t.Errorf("got browser %q, want what the cookie says", s.visitor.Browser)
		}
	})
}
