package core_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
)

func TestCookieAttributes(t *testing.T) {
	for _, tt := range []struct {
		proto string
		want  string
	}{
		{"", "; Path=/; HttpOnly; SameSite=Lax"},
		{"http", "; Path=/; HttpOnly; SameSite=Lax"},
		{"https", "; Path=/; HttpOnly; SameSite=Lax; Secure"},
		{"wss", "; Path=/; HttpOnly; SameSite=Lax; Secure"},
	} {
		t.Run(tt.proto, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(c *nethttp.Config) { c.CookieName = "seen" })
				b := s.browser("alice")
				if tt.proto != "" {
					b.header.Set("X-Forwarded-Proto", tt.proto)
				}
				got := b.get("/").Header().Get("Set-Cookie")
				value, attributes, _ := strings.Cut(got, ";")
				if !regexp.MustCompile(`^seen=[0-9a-z]+\.[A-Za-z0-9_-]{16}\.[0-9a-z]{1,7}$`).MatchString(value) {
					t.Errorf("got cookie %q, want stamp, browser and user", value)
				}
				if "; "+strings.TrimSpace(attributes) != tt.want {
					t.Errorf("got attributes %q, want %q", attributes, tt.want)
				}
			})
		})
	}
}

func TestCookieIsSecureOnTLS(t *testing.T) {
	mw := nethttp.Presence(newTracker(t), byHeader)
	r := httptest.NewRequest(http.MethodGet, "https://forum.example/", nil)
	w := httptest.NewRecorder()
	mw(http.HandlerFunc(ok)).ServeHTTP(w, r)
	if c := w.Result().Cookies(); len(c) != 1 || !c[0].Secure {
		t.Errorf("got %v, want one cookie, Secure", c)
	}
}

func TestStampOfTheCookie(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stamp func(now time.Time) string
		want  bool // recorded
	}{
		{"now", stamp, false},
		{"a moment ago", func(now time.Time) string { return stamp(now.Add(-59 * time.Second)) }, false},
		{"a throttle ago", func(now time.Time) string { return stamp(now.Add(-60 * time.Second)) }, true},
		{"in the future", func(now time.Time) string { return stamp(now.Add(time.Millisecond)) }, true},
		{"in an hour", func(now time.Time) string { return stamp(now.Add(time.Hour)) }, true},
		{"never", func(time.Time) string { return "0" }, true},
		{"out of range", func(time.Time) string { return "zzzzzzzzzzzz" }, true},
		{"not a number", func(time.Time) string { return "!" }, true},
		{"negative", func(time.Time) string { return "-1" }, true},
		{"missing", func(time.Time) string { return "" }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				alice := s.browser("alice")
				alice.get("/")
				s.expect("alice")
				time.Sleep(2 * time.Minute) // what is remembered in the process is over
				_, browser, user := alice.cookie()
				alice.cookies["presence"] = tt.stamp(time.Now()) + "." + browser + "." + user
				alice.get("/")
				if tt.want {
					s.expect("alice")
				} else {
					s.expect()
				}
			})
		})
	}
}

func TestCookieThatIsNotOursIsNone(t *testing.T) {
	guestOf := guestOf(t)
	for _, value := range []string{
		"", ".", "..", "0", "0.AAAAAAAAAAAAAAAA", "0.AAAAAAAAAAAAAAAA.", "0.AAAAAAAAAAAAAAA.-", "0.AAAAAAAAAAAAAAAAA.-",
		"0.AAAAAAAAAAAAAAA!.-", "0.AAAAAAAAAAAAAAAA.0", "0.AAAAAAAAAAAAAAAA.zzzzzzz", "0.AAAAAAAAAAAAAAAA.-.-",
		"A.AAAAAAAAAAAAAAAA.-", "1y2p0ij32e8e7z.AAAAAAAAAAAAAAAA.-", strings.Repeat("0", 9000) + ".AAAAAAAAAAAAAAAA.-",
	} {
		if got, set := guestOf("presence=" + value); got != "" || len(set) != 1 {
			t.Errorf("%q: got guest %q and %v set, want none and a new cookie", value, got, set)
		}
	}
}

func TestCookieAmongOthers(t *testing.T) {
	guestOf := guestOf(t)
	id := newID(t)
	ours := "presence=0." + id + ".-"
	for header, want := range map[string]string{
		ours:                           id,
		"a=b; " + ours:                 id,
		"a=b;" + ours + ";c=d":         id,
		"  " + ours + "  ; c=d":        id,
		"presence=junk; " + ours:       id,
		"omnipresence=1; " + ours:      id,
		ours + "; " + "presence=0.x.-": id,
		"presence=; " + ours:           id,
		"omni" + ours:                  "",
		"a=" + ours:                    "",
		"Presence=0." + id + ".-":      "",
		"presence_status=x; " + ours:   id,
		"presence_status; " + ours:     id,
		"presence":                     "",
		"":                             "",
	} {
		if got, _ := guestOf(header); got != want {
			t.Errorf("%q: got guest %q, want %q", header, got, want)
		}
	}
	if got, _ := guestOf("a=b", "c=d; "+ours); got != id { // as HTTP/2 may split them
		t.Errorf("got guest %q from the second header, want %q", got, id)
	}
}

