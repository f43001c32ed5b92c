package core_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

func TestWhenAGuestIsRecorded(t *testing.T) {
	play(t, []scenario{
		{"once the cookie came back, and then once in the throttle time", kept, []step{
			{sets: "0"},
			{want: "guest", sets: "now"},
			{wait: 30 * time.Second, do: "POST /search", sets: "no"},
			{sets: "no"},
			{wait: 30 * time.Second, want: "guest", sets: "now"},
		}},
		{"never", refused, []step{{}, {}, {}, {do: "/threads/1"}}},
		{"no request but a page view gives a cookie", kept, []step{
			{do: "/site.css", sets: "no"},
			{do: "/presence/roster", sets: "no"},
			{do: "POST /login", sets: "no"},
			{do: "HEAD /", sets: "no"},
			{do: "POST /presence/beat?joined=1", sets: "no"},
			{sets: "0"},
		}},
		{"a guest holds nothing: joining a stream ends no throttle", kept, []step{
			{},
			{want: "guest"},
			{do: "POST /presence/beat?joined=1", sets: "no"},
			{sets: "no"},
		}},
		{"out of the guests at the first page view of a user", kept, []step{
			{},
			{want: "guest"},
			{as: "alice", do: "/site.css"},
			{do: "/presence/roster"},
			{want: "alice", out: 1},
			{},
			{as: "guest", want: "guest"},
		}},
		{"out of the guests at the first stream of a user", kept, []step{
			{},
			{want: "guest"},
			{as: "alice", do: "/site.css"},
			{do: "/presence/roster"},
			{do: "/presence/events", out: 1, sets: "0"},
			{want: "alice"},
			{},
			{as: "guest", want: "guest"},
		}},
	})
}

// The id that a guest counts by is made from the first one, and stays, also while the browser
// is a user's.
func TestIDOfAGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("")
		b.get("/")
		_, first, _ := b.cookie()
		if got := s.visitor; got.SignedIn() || got.Guest != "" {
			t.Errorf("got visitor %+v at first sight, want a guest without an id", got)
		}
		b.get("/")
		_, id, _ := b.cookie()
		if id == first || s.visitor.Guest != id {
			t.Errorf("got guest %q, and %q and then %q in the cookie, want one who counts", s.visitor.Guest, first, id)
		}
		time.Sleep(time.Minute)
		for _, user := range []string{"", "alice", ""} {
			b.user = user
			b.get("/")
			if _, again, _ := b.cookie(); again != id || user == "" && s.visitor.Guest != id {
				t.Errorf("%q: got id %q and guest %q, want %q as before", user, again, s.visitor.Guest, id)
			}
		}
	})
}

// A stream is proof enough of a browser: its guest gets an id at once. Until the cookie comes back, the guest
// counts by the stream alone.
func TestStreamingGuestGetsAnIDAtOnce(t *testing.T) {
	for _, path := range []string{"/presence/events", "/presence/ws", "/presence/poll"} {
		for _, second := range []string{path, "/"} {
			t.Run(path+" then "+second, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, nil)
					b := s.browser("")
					b.get(path + "?topic=site")
					_, id, user := b.cookie()
					if s.visitor.Guest != id || user != "-" || s.visitor.Passing == "" {
						t.Errorf("got visitor %+v and %q of %q in the cookie, want the same id of a passing guest", s.visitor, id, user)
					}
					for _, path := range []string{"/presence/roster", second} {
						if b.get(path); s.visitor.Guest != id || s.visitor.Passing != "" {
							t.Errorf("%s: got visitor %+v, want guest %q, who counts by the cookie", path, s.visitor, id)
						}
					}
					time.Sleep(time.Second)
					if out := s.store.takenOut(); second == path && out != 1 { // a page view counts the guest at once
						t.Errorf("%d guests by their streams were taken out, want one", out)
					}
					s.store.take()
					if b.get(path); s.visitor.Guest != id || s.visitor.Passing != "" || len(b.set) != 0 {
						t.Errorf("got visitor %+v and %v set the third time, want %q and nothing", s.visitor, b.set, id)
					}
				})
			})
		}
	}
}

// A guest whose browser keeps no cookies counts by the stream alone, as often as one comes. The client is the same
// for all streams, and another one elsewhere and in another browser.
func TestGuestWithoutCookiesPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) { c.ClientIP = byAddr })
		stream := func(userAgent, address string) string {
			b := s.with(userAgent, "")
			b.header.Set("X-Addr", address)
			b.get("/presence/events")
			return s.visitor.Passing
		}
		first := stream(firefox, "192.0.2.1")
		for _, other := range []string{stream(iPhone, "192.0.2.1"), stream(firefox, "192.0.2.2"), stream(googlebot, "192.0.2.1")} {
			if other == first {
				t.Errorf("got %q again, want another client", other)
			}
		}
		if again := stream(firefox, "192.0.2.1:4000"); again != first || first == "" {
			t.Errorf("got %q and then %q, want one client", first, again)
		}
		if strings.Contains(first, "192.0") {
			t.Errorf("got %q, which has the address", first)
		}
		s.expect()
	})
}

