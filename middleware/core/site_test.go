package core_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestFaultOfIdentifyMakesAGuest(t *testing.T) {
	for name, tt := range map[string]struct {
		identify func(*http.Request) (presence.User, bool)
		want     string // in the log
	}{
		"panic":        {func(*http.Request) (presence.User, bool) { panic("no session") }, "no session"},
		"no id":        {func(*http.Request) (presence.User, bool) { return presence.User{}, true }, "the id is empty"},
		"control byte": {func(*http.Request) (presence.User, bool) { return presence.User{ID: "a\x00b"}, true }, "control characters"},
		"too long": {func(*http.Request) (presence.User, bool) {
			return presence.User{ID: presence.UserID(strings.Repeat("x", 129))}, true
		}, "129 bytes"},
		"bad status": {func(*http.Request) (presence.User, bool) { return presence.User{ID: "alice", Status: "asleep"}, true }, "status"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(c *nethttp.Config) { c.Identify = tt.identify })
				b := s.browser("alice")
				for range 3 {
					if got := b.get("/").Code; got != http.StatusOK {
						t.Errorf("got status %d, want 200", got)
					}
				}
				if s.visitor.SignedIn() {
					t.Errorf("got visitor %+v, want a guest", s.visitor)
				}
				s.expect("guest")
				if got := s.logs.String(); strings.Count(got, "level=ERROR") != 1 || !strings.Contains(got, tt.want) {
					t.Errorf("got log %q, want one error with %q", got, tt.want)
				}
				time.Sleep(time.Minute)
				b.get("/")
				if got := strings.Count(s.logs.String(), "level=ERROR"); got != 2 {
					t.Errorf("got %d errors logged after a minute, want 2", got)
				}
			})
		})
	}
}

func TestIdentifyIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := newSite(t, func(c *nethttp.Config) {
			c.Identify = func(r *http.Request) (presence.User, bool) {
				asked++
				return byHeader(r)
			}
		})
		s.browser("alice").get("/")
		s.browser("alice").get("/presence/roster")
		if asked != 2 {
			t.Errorf("got identify called %d times for two requests, want 2", asked)
		}
	})
}

func TestSkipper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) {
			c.Skipper = func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api") }
		})
		s.handle("GET /api/unread", func(w http.ResponseWriter, r *http.Request) {
			s.visitor = presence.VisitorFromContext(r.Context())
			ok(w, r)
		})
		alice := s.browser("alice")
		alice.get("/api/unread")
		if s.visitor.SignedIn() || len(alice.set) != 0 {
			t.Errorf("got visitor %+v and %v set, want neither", s.visitor, alice.set)
		}
		s.expect()
	})
}

func TestNoTrackerBreaksNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) { c.Tracker = nil })
		for _, user := range []string{"alice", ""} {
			b := s.browser(user)
			for _, path := range []string{"/", "/presence/events"} {
				if got := b.get(path).Code; got != http.StatusOK {
					t.Errorf("got status %d for %q at %s, want 200", got, user, path)
				}
				if got := string(s.visitor.User.ID); got != user || len(b.set) != 0 {
					t.Errorf("got visitor %q and %v set, want %q and nothing", got, b.set, user)
				}
			}
		}
		s.expect()
	})
}

func TestClosedTrackerBreaksNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		if err := s.tracker.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, user := range []string{"alice", ""} {
			for _, refuses := range []bool{false, true} {
				b := s.browser(user)
				b.refuses = refuses
				for range 3 {
					if got := b.get("/").Code; got != http.StatusOK {
						t.Errorf("got status %d for %q, want 200", got, user)
					}
				}
			}
		}
	})
}

func TestHangingStoreDelaysNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newHanging()
		tracker, err := track.New(store, track.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			close(store.released)
			if err := tracker.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		mw := nethttp.Presence(tracker, byHeader)
		start := time.Now()
		for _, user := range []string{"alice", "bob", "alice", ""} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("X-User", user)
			w := httptest.NewRecorder()
			mw(http.HandlerFunc(ok)).ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("got status %d, want 200", w.Code)
			}
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("got pages after %v, want at once", got)
		}
	})
}

func TestPanicOfAHandlerPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.handle("POST /panics", func(http.ResponseWriter, *http.Request) { panic("handler") })
		defer func() {
			if got := recover(); got != "handler" {
				t.Errorf("got panic %v, want the handler's", got)
			}
		}()
		s.browser("alice").do(http.MethodPost, "/panics")
	})
}

// The cookie of the site's own handlers stays beside ours.
func TestCookiesOfTheSiteStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.handle("GET /own", func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "theme", Value: "dark"})
			ok(w, r)
		})
		alice := s.browser("alice")
		alice.get("/own")
		if len(alice.cookies) != 2 || alice.cookies["theme"] != "dark" {
			t.Errorf("got cookies %v, want the site's and ours", alice.cookies)
		}
	})
}

func TestConcurrentRequests(t *testing.T) {
	mw := nethttp.Presence(newTracker(t), byHeader)
	h := mw(http.HandlerFunc(ok))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			cookies := map[string]string{}
			for j := range 200 {
				method, path := http.MethodGet, []string{"/", "/presence/events", "/site.css"}[j%3]
				if j%10 == 9 {
					method = http.MethodPost
				}
				r := httptest.NewRequest(method, path, nil)
				if user := []string{"", "alice", "bob"}[(i+j/50)%3]; user != "" {
					r.Header.Set("X-User", user)
				}
				if v := cookies["presence"]; v != "" && i%2 == 0 {
					r.AddCookie(&http.Cookie{Name: "presence", Value: v})
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					t.Errorf("got status %d, want 200", w.Code)
				}
				for _, c := range w.Result().Cookies() {
					cookies[c.Name] = c.Value
				}
			}
		})
	}
	all.Wait()
}
