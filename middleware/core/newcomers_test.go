package core_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// guests returns how many guests count on the site.
func (s *site) guests() int {
	s.t.Helper()
	s.recorded()
	time.Sleep(100 * time.Millisecond) // of a burst the writes are apart
	counts, err := s.store.Counts(s.t.Context(), presence.Site)
	if err != nil {
		s.t.Fatal(err)
	}
	return counts[0].Guests
}

// An attacker at one address fetches 10,000 cookies and returns each, or has each open a
// stream. The count grows by the bound and no more. Guests elsewhere count as ever, and
// those who are refused count once there is room.
func TestGuestsAreNotMinted(t *testing.T) {
	for _, second := range []string{"/", "/presence/events", "/presence/poll"} {
		t.Run(second, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(c *nethttp.Config) { c.ClientIP = byAddr })
				s.streamsCount()
				s.browser("alice").get("/site.css") // somebody signs in here
				var last *browser
				for i := range 10_000 {
					last = s.browser("")
					last.header.Set("X-Addr", fmt.Sprint("192.0.2.1:", i)) // some proxies send the port
					last.get("/")
					last.get(second)
				}
				// A sketch of more than some hundred guests is good to 3 %.
				if got := s.guests(); got != core.MaxNewGuests {
					t.Errorf("got %d guests, want %d", got, core.MaxNewGuests)
				}
				if s.visitor.Guest != "" && second != "/" { // a page view is refused once the page is there
					t.Errorf("got guest %q, want one who does not count", s.visitor.Guest)
				}
				other := s.browser("")
				other.header.Set("X-Addr", "192.0.2.2")
				other.get("/")
				other.get(second)
				if got := s.guests(); got != core.MaxNewGuests+1 {
					t.Errorf("got %d guests, want one more from another address", got)
				}
				time.Sleep(2 * time.Second)
				last.get(second)
				if got := s.guests(); got != core.MaxNewGuests+2 {
					t.Errorf("got %d guests, want one more once there is room", got)
				}
				if d := s.tracker.Staff().Diagnose(); len(d) != 1 || d[0].Finding != presence.GuestsRefused || d[0].Times != 10_000-core.MaxNewGuests {
					t.Errorf("got %+v, want the refused guests", d)
				}
				if got := strings.Count(s.logs.String(), "guests-refused address=192.0.2.1"); got != 1 {
					t.Errorf("got %d lines in the log, want one", got)
				}
			})
		})
	}
}

// Streams without a cookie are bounded too: each is given the id of a new guest.
func TestGuestsAreNotMintedByStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) { c.ClientIP = byAddr })
		s.streamsCount()
		for range 1_000 {
			s.browser("").get("/presence/events")
		}
		if got := s.guests(); got != core.MaxNewGuests {
			t.Errorf("got %d guests, want %d", got, core.MaxNewGuests)
		}
	})
}

// streamsCount has the site count the guests of streams, as the tracker does.
func (s *site) streamsCount() {
	s.handle("/presence/", func(w http.ResponseWriter, r *http.Request) {
		s.visitor = presence.VisitorFromContext(r.Context())
		if s.visitor.Guest != "" {
			s.tracker.SeenGuest(presence.Site, s.visitor.Guest)
		}
		presence.ReachEndpoint(r.Context())
	})
}

// One cookie counts once, however often it comes back, and whether or not its browser
// takes the id of a guest who counts.
func TestReplayedGuestCountsOnce(t *testing.T) {
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, func(c *nethttp.Config) { c.ClientIP = byAddr })
			b := s.browser("")
			if b.get("/"); !first {
				b.get("/")
			}
			b.refuses = true
			for i := range 10_000 {
				b.header.Set("X-Addr", fmt.Sprint("192.0.2.", i%256))
				b.get("/")
			}
			if got := s.guests(); got != 1 {
				t.Errorf("got %d guests, want one", got)
			}
		})
	}
}

// The guests of an office count, all 200 of them, in whatever order their requests come,
// and a guest who counts costs the office nothing more, at any node.
func TestOfficeOfGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		configure := func(c *nethttp.Config) { c.ClientIP = func(*http.Request) string { return "192.0.2.1" } }
		nodes := []*site{newNode(t, store, configure), newNode(t, store, configure)}
		var office []*browser
		for range 200 {
			office = append(office, nodes[0].browser(""))
		}
		for i := range 20 {
			for _, b := range office {
				b.site = nodes[i%2]
				b.get("/")
			}
			time.Sleep(time.Minute)
		}
		if got := nodes[0].guests(); got != 200 {
			t.Errorf("got %d guests, want 200", got)
		}
		for _, s := range nodes {
			for _, d := range s.tracker.Staff().Diagnose() {
				if d.Finding == presence.GuestsRefused {
					t.Errorf("got %+v, want nothing of guests", d)
				}
			}
		}
	})
}

