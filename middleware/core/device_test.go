package core_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

const (
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
	iPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)

// newPeopleSite starts a site with a Directory.
func newPeopleSite(t *testing.T, configure func(*nethttp.Config)) *site {
	t.Helper()
	return newNodeWith(t, memstore.New(), track.Config{Directory: presencetest.NewMemoryDirectory()}, configure)
}

// with returns a browser with a user agent.
func (s *site) with(agent, user string) *browser {
	b := s.browser(user)
	b.header.Set("User-Agent", agent)
	return b
}

// device returns the device that a handler finds for a page view.
func (b *browser) device() presence.Device {
	b.get("/")
	return b.site.visitor.Device
}

// streams is device for a request for events.
func (b *browser) streams() presence.Device {
	b.get("/presence/ws")
	return b.site.visitor.Device
}

// The first page view of a browser has no cookie. It has the same device as the stream that
// its page opens, and as each later page view, throttled or not.
func TestADeviceIsABrowserOfAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPeopleSite(t, nil)
		desk, phone := s.with(firefox, "alice"), s.with(iPhone, "alice")
		first, second := desk.device(), phone.device()
		if want := (presence.Device{ID: first.ID, Kind: presence.Desktop, Label: "Firefox on Linux"}); first != want || len(first.ID) != 16 {
			t.Errorf("got device %+v, want %+v with an id of 16 characters", first, want)
		}
		if second.Kind != presence.Mobile || second.Label != "Safari on iPhone" || second.ID == first.ID {
			t.Errorf("got device %+v beside %+v, want another on an iPhone", second, first)
		}
		for range 3 {
			time.Sleep(50 * time.Second)
			if got := desk.device(); got != first {
				t.Errorf("got device %+v of a page view, want %+v", got, first)
			}
			if got := desk.streams(); got != first {
				t.Errorf("got device %+v of a stream, want %+v", got, first)
			}
			if got := phone.device(); got != second {
				t.Errorf("got device %+v, want %+v", got, second)
			}
		}
	})
}

// A guest's browser changes half of its id once the guest counts.
func TestADeviceIsTheSameBeforeAndAfterItsGuestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPeopleSite(t, nil)
		b := s.with(firefox, "")
		b.get("/")
		if got := s.visitor.Device; got != (presence.Device{}) {
			t.Errorf("got device %+v of a guest, want none", got)
		}
		b.user = "alice"
		before := b.device()
		b.user = ""
		b.get("/")
		b.get("/")
		b.user = "alice"
		if got := b.device(); got != before {
			t.Errorf("got device %+v, want %+v", got, before)
		}
	})
}

// Nobody can tell from their devices that two users share a browser.
func TestUsersOfOneBrowserAreNotLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPeopleSite(t, nil)
		b := s.with(firefox, "alice")
		alice := b.device()
		b.user = "bob"
		bob := b.device()
		_, browser, _ := b.cookie()
		if alice.ID == bob.ID || alice.ID == "" {
			t.Errorf("got devices %q and %q, want two ids", alice.ID, bob.ID)
		}
		for _, id := range []presence.DeviceID{alice.ID, bob.ID} {
			if strings.Contains(string(id), browser[:8]) || strings.Contains(browser, string(id[:8])) {
				t.Errorf("got device %q of browser %q, want no part of it", id, browser)
			}
		}
	})
}

// A client that keeps no cookies is one device by its user agent, but for its first page view.
func TestADeviceWithoutCookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPeopleSite(t, nil)
		b, other := s.with("curl/8.14.1", "alice"), s.with("Wget/1.25.0", "alice")
		b.refuses, other.refuses = true, true
		stream := b.streams()
		if stream.ID == "" || stream.Label != "curl" {
			t.Errorf("got device %+v, want one of curl", stream)
		}
		if got := other.streams(); got.ID == stream.ID {
			t.Errorf("got device %+v for another user agent, want another id", got)
		}
		b.device()
		for range 5 {
			time.Sleep(70 * time.Second)
			if got := b.device(); got != stream {
				t.Errorf("got device %+v, want %+v", got, stream)
			}
		}
	})
}

// Two browsers of a user are two devices in the store, each recorded once while its page views
// are throttled.
func TestDevicesAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPeopleSite(t, nil)
		for _, agent := range []string{firefox, iPhone} {
			b := s.with(agent, "alice")
			device := b.device()
			b.device()
			s.expect("alice")
			want := fmt.Sprintf(`alice %s {"kind":%q,"label":%q}`, device.ID, device.Kind, device.Label)
			if got := s.store.takePeople(); !slices.Equal(got, []string{want}) {
				t.Errorf("got %q recorded, want %q", got, want)
			}
		}
	})
}

