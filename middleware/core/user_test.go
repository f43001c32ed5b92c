package core_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

func TestUserIsRecordedOnceAThrottle(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuses bool
	}{{"with cookies", false}, {"without cookies", true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				alice := s.browser("alice")
				alice.refuses = tt.refuses
				alice.get("/")
				s.expect("alice")

				time.Sleep(59 * time.Second)
				alice.get("/threads/1")
				s.expect()
				if len(alice.set) != 0 && !tt.refuses {
					t.Errorf("got %v set on a throttled page, want nothing", alice.set)
				}
				time.Sleep(time.Second)
				alice.get("/threads/2")
				s.expect("alice")
				alice.get("/threads/3")
				s.expect()

				s.browser("bob").get("/")
				s.expect("bob")
			})
		})
	}
}

func TestThrottleHoldsOnAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newNode(t, store, nil), newNode(t, store, nil)
		alice := a.browser("alice")
		alice.get("/")
		a.expect("alice")
		alice.site = b
		alice.get("/")
		b.expect()
	})
}

// A cookie throttles only a user who is online: a store that was restarted knows no user.
func TestThrottledUserWhomTheStoreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newSite(t, nil), newSite(t, nil)
		alice := a.browser("alice")
		alice.get("/")
		a.expect("alice")
		alice.site = b
		alice.get("/")
		b.expect("alice")
		if !b.online("alice") {
			t.Error("alice is not online after a page view")
		}
		alice.get("/")
		b.expect()
	})
}

// A user's second browser is throttled by the first one's page view, and from then
// on by a cookie of its own.
func TestSecondBrowserOfAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newNode(t, store, nil), newNode(t, store, nil)
		a.browser("alice").get("/")
		a.expect("alice")
		second := a.browser("alice")
		second.get("/")
		second.site = b
		second.get("/")
		a.expect()
		b.expect()
		time.Sleep(time.Minute)
		second.get("/")
		b.expect("alice")
	})
}

func TestLoginLogoutAndChangeAreRecordedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("")
		b.get("/")
		b.get("/")
		s.expect("guest")
		_, guest, _ := b.cookie()

		b.user = "alice"
		b.get("/")
		s.expect("alice")
		b.user = "bob"
		b.get("/")
		s.expect("bob")
		b.user = ""
		b.get("/")
		s.expect("guest")
		if got := s.visitor.Guest; got != guest {
			t.Errorf("got guest %q after signing out, want %q as before", got, guest)
		}
	})
}

// This user's id hashes to what stands for a guest.
func TestUserWhoseTagIsZeroIsNoGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("user1159293026")
		b.get("/")
		b.get("/")
		s.expect("user1159293026")
		b.user = ""
		b.get("/")
		s.expect("guest")
	})
}

// A user may sign out and in again without seeing a page in between.
func TestSigningOutAndInAgainIsRecordedAtOnce(t *testing.T) {
	for name, requests := range map[string]func(b *browser){
		"two requests": func(b *browser) {
			b.do(http.MethodPost, "/logout")
			b.user = ""
			b.do(http.MethodPost, "/login")
			b.user = "alice"
		},
		"the login alone is seen": func(b *browser) {
			b.user = ""
			b.do(http.MethodPost, "/login")
			b.user = "alice"
		},
		"one request": func(b *browser) { b.do(http.MethodPost, "/login") },
	} {
		for _, refuses := range []bool{false, true} {
			if refuses && name == "the login alone is seen" {
				continue // then the tracker tells: see TestUserWithoutCookiesWhoSignedOutElsewhere
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, nil)
					alice := s.browser("alice")
					alice.refuses = refuses
					alice.get("/")
					s.expect("alice")
					requests(alice)
					s.expect()
					alice.get("/")
					s.expect("alice")
				})
			})
		}
	}
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
		name    string
		refuses bool
		ended   bool // before the page view
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

// A page of another tab joins the stream that is there: it holds the user in place
// of the page's view, and so the view after it counts anew.
func TestPageViewAfterItsPageJoinedAStream(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			alice := s.browser("alice")
			alice.refuses = refuses
			alice.get("/")
			s.expect("alice")
			alice.do(http.MethodPost, "/presence/beat")
			alice.get("/")
			s.expect()
			alice.do(http.MethodPost, "/presence/beat?joined=1")
			alice.get("/")
			s.expect("alice")
		})
	}
}

// A guest holds nothing, and is counted once a throttle.
func TestGuestWhosePageJoinedAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("")
		b.do(http.MethodPost, "/presence/beat?joined=1")
		if len(b.set) != 0 {
			t.Errorf("got %v set, want nothing", b.set)
		}
		b.get("/")
		b.get("/")
		s.expect("guest")
		b.do(http.MethodPost, "/presence/beat?joined=1")
		b.get("/")
		s.expect()
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
		conn, err := s.tracker.Connect(r.Context(), presence.ConnectOptions{
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

func TestHiddenUserIsNeverRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) {
			c.Identify = func(*http.Request) (presence.User, bool) {
				return presence.User{ID: "mod", Hidden: true}, true
			}
		})
		mod := s.browser("mod")
		for _, path := range []string{"/", "/", "/presence/events"} {
			mod.get(path)
			if s.visitor.User.ID != "mod" || !s.visitor.User.Hidden {
				t.Errorf("got visitor %+v at %s, want mod, hidden", s.visitor, path)
			}
			if len(mod.set) != 0 {
				t.Errorf("got %v set at %s, want nothing", mod.set, path)
			}
		}
		s.expect()
	})
}

// A hidden user who signs in is a guest no longer, and is one again after signing out.
func TestHiddenUserLeavesTheGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) {
			c.Identify = func(r *http.Request) (presence.User, bool) {
				user, ok := byHeader(r)
				user.Hidden = true
				return user, ok
			}
		})
		b := s.browser("")
		b.get("/")
		b.get("/")
		s.expect("guest")
		b.user = "mod"
		for range 3 {
			b.get("/")
			time.Sleep(time.Second)
		}
		s.expect()
		if got := s.store.takenOut(); got != 1 {
			t.Errorf("taken out of the guests %d times, want once", got)
		}
		b.user = ""
		b.get("/")
		s.expect("guest")
	})
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
