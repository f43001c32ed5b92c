package core_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
)

// newSiteOfStatuses is newSite with the ways to choose a status: that of the
// presence endpoints, a form of the site's own, and a sign-out.
func newSiteOfStatuses(t *testing.T, configure func(*nethttp.Config)) *site {
	t.Helper()
	s := newSite(t, configure)
	choose := func(w http.ResponseWriter, r *http.Request) {
		visitor := presence.VisitorFromContext(r.Context())
		if err := s.tracker.SetStatus(r.Context(), visitor.User.ID, presence.Status(r.URL.Query().Get("status"))); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusNoContent)
	}
	s.handle("PUT /presence/status", choose)
	s.handle("POST /status", choose)
	s.handle("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		visitor := presence.VisitorFromContext(r.Context())
		if err := s.tracker.SignOut(r.Context(), visitor.User.ID); err != nil {
			t.Error(err)
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	return s
}

// choose makes the browser's user choose a status.
func (b *browser) choose(status presence.Status) {
	b.do(http.MethodPut, "/presence/status?status="+string(status))
}

// statusCookie returns the Set-Cookie header of a response that is for the status
// cookie, or "".
func statusCookie(w *httptest.ResponseRecorder) string {
	for _, line := range w.Header()["Set-Cookie"] {
		if strings.HasPrefix(strings.TrimPrefix(line, "__Host-"), "presence_status=") {
			return line
		}
	}
	return ""
}

// A site that has restarted and lost all statuses still does not show a user who chose to
// be invisible.
func TestInvisibleLastsInItsBrowser(t *testing.T) {
	for _, path := range []string{"/presence/status", "/status"} {
		for _, signsOut := range []bool{false, true} {
			t.Run(fmt.Sprint(path, ", signs out: ", signsOut), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					before, after := newSiteOfStatuses(t, nil), newSiteOfStatuses(t, nil)
					alice := before.browser("alice")
					alice.get("/")
					method := http.MethodPut
					if path == "/status" {
						method = http.MethodPost
					}
					set := statusCookie(alice.do(method, path+"?status=invisible"))
					want := "presence_status=" + core.TagOf("alice") + "; Max-Age=34560000; Path=/; HttpOnly; SameSite=Lax"
					if set != want {
						t.Errorf("got %q, want %q", set, want)
					}
					if signsOut {
						alice.do(http.MethodPost, "/logout")
						alice.user = ""
						alice.get("/")
						alice.do(http.MethodPost, "/login")
						alice.user = "alice"
					}

					alice.site = after
					alice.get("/")
					if !after.visitor.User.Veiled {
						t.Error("got a user who is not veiled on a page")
					}
					for _, path := range []string{"/presence/events", "/presence/ws", "/presence/poll"} {
						alice.get(path)
						if !after.visitor.User.Veiled {
							t.Errorf("got a user who is not veiled at %s", path)
						}
					}
					end := after.stream(alice)
					if after.online("alice") {
						t.Error("alice is announced, and chose to be invisible")
					}
					end()
				})
			})
		}
	}
}

// TestInvisibleByAnotherBrowser: each browser that the user comes with learns it,
// also one that only holds a stream.
func TestInvisibleByAnotherBrowser(t *testing.T) {
	for _, path := range []string{"/", "/presence/events", "/presence/ws", "/presence/poll", "/presence/roster"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSiteOfStatuses(t, nil)
			s.browser("alice").choose(presence.Invisible)
			second := s.browser("alice")
			second.header.Set("X-Forwarded-Proto", "https")
			set := statusCookie(second.get(path))
			if want := "__Host-presence_status=" + core.TagOf("alice") + "; Max-Age=34560000; Path=/; HttpOnly; SameSite=Lax; Secure"; set != want {
				t.Errorf("%s: got %q, want %q", path, set, want)
			}
			if set := statusCookie(second.get(path)); set != "" {
				t.Errorf("%s: got %q once the browser has it, want nothing", path, set)
			}
		})
	}
}

// TestStatusCookieOfAStream is set before the stream begins: a handler may take
// the connection from the server, with the header as it is then.
func TestStatusCookieOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiteOfStatuses(t, nil)
		s.browser("alice").choose(presence.Invisible)
		var set []string
		s.events = func(w http.ResponseWriter, r *http.Request) {
			set = slices.Clone(w.Header()["Set-Cookie"])
		}
		s.browser("alice").get("/presence/events")
		if len(set) != 1 || !strings.HasPrefix(set[0], "presence_status=") {
			t.Errorf("got cookies %q when the stream began, want that of the status", set)
		}
	})
}