// Without a ClientIP, the visitors of a private network may be all visitors: they are not
// bounded.
func TestWhoseAddressIsShared(t *testing.T) {
	for _, tt := range []struct {
		remote, given string // "": no ClientIP
		bounded       bool
	}{
		{"192.0.2.1:1", "", true},
		{"[2001:db8::1]:1", "", true},
		{"127.0.0.1:1", "", false},
		{"10.0.0.1:1", "", false},
		{"[::ffff:172.17.0.1]:1", "", false},
		{"[fe80::1%eth0]:1", "", false},
		{"[::1]:1", "", false},
		{"@", "", false},
		{"", "", false},
		{"127.0.0.1:1", "192.0.2.1", true},
		{"192.0.2.1:1", "10.0.0.1", true},
		{"192.0.2.1:1", "who knows", true},
		{"192.0.2.1:1", "panic", true},
	} {
		t.Run(tt.remote+" "+tt.given, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(c *nethttp.Config) {
					if tt.given != "" {
						c.ClientIP = func(*http.Request) string {
							if tt.given == "panic" {
								panic("no address")
							}
							return tt.given
						}
					}
				})
				for range 300 {
					b := s.browser("")
					b.remote = tt.remote
					b.get("/")
					b.get("/")
				}
				want := 300
				if tt.bounded {
					want = core.MaxNewGuests
				}
				if got := s.guests(); got != want {
					t.Errorf("got %d guests, want %d", got, want)
				}
				if got := strings.Count(s.logs.String(), "ClientIP of the middleware panicked"); got != strings.Count(tt.given, "panic") {
					t.Errorf("got %d lines about a panic", got)
				}
			})
		})
	}
}

// IPv6 addresses count by their network, and IPv4 ones in either form.
func TestAddressesOfNewGuests(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8:1:2:3::4", "2001:db8:1:2:5::6", true},
		{"2001:db8:1:2::", "2001:db8:1:3::", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"", strings.Repeat("x", 65), true},
		{"", strings.Repeat("x", 64), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, func(c *nethttp.Config) { c.ClientIP = byAddr })
			for i := range core.MaxNewGuests + 1 {
				b := s.browser("")
				if b.header.Set("X-Addr", tt.a); i == core.MaxNewGuests {
					b.header.Set("X-Addr", tt.b)
				}
				b.get("/")
				b.get("/")
			}
			if got := s.guests() == core.MaxNewGuests; got != tt.same {
				t.Errorf("%q and %q: got the same %v, want %v", tt.a, tt.b, got, tt.same)
			}
		})
	}
}

// The memory of addresses has a bound, and loses no address too early for want of time.
func TestNewcomersAreBounded(t *testing.T) {
	const age = 5 * time.Minute
	now := time.Unix(1_000_000, 0)
	n := core.NewNewcomers(age)
	for i := range core.MaxNewGuests {
		if !n.Admit("", "office", now) {
			t.Fatalf("guest %d is refused", i)
		}
	}
	for i := range 2 * core.MaxAddresses {
		if i%core.MaxAddresses == 0 && n.Admit("", "office", now) {
			t.Errorf("after %d other addresses one more is admitted", i)
		}
		n.Admit("", fmt.Sprint(i), now)
	}
	if got := n.Len(); got > 2*core.MaxAddresses {
		t.Errorf("got %d addresses, want %d at most", got, 2*core.MaxAddresses)
	}

	n = core.NewNewcomers(age)
	admitted := 0
	for range int(3 * age / time.Second) {
		for range 5 {
			if n.Admit("", "office", now) {
				admitted++
			}
		}
		now = now.Add(time.Second)
	}
	if got := float64(admitted) / core.MaxNewGuests; got < 3.9 || got > 4 {
		t.Errorf("got %d admitted in three periods, want the bound at once and once more in each", admitted)
	}
	for i := range 10 {
		n.Admit("", fmt.Sprint(i), now)
		now = now.Add(2 * age)
	}
	if got := n.Len(); got > 3 {
		t.Errorf("got %d addresses, want those of the last two periods", got)
	}
}

// An address that names one tenant after the other brings in eight times what it may bring in one.
// Guests at another address notice nothing.
func TestNewcomersOfManyTenants(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	n := core.NewNewcomers(5 * time.Minute)
	admitted := 0
	for i := range 10_000 {
		if n.Admit(fmt.Sprint("made-up-", i), "192.0.2.1", now) {
			admitted++
		}
	}
	if admitted != 8*core.MaxNewGuests {
		t.Errorf("got %d guests of 10,000 tenants, want %d", admitted, 8*core.MaxNewGuests)
	}
	for i := range core.MaxNewGuests {
		if !n.Admit("acme", "192.0.2.2", now) {
			t.Fatalf("another address: guest %d is refused", i)
		}
	}
	if n.Admit("acme", "192.0.2.2", now) {
		t.Errorf("got more than %d guests of one tenant", core.MaxNewGuests)
	}
}