// TestMadeUpGuestsAreNotCounted: a script can write any id into a cookie. It is
// counted for none, however often it comes back with it.
func TestMadeUpGuestsAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		ours := newID(t)
		for _, id := range []string{
			"AAAAAAAAAAAAAAAA", ours[:15] + "!", ours[8:] + ours[:8], ours[:8] + "AAAAAAAA", "AAAAAAAA" + ours[8:], strings.ToUpper(ours),
		} {
			if id == ours {
				continue // had it no lower-case letter
			}
			for range 3 {
				b := s.browser("")
				b.cookies["presence"] = "0." + id + ".-"
				b.get("/")
				s.expect()
				if got := s.visitor.Guest; got != "" {
					t.Errorf("%s: got guest %q, want none", id, got)
				}
				given := b.cookies["presence"]
				b.get("/presence/roster")
				b.get("/") // with the cookie that it was given
				s.expect("guest")
				if b.cookies["presence"] == given || !strings.Contains(b.cookies["presence"], s.visitor.Guest) {
					t.Errorf("got cookie %q, want the stamp of now for guest %q", b.cookies["presence"], s.visitor.Guest)
				}
			}
		}
	})
}

// TestMadeUpGuestsWhoStream are counted by the tracker, under an id of ours.
func TestMadeUpGuestsWhoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("")
		b.cookies["presence"] = stamp(time.Now()) + ".AAAAAAAAAAAAAAAA.-"
		for _, path := range []string{"/presence/roster", "/presence/events"} {
			b.get(path)
			if got := s.visitor.Guest; got == "AAAAAAAAAAAAAAAA" {
				t.Errorf("%s: got the guest that the browser made up", path)
			}
		}
		if _, id, _ := b.cookie(); id == "AAAAAAAAAAAAAAAA" || s.visitor.Guest != id {
			t.Errorf("got guest %q with the cookie %q, want a new one", s.visitor.Guest, id)
		}
	})
}

// TestGuestOfAnotherNode: the nodes of a fleet have one secret, and other fleets
// have others.
func TestGuestOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := &secretless{Store: memstore.New()}
		fleet.reached.Store(true)
		a, b := newNode(t, fleet, nil), newNode(t, fleet, nil)
		other := newSite(t, nil)
		synctest.Wait()
		guest := a.browser("")
		guest.get("/")
		guest.site = b
		guest.get("/")
		b.expect("guest")
		time.Sleep(time.Minute)
		guest.site = other
		guest.get("/")
		other.expect()
	})
}

// While the secret is not known, guests do not count, since their ids could be made up.
// Users are recorded as always.
func TestGuestsWhileNoSecretIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &secretless{Store: memstore.New()}
		s := newNode(t, store, nil)
		guest, alice := s.browser(""), s.browser("alice")
		for _, path := range []string{"/", "/", "/presence/events"} {
			if guest.get(path); len(guest.cookies) > 0 || s.visitor.Guest != "" {
				t.Errorf("%s: got cookies %v and guest %q, want neither", path, guest.cookies, s.visitor.Guest)
			}
		}
		s.expect()
		alice.get("/")
		alice.get("/")
		s.expect("alice")
		if len(alice.cookies) != 1 {
			t.Errorf("got cookies %v, want one that throttles", alice.cookies)
		}

		store.reached.Store(true)
		time.Sleep(time.Minute)
		guest.get("/")
		guest.get("/")
		s.expect("guest")
		alice.user = "" // her cookie was not signed
		alice.get("/")
		s.expect()
		alice.get("/")
		s.expect("guest")
	})
}

// A cookie that was made up takes no guest out.
func TestForgedGuestSignsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		b := s.browser("alice")
		b.cookies["presence"] = "0.AAAAAAAAAAAAAAAA.-"
		b.get("/")
		s.expect("alice")
		if out := s.store.takenOut(); out != 0 {
			t.Errorf("%d guests were taken out, want none", out)
		}
	})
}

// After a wipe the fleet may have another secret. A guest whose id the earlier one signed keeps the
// id, and counts once.
func TestGuestsKeepTheirIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &secretless{Store: memstore.New()}
		store.reached.Store(true)
		s := newNode(t, store, nil)
		synctest.Wait()
		guest := s.browser("")
		guest.get("/")
		guest.get("/")
		was := s.visitor.Guest
		other := strings.Repeat("another secret ", 3)
		store.other.Store(&other)
		time.Sleep(time.Minute)
		guest.get("/")
		if got := s.visitor.Guest; got != was || was == "" {
			t.Errorf("got guest %q, want %q", got, was)
		}
		for _, made := range []string{"0.AAAAAAAAbbbbbbbb.-"} {
			stranger := s.browser("")
			stranger.header.Set("Cookie", "presence="+made)
			if stranger.get("/"); s.visitor.Guest == "AAAAAAAAbbbbbbbb" {
				t.Error("a made-up id counts")
			}
		}
	})
}