// FuzzCookie holds the reading of Cookie headers against net/http's.
func FuzzCookie(f *testing.F) {
	for _, header := range []string{
		"", "presence", "presence=", "presence=0.AAAAAAAAAAAAAAAA.-", "a=b; presence=mi8x1c2e.AbC-_fghijklmnoP.1y2p0ij",
		"presence=x; presence=0.AAAAAAAAAAAAAAAA.-", "presence=\"0.AAAAAAAAAAAAAAAA.-\"", "apresence=0.AAAAAAAAAAAAAAAA.-",
		"presence=0.AAAAAAAAAAAAAAAA.-.-", "presence=zzzzzzzzzzzz.AAAAAAAAAAAAAAAA.zzzzzzz", ";;; ;presence=..;",
		"presence_status=1y2p0ij.x; presence=0.AAAAAAAAAAAAAAAA.-", "presence_status=; presence_status=a", "presence_status",
	} {
		f.Add(header)
	}
	form := regexp.MustCompile(`^([0-9a-z]{1,12})\.([A-Za-z0-9_-]{16})\.(-|[0-9a-z]{1,12})(\.[a-z0-9-]{1,32})?$`)
	set := regexp.MustCompile(`^presence=0\.[A-Za-z0-9_-]{16}\.-; Path=/; HttpOnly; SameSite=Lax$`)
	blank := regexp.MustCompile(`presence[ \t]+=|[^\t -~]`)
	tame := regexp.MustCompile(`^[a-z0-9_=.; ]*$`) // any other value of a status cookie net/http may not take
	guestOf := guestOf(f)
	f.Fuzz(func(t *testing.T, header string) {
		if blank.MatchString(header) || strings.Count(header, ";") > 1000 {
			t.Skip() // nothing that browsers send, or servers let through
		}
		want, hides := "", ""
		for _, c := range (&http.Request{Header: http.Header{"Cookie": {header}}}).Cookies() {
			if m := form.FindStringSubmatch(c.Value); c.Name == "presence" && !c.Quoted && m != nil && inRange(m[1], m[3]) && want == "" {
				want = m[2]
			}
			if c.Name == "presence_status" && !c.Quoted && hides == "" {
				hides = c.Value
			}
		}
		got, gotHides := core.ReadCookies([]string{header}, "presence")
		if got != want || tame.MatchString(header) && gotHides != hides {
			t.Errorf("%q: got browser %q and hidden users %q, want %q and %q", header, got, gotHides, want, hides)
		}
		if _, settings := guestOf(header); len(settings) != 1 || !set.MatchString(settings[0]) {
			t.Errorf("%q: got Set-Cookie %q, want one of our form", header, settings)
		}
	})
}

// inRange reports whether the numbers of a cookie are such as we write.
func inRange(stamp, user string) bool {
	const most63, most32 = "1y2p0ij32e8e7", "1z141z3"
	atMost := func(s, most string) bool {
		s = strings.TrimLeft(s, "0")
		return len(s) < len(most) || len(s) == len(most) && s <= most
	}
	return atMost(stamp, most63) && (user == "-" || atMost(user, most32) && strings.Trim(user, "0") != "")
}

// guestOf returns what tells, for a guest's Cookie headers, which guest a handler
// finds, and what Set-Cookie headers there are. No stamp in the headers is fresh.
func guestOf(t testing.TB) func(headers ...string) (guest string, set []string) {
	mw := nethttp.Presence(newTracker(t), byHeader)
	return func(headers ...string) (guest string, set []string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Cookie"] = headers
		w := httptest.NewRecorder()
		mw(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			guest = presence.VisitorFromContext(r.Context()).Guest
			ok(w, r)
		})).ServeHTTP(w, r)
		return guest, w.Header()["Set-Cookie"]
	}
}

func TestCookieStaysOutOfSharedCaches(t *testing.T) {
	for control, want := range map[string]bool{
		"":                                 true,
		"private":                          true,
		"no-store":                         true,
		"no-cache":                         true,
		"private, no-cache":                true,
		"private, max-age=60":              true,
		"max-age=60, PRIVATE":              true,
		`private="set-cookie", max-age=60`: true,
		"public":                           false,
		"Public, max-age=60":               false,
		"max-age=60":                       false,
		"s-maxage=60":                      false,
		"no-cache,s-maxage = 60":           false,
		"no-cache, public":                 false,
	} {
		t.Run(control, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.handle("GET /cached", func(w http.ResponseWriter, r *http.Request) {
					if control != "" {
						w.Header().Set("Cache-Control", control)
					}
					ok(w, r)
				})
				for _, user := range []string{"alice", ""} {
					b := s.browser(user)
					b.get("/cached")
					if got := len(b.set) == 1; got != want {
						t.Errorf("got %v set for %q, want one: %t", b.set, user, want)
					}
				}
				s.expect("alice") // recorded all the same
			})
		})
	}
}