// TestStatusCookieGoes once its user has chosen to be seen.
func TestStatusCookieGoes(t *testing.T) {
	for _, status := range []presence.Status{presence.Online, presence.Away, presence.Busy} {
		synctest.Test(t, func(t *testing.T) {
			s := newSiteOfStatuses(t, nil)
			alice, second := s.browser("alice"), s.browser("alice")
			alice.choose(presence.Invisible)
			second.get("/")
			alice.choose(status)
			second.get("/")
			if alice.cookies["presence_status"] != "" || second.cookies["presence_status"] != "" {
				t.Errorf("%s: got cookies %v and %v, want no status in either", status, alice.cookies, second.cookies)
			}
			if s.visitor.User.Veiled {
				t.Errorf("%s: got a veiled user", status)
			}
			if !s.online("alice") {
				t.Errorf("%s: alice is not shown", status)
			}
		})
	}
}

// The status cookie counts less than a status of the site, or a later choice of the user.
func TestStatusCookieOnlyHides(t *testing.T) {
	for _, tt := range []struct {
		name, cookie string
		site, chosen presence.Status
		shown        bool
	}{
		{"nothing known", core.TagOf("alice"), "", "", false},
		{"among others", "1." + core.TagOf("alice") + ".2", "", "", false},
		{"the site knows", core.TagOf("alice"), presence.Busy, "", true},
		{"the user chose", core.TagOf("alice"), "", presence.Away, true},
		{"the user chose to be online", core.TagOf("alice"), "", presence.Online, true},
		{"another user's", core.TagOf("bob"), "", "", true},
		{"a word", "invisible", "", "", true},
		{"nothing", "", "", "", true},
		{"dots", "....", "", "", true},
		{"too long a number", "z" + core.TagOf("alice") + "zzzzzz", "", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiteOfStatuses(t, func(c *nethttp.Config) {
					c.Identify = func(*http.Request) (presence.User, bool) {
						return presence.User{ID: "alice", Status: tt.site}, true
					}
				})
				if tt.chosen != "" {
					s.browser("alice").choose(tt.chosen)
				}
				alice := s.browser("alice")
				alice.cookies["presence_status"] = tt.cookie
				alice.get("/")
				if got := s.online("alice"); got != tt.shown {
					t.Errorf("got alice shown: %t, want %t", got, tt.shown)
				}
			})
		})
	}
}

func TestStatusCookieOfManyUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiteOfStatuses(t, nil)
		b := s.browser("")
		var want []string
		for i := range core.MaxHides + 3 {
			b.user = fmt.Sprint("user", i)
			b.choose(presence.Invisible)
			want = append([]string{core.TagOf(presence.UserID(b.user))}, want...)
		}
		want = want[:core.MaxHides]
		if got := b.cookies["presence_status"]; got != strings.Join(want, ".") {
			t.Errorf("got %q, want the latest %d: %q", got, core.MaxHides, want)
		}
		b.choose(presence.Busy)
		if got := b.cookies["presence_status"]; got != strings.Join(want[1:], ".") {
			t.Errorf("got %q once the latest is busy, want %q", got, want[1:])
		}
	})
}

func TestStatusCookieStaysOutOfSharedCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiteOfStatuses(t, nil)
		s.handle("GET /presence/assets/x", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=60")
			ok(w, r)
		})
		s.browser("alice").choose(presence.Invisible)
		alice := s.browser("alice")
		for _, path := range []string{"/presence/assets/x", "/site.css"} {
			if set := statusCookie(alice.get(path)); set != "" {
				t.Errorf("%s: got %q, want nothing", path, set)
			}
		}
	})
}

func TestStatusCookieOfAGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiteOfStatuses(t, nil)
		b := s.browser("")
		b.cookies["presence_status"] = core.TagOf("alice")
		b.get("/")
		if s.visitor.User.Veiled || s.visitor.SignedIn() {
			t.Errorf("got visitor %+v, want a guest", s.visitor)
		}
	})
}

// Over TLS a sibling of the site's host can set a cookie for both, and must not hide a user by it. A
// cookie with the prefix __Host- is the site's own.
func TestStatusCookieOfASibling(t *testing.T) {
	tag := core.TagOf("alice")
	for _, tt := range []struct {
		scheme, cookie string
		veiled         bool
	}{
		{"https", "presence_status=" + tag, false},
		{"https", "__Host-presence_status=" + tag, true},
		{"https", "presence_status=1; __Host-presence_status=" + tag, true},
		{"http", "presence_status=" + tag, true},
		{"http", "__Host-presence_status=" + tag, true}, // a proxy that does not say what the scheme is
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSiteOfStatuses(t, nil)
			alice := s.browser("alice")
			alice.header.Set("X-Forwarded-Proto", tt.scheme)
			alice.header.Set("Cookie", tt.cookie)
			alice.get("/")
			if got := s.visitor.User.Veiled; got != tt.veiled {
				t.Errorf("%s, %s: veiled is %t, want %t", tt.scheme, tt.cookie, got, tt.veiled)
			}
		})
	}
}