// Rule P13: neither an address nor a user agent nor a cookie is written to the store or the
// log, with a Secret and without.
func TestNothingRawIsRecorded(t *testing.T) {
	for _, secret := range []string{"", "sixteen bytes 01"} {
		synctest.Test(t, func(t *testing.T) {
			s := newPeopleSite(t, func(c *nethttp.Config) { c.Secret = []byte(secret) })
			b := s.with(firefox, "alice")
			b.remote = "198.51.100.7:4711"
			b.cookies["session"] = "the-token-itself"
			for range 3 {
				b.get("/")
				b.streams()
				time.Sleep(time.Minute)
			}
			s.recorded()
			if len(s.store.takePeople()) == 0 {
				t.Fatal("got no device recorded, want one")
			}
			_, browser, _ := b.cookie()
			for _, raw := range []string{"198.51.100", "Mozilla", "Gecko", "144.0", "the-token", browser[:8]} {
				if strings.Contains(s.store.wrote.String()+s.logs.String(), raw) {
					t.Errorf("got %q written, want nothing of it:\n%s%s", raw, &s.store.wrote, s.logs)
				}
			}
		})
	}
}

func TestSessionNamesTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := newPeopleSite(t, func(c *nethttp.Config) {
			c.Session = func(r *http.Request) string { calls++; return r.Header.Get("X-Session") }
		})
		b := s.with(firefox, "alice")
		b.header.Set("X-Session", "s:17")
		want := presence.Device{ID: "s:17", Kind: presence.Desktop, Label: "Firefox on Linux"}
		for range 2 { // recorded, and throttled
			if got := b.device(); got != want {
				t.Errorf("got device %+v, want %+v", got, want)
			}
		}
		if calls != 2 {
			t.Errorf("got %d calls of Session, want 2", calls)
		}
		b.header.Del("X-Session")
		if got := b.device().ID; len(got) != 16 {
			t.Errorf("got device %q without a session, want the default", got)
		}
		b.user = ""
		b.get("/")
		if calls != 3 {
			t.Errorf("got %d calls of Session with one of a guest, want 3", calls)
		}
	})
}

// A Session that fails leaves the default, and one line in the log, which does not hold the
// id: it may be the token (rule P13).
func TestFaultsOfSession(t *testing.T) {
	for name, tt := range map[string]struct {
		session func(*http.Request) string
		want    string
	}{
		"panics":   {func(*http.Request) string { panic("no session") }, "Session of the middleware panicked"},
		"a space":  {func(*http.Request) string { return "very secret" }, "Session of the middleware returned an id that is not valid"},
		"too long": {func(*http.Request) string { return strings.Repeat("secret", 11) }, "Session of the middleware returned an id that is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPeopleSite(t, func(c *nethttp.Config) { c.Session = tt.session })
				b := s.with(firefox, "alice")
				first := b.device()
				if got := b.device(); len(got.ID) != 16 || got != first {
					t.Errorf("got devices %+v and %+v, want the default", first, got)
				}
				s.expect("alice")
				if got := strings.Count(s.logs.String(), tt.want); got != 1 {
					t.Errorf("got %d lines, want 1: %s", got, s.logs)
				}
				if strings.Contains(s.logs.String(), "secret") {
					t.Errorf("got the id in the log: %s", s.logs)
				}
			})
		})
	}
}

// Rule P13: hashes of the address and of the user agent are kept only with a Secret.
func TestSecretKeepsHashesOfAddressAndUserAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := func(secret string) func(*nethttp.Config) {
			return func(c *nethttp.Config) {
				c.Secret = []byte(secret)
				c.ClientIP = func(r *http.Request) string { return r.Header.Get("X-Address") }
			}
		}
		at := func(s *site, agent, address string) presence.Device {
			b := s.with(agent, "alice")
			b.header.Set("X-Address", address)
			return b.device()
		}
		without, one, two := newPeopleSite(t, config("")), newPeopleSite(t, config("sixteen bytes 01")), newPeopleSite(t, config("sixteen bytes 02"))
		if got := at(without, firefox, "192.0.2.7"); got.Addr != "" || got.Agent != "" {
			t.Errorf("got %+v without a secret, want no hashes", got)
		}
		first := at(one, firefox, "192.0.2.7")
		for _, hash := range []string{first.Addr, first.Agent} {
			if len(hash) != 13 || !strings.HasPrefix(hash, "h:") {
				t.Errorf("got hash %q, want h: and 11 characters", hash)
			}
		}
		if first.Addr == first.Agent {
			t.Errorf("got hash %q twice", first.Addr)
		}
		if got := at(one, firefox, "192.0.2.7"); got.Addr != first.Addr || got.Agent != first.Agent {
			t.Errorf("got %+v, want the hashes of %+v", got, first)
		}
		if got := at(one, iPhone, "192.0.2.8"); got.Addr == first.Addr || got.Agent == first.Agent {
			t.Errorf("got %+v from another address with another agent, and %+v", got, first)
		}
		if got := at(two, firefox, "192.0.2.7"); got.Addr == first.Addr || got.Agent == first.Agent {
			t.Errorf("got %+v with another secret, and %+v", got, first)
		}
		if got := at(one, "", ""); got.Addr == "" || got.Agent != "" {
			t.Errorf("got %+v of nothing, want the hash of the connection's address alone", got)
		}
	})
}