// A user whose pages are cached, and so have no cookie, is throttled without one.
func TestUserOfCachedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.handle("GET /cached", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public")
			ok(w, r)
		})
		alice := s.browser("alice")
		alice.get("/cached")
		s.expect("alice")
		alice.get("/cached")
		s.expect()
	})
}

func TestStreamExpiresTheStamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		alice := s.browser("alice")
		alice.get("/presence/events")
		if len(alice.set) != 0 {
			t.Errorf("got %v set where there was nothing to expire, want nothing", alice.set)
		}
		for _, path := range []string{"/presence/events", "/presence/ws", "/presence/poll", "/presence/beat?joined=1"} {
			method := http.MethodGet
			if strings.Contains(path, "joined") {
				method = http.MethodPost
			}
			alice.get("/")
			_, browser, user := alice.cookie()
			alice.do(method, path)
			at, sameBrowser, sameUser := alice.cookie()
			if at != "0" || sameBrowser != browser || sameUser != user {
				t.Errorf("got cookie %s.%s.%s after %s, want 0.%s.%s", at, sameBrowser, sameUser, path, browser, user)
			}
			alice.do(method, path)
			if len(alice.set) != 0 {
				t.Errorf("got %v set the second time, want nothing", alice.set)
			}
		}
		alice.get("/")
		before := alice.cookies["presence"]
		alice.do(http.MethodPost, "/presence/beat")
		alice.get("/presence/roster")
		if got := alice.cookies["presence"]; got != before {
			t.Errorf("got cookie %q after a beat and a roster, want %q as before", got, before)
		}
	})
}

// A page that says until when it may be kept may be stored by shared caches too. Many sites
// say so of pages that may not be kept at all, with a time that is past.
func TestPagesThatExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later, past := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), time.Unix(0, 0).UTC().Format(http.TimeFormat)
		for _, tt := range []struct {
			expires, control string
			want             bool // a cookie
		}{
			{later, "", false},
			{later, "must-revalidate", false},
			{later, "private", true},
			{later, "no-store", true},
			{later, "no-cache", true},
			{past, "", true},
			{"0", "", true},
			{"-1", "", true},
		} {
			s := newSite(t, nil)
			s.handle("GET /expires", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Expires", tt.expires)
				w.Header().Set("Cache-Control", tt.control)
				ok(w, r)
			})
			alice := s.browser("alice")
			if alice.get("/expires"); len(alice.set) == 1 != tt.want {
				t.Errorf("Expires: %s, Cache-Control: %s: got %v set, want a cookie: %t", tt.expires, tt.control, alice.set, tt.want)
			}
		}
	})
}

// A browser that was a guest's has a cookie from its stream. If the pages of its user are
// cached, and so never replace that cookie, the user is throttled all the same, and taken
// out of the guests once.
func TestUserOfCachedPagesWhoWasAGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.handle("GET /cached", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=0")
			ok(w, r)
		})
		b := s.browser("")
		b.get("/presence/events")
		b.user = "alice"
		for range 5 {
			b.get("/cached")
			time.Sleep(time.Second)
		}
		s.expect("alice")
		if got := s.store.takenOut(); got != 1 {
			t.Errorf("taken out of the guests %d times, want once", got)
		}
		b.get("/presence/events") // the next page view must be recorded
		b.get("/cached")
		s.expect("alice")
		time.Sleep(time.Minute)
		b.get("/cached")
		s.expect("alice")
		b.get("/") // a page that is not cached
		if _, _, user := b.cookie(); user == "-" {
			t.Error("got the cookie of a guest behind a page that is not cached, want one of alice")
		}
		s.expect()
	})
}

// The same browser is alice's, a guest's and alice's again within a minute: each counts.
func TestUserWhoIsAGuestForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.handle("GET /cached", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public")
			ok(w, r)
		})
		b := s.browser("")
		b.get("/")
		for range 2 {
			b.user = ""
			b.get("/")
			s.expect("guest")
			b.user = "alice"
			b.get("/cached")
			s.expect("alice")
			if got := s.store.takenOut(); got != 1 {
				t.Errorf("taken out of the guests %d times, want once", got)
			}
			b.user = ""
			b.get("/cached")
			time.Sleep(time.Second)
			b.cookies["presence"] = "0" + b.cookies["presence"][strings.IndexByte(b.cookies["presence"], '.'):] // as signing out by a POST does
		}
	})
}
