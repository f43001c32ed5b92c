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
	for _, tt := range []struct{ url, proto, want string }{
		{"/", "", "; Path=/; HttpOnly; SameSite=Lax"},
		{"/", "http", "; Path=/; HttpOnly; SameSite=Lax"},
		{"/", "https", "; Path=/; HttpOnly; SameSite=Lax; Secure"},
		{"/", "wss", "; Path=/; HttpOnly; SameSite=Lax; Secure"},
		{"https://forum.example/", "", "; Path=/; HttpOnly; SameSite=Lax; Secure"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, func(c *nethttp.Config) { c.CookieName = "seen" })
			b := s.browser("alice")
			if tt.proto != "" {
				b.header.Set("X-Forwarded-Proto", tt.proto)
			}
			got := b.get(tt.url).Header().Get("Set-Cookie")
			value, attributes, _ := strings.Cut(got, ";")
			if !regexp.MustCompile(`^seen=[0-9a-z]+\.[A-Za-z0-9_-]{16}\.[0-9a-z]{1,7}$`).MatchString(value) {
				t.Errorf("%s %s: got cookie %q, want stamp, browser and user", tt.url, tt.proto, value)
			}
			if ";"+attributes != tt.want {
				t.Errorf("%s %s: got attributes %q, want %q", tt.url, tt.proto, attributes, tt.want)
			}
		})
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

// HTTP/2 may split a Cookie header.
func TestCookieInTheSecondHeader(t *testing.T) {
	id := newID(t)
	if got, _ := guestOf(t)("a=b", "c=d; presence=0."+id+".-"); got != id {
		t.Errorf("got guest %q from the second header, want %q", got, id)
	}
}

// FuzzCookie holds the reading of Cookie headers against net/http's.
func FuzzCookie(f *testing.F) {
	const ours = "presence=0.AAAAAAAAAAAAAAAA.-"
	for _, header := range []string{
		// Cookies of ours, among others.
		ours, "a=b; " + ours, "a=b;" + ours + ";c=d", "  " + ours + "  ; c=d", "a=b; presence=mi8x1c2e.AbC-_fghijklmnoP.1y2p0ij",
		"presence=junk; " + ours, "presence=; " + ours, ours + "; presence=0.x.-", "omnipresence=1; " + ours,
		"presence_status=x; " + ours, "presence_status; " + ours, "presence_status=1y2p0ij.x; " + ours,
		// Others alone.
		"", "presence", ";;; ;presence=..;", "omni" + ours, "a=" + ours, "Presence=0.AAAAAAAAAAAAAAAA.-", "presence_status", "presence_status=; presence_status=a",
		// Values that are not ours.
		"presence=", "presence=.", "presence=..", "presence=0", "presence=0.AAAAAAAAAAAAAAAA", "presence=0.AAAAAAAAAAAAAAAA.",
		"presence=0.AAAAAAAAAAAAAAA.-", "presence=0.AAAAAAAAAAAAAAAAA.-", "presence=0.AAAAAAAAAAAAAAA!.-", "presence=\"0.AAAAAAAAAAAAAAAA.-\"",
		ours + ".-", "presence=0.AAAAAAAAAAAAAAAA.0", "presence=0.AAAAAAAAAAAAAAAA.zzzzzzz", "presence=A.AAAAAAAAAAAAAAAA.-",
		"presence=1y2p0ij32e8e7z.AAAAAAAAAAAAAAAA.-", "presence=zzzzzzzzzzzz.AAAAAAAAAAAAAAAA.zzzzzzz",
		"presence=" + strings.Repeat("0", 9000) + ".AAAAAAAAAAAAAAAA.-",
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

// A response that shared caches may store sets no cookie. Many sites say of pages that may not
// be kept that they expired long ago.
func TestCookieStaysOutOfSharedCaches(t *testing.T) {
	later, past := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), time.Unix(0, 0).UTC().Format(http.TimeFormat)
	for _, tt := range []struct {
		control, expires string
		want             bool // a cookie
	}{
		{"", "", true},
		{"private", "", true},
		{"no-store", "", true},
		{"no-cache", "", true},
		{"private, no-cache", "", true},
		{"private, max-age=60", "", true},
		{"max-age=60, PRIVATE", "", true},
		{`private="set-cookie", max-age=60`, "", true},
		{"public", "", false},
		{"Public, max-age=60", "", false},
		{"max-age=60", "", false},
		{"s-maxage=60", "", false},
		{"no-cache,s-maxage = 60", "", false},
		{"no-cache, public", "", false},
		{"", later, false},
		{"must-revalidate", later, false},
		{"private", later, true},
		{"no-store", later, true},
		{"no-cache", later, true},
		{"", past, true},
		{"", "0", true},
		{"", "-1", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.handle("GET /page", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", tt.control)
				w.Header().Set("Expires", tt.expires)
				ok(w, r)
			})
			for _, user := range []string{"alice", ""} {
				b := s.browser(user)
				if b.get("/page"); len(b.set) == 1 != tt.want {
					t.Errorf("Cache-Control: %s, Expires: %s: got %v set for %q, want one: %t", tt.control, tt.expires, b.set, user, tt.want)
				}
			}
			s.expect("alice") // recorded all the same
		})
	}
}

// Each request after which the next page view must be recorded sets the stamp to 0, once.
func TestStreamExpiresTheStamp(t *testing.T) {
	steps := []step{{as: "alice", do: "/presence/events", sets: "no"}} // there is nothing to expire
	for _, request := range []string{"/presence/events", "/presence/ws", "/presence/poll", "POST /presence/events?topic=people", "POST /presence/beat?joined=1"} {
		steps = append(steps, step{want: "alice", sets: "now"}, step{do: request, sets: "0"}, step{do: request, sets: "no"})
	}
	steps = append(steps, step{want: "alice", sets: "now"}, step{do: "POST /presence/beat", sets: "no"}, step{do: "/presence/roster", sets: "no"})
	play(t, []scenario{{"a stream", kept, steps}})
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