// A cookie that a client makes up changes the device of its own user only, and a client can
// say nothing that is not valid.
func TestHostileDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPeopleSite(t, nil)
		alice := s.with(firefox, "alice")
		want := alice.device()
		mallory := s.with(firefox, "mallory")
		mallory.cookies["presence"] = alice.cookies["presence"]
		if got := mallory.device(); got.ID == want.ID || got.ID == "" {
			t.Errorf("got device %q with the cookie of alice's browser, want another than hers", got.ID)
		}
		for _, agent := range []string{strings.Repeat("Firefox ", 1<<17), "<b>\x1e", "a\x00b"} {
			b := s.with(agent, "mallory")
			if got := b.device(); got.Validate() != nil || got.ID == "" || got.Label == "" {
				t.Errorf("got device %+v, want a valid one", got)
			}
		}
	})
}

// Without a Directory there are no devices, and nothing is asked for them.
func TestNoDirectoryNoDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) {
			c.Secret = secret
			c.Session = func(*http.Request) string { t.Error("Session was called"); return "x" }
		})
		b := s.with(firefox, "alice")
		for range 2 {
			if got := b.device(); got != (presence.Device{}) {
				t.Errorf("got device %+v, want none", got)
			}
		}
	})
}

// The status cookie hides a user of whom the Directory knows nothing, and goes once the
// user chose to be seen.
func TestStatusCookieWithADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPeopleSite(t, nil)
		b := s.with(firefox, "alice")
		b.cookies["presence_status"] = core.TagOf("alice")
		b.get("/")
		if !s.visitor.User.Veiled {
			t.Error("got alice as she is, want her veiled")
		}
		if err := s.tracker.SetStatus(t.Context(), "alice", presence.Online); err != nil {
			t.Fatal(err)
		}
		b.get("/")
		if got, ok := b.cookies["presence_status"]; ok || s.visitor.User.Veiled {
			t.Errorf("got status cookie %q, want none", got)
		}
	})
}

// The endpoints of people exist on a site with people.
func TestEndpointsOfPeople(t *testing.T) {
	for _, people := range []bool{false, true} {
		for _, path := range []string{"/people", "/settings", "/sessions", "/sessions/s:17"} {
			t.Run(fmt.Sprintf("people %t %s", people, path), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					config := track.Config{Prefix: "/"}
					if people {
						config.Directory = presencetest.NewMemoryDirectory()
					}
					s := newNodeWith(t, memstore.New(), config, nil)
					s.browser("alice").get(path)
					recorded, found := s.recorded(), s.tracker.Staff().Diagnose()
					if people && (len(recorded) != 0 || len(found) != 1 || found[0].Finding != presence.NotReached) {
						t.Errorf("got %v recorded and %v found, want an endpoint that is not reached", recorded, found)
					}
					if !people && (len(recorded) != 1 || len(found) != 0) {
						t.Errorf("got %v recorded and %v found, want a page view", recorded, found)
					}
				})
			})
		}
	}
}

// TestAThrottledVisitorOnADevice holds that a page view which is not recorded finds no
// device, until a handler asks for the visitor: it costs what it costs without people.
func TestAThrottledVisitorOnADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := track.New(memstore.New(), track.Config{Secret: secret, Directory: presencetest.NewMemoryDirectory()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tracker.Close(context.Background()) }()
		mw := nethttp.PresenceWithConfig(nethttp.Config{
			Tracker: tracker, Secret: secret, Session: func(*http.Request) string { return "s:17" },
			Identify: func(*http.Request) (presence.User, bool) { return presence.User{ID: "alice"}, true },
		})
		r := browserRequest(cookieFrom(t, mw))
		time.Sleep(100 * time.Millisecond) // until the roster has her
		w := discard{http.Header{}}
		h := mw(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if got := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); got != 1 {
			t.Errorf("got %v allocations, want 1", got)
		}
		var devices [2]presence.Device
		h = mw(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for i := range devices {
				devices[i] = presence.VisitorFromContext(r.Context()).Device
			}
		}))
		h.ServeHTTP(httptest.NewRecorder(), r)
		if devices[0].ID != "s:17" || devices[0].Label != "Chrome on Linux" || devices[1] != devices[0] {
			t.Errorf("got devices %+v, want that of the session twice", devices)
		}
	})
}
