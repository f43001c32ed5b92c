package middleware_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func TestGuestCountsOnceTheCookieCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("")
		b.get("/")
		s.expect()
		if got := s.visitor; got.SignedIn() || got.Guest != "" {
			t.Errorf("got visitor %+v at first sight, want a guest without an id", got)
		}
		at, id, user := b.cookie()
		if at != "0" || user != "-" {
			t.Errorf("got stamp %q and user %q at first sight, want 0 and -", at, user)
		}

		b.get("/")
		s.expect("guest")
		if got := s.visitor.Guest; got != id {
			t.Errorf("got guest %q, want %q as in the cookie", got, id)
		}
		time.Sleep(30 * time.Second)
		b.do(http.MethodPost, "/search")
		b.get("/")
		s.expect()
		time.Sleep(30 * time.Second)
		b.get("/")
		s.expect("guest")
		if _, again, _ := b.cookie(); again != id {
			t.Errorf("got id %q after a minute, want %q as before", again, id)
		}
	})
}

func TestGuestsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		for range 3 {
			b := s.browser("")
			b.get("/")
			b.get("/")
		}
		s.expect("guest", "guest", "guest")
		time.Sleep(time.Second) // by which the figures may lag
		view, err := s.tracker.View(t.Context(), presence.Site)
		if err != nil {
			t.Fatal(err)
		}
		if view.Guests != 3 || view.Total != 0 {
			t.Errorf("got %d guests and %d users, want 3 and 0", view.Guests, view.Total)
		}
	})
}

func TestBotWithoutCookiesNeverCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("")
		b.refuses = true
		for range 10 {
			b.get("/")
		}
		s.expect()
	})
}

// A prefetch neither counts nor makes the next page view the second.
func TestGuestGetsNoCookieWithoutAPageView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("")
		b.get("/site.css")
		b.get("/presence/roster")
		b.do(http.MethodPost, "/login")
		b.do(http.MethodHead, "/")
		b.header.Set("Sec-Purpose", "prefetch")
		b.get("/")
		if len(b.cookies) != 0 {
			t.Errorf("got cookies %v, want none", b.cookies)
		}
		s.expect()
	})
}

// A stream is proof enough of a browser: its guest is known at once.
func TestStreamingGuestGetsAnIDAtOnce(t *testing.T) {
	for _, path := range []string{"/presence/events", "/presence/ws", "/presence/poll"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				b := s.browser("")
				b.get(path + "?topic=site")
				_, id, user := b.cookie()
				if s.visitor.Guest != id || user != "-" {
					t.Errorf("got guest %q in the context and %q of %q in the cookie, want the same of a guest", s.visitor.Guest, id, user)
				}
				b.get(path)
				if s.visitor.Guest != id || len(b.set) != 0 {
					t.Errorf("got guest %q and %v set the second time, want %q and nothing", s.visitor.Guest, b.set, id)
				}
				s.expect() // the tracker counts those who stream
				b.get("/")
				s.expect("guest")
			})
		})
	}
}
