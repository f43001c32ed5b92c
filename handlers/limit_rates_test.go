package handlers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// fromHeader makes the header X-Addr the other end of a request's connection.
func fromHeader(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = r.Header.Get("X-Addr")
		next.ServeHTTP(w, r)
	})
}

// wantLimited fails unless the answer is 429 with Retry-After, and ends the connection.
func (s *site) wantLimited(r request) {
	s.t.Helper()
	resp, body := s.fetch(r)
	wantProblem(s.t, resp, body, http.StatusTooManyRequests)
	if got := resp.Header.Get("Retry-After"); got == "" {
		s.t.Error("got no Retry-After")
	}
	if !resp.Close {
		s.t.Error("got a connection that stays open for a client over its rate")
	}
}

// So many requests a visitor may send within a second, and no more. Others are
// not touched, and later it works again.
func TestRequestRate(t *testing.T) {
	status := func(user string) request {
		return request{method: http.MethodPut, path: "status", user: user, body: `{"status":"asleep"}`}
	}
	guest := func(id, address string) request {
		r := says("leave", "", "a.1")
		r.header = map[string]string{"X-Guest": id, "X-Addr": address}
		return r
	}
	for name, tt := range map[string]struct{ one, other request }{
		"users":              {status("alice"), status("bob")},
		"beats":              {says("leave", "alice", "a.1"), says("leave", "bob", "a.1")},
		"guests":             {guest("g1", "192.0.2.1:1"), guest("g2", "192.0.2.1:1")},
		"a guest and a user": {guest("alice", ""), says("leave", "alice", "a.1")},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{wrap: fromHeader})
			s.names("site") // is loaded
			for range 3 {
				begin := time.Now()
				for i := range 20 {
					if resp, body := s.fetch(tt.one); resp.StatusCode == http.StatusTooManyRequests {
						t.Fatalf("request %d within %v: got status %d (%s), want another", i+1, time.Since(begin), resp.StatusCode, body)
					}
				}
				s.wantLimited(tt.one)
				if resp, _ := s.fetch(tt.other); resp.StatusCode == http.StatusTooManyRequests {
					t.Errorf("another visitor: got status %d, want another", resp.StatusCode)
				}
				if resp, _ := s.fetch(request{path: "roster", user: tt.one.user, header: tt.one.header}); resp.StatusCode != http.StatusOK {
					t.Errorf("a request that only reads: got status %d, want 200", resp.StatusCode)
				}
				time.Sleep(time.Second)
			}
		})
	}
}

// MaxRate is of all requests: reads and statuses grow with it, as its table says.
func TestRatesGrowTogether(t *testing.T) {
	for rate, want := range map[int][3]int{10: {10, 100, 5}, 20: {20, 200, 5}, 40: {40, 400, 10}} {
		bubble(t, fmt.Sprint(rate), func(t *testing.T) {
			s := newSite(t, setup{handlers: handlers.Config{MaxRate: rate}})
			s.names("site") // is loaded
			atOnce := func(r request) (n int) {
				for resp, _ := s.fetch(r); resp.StatusCode != http.StatusTooManyRequests; resp, _ = s.fetch(r) {
					n++
				}
				return n
			}
			got := [3]int{
				atOnce(request{method: http.MethodPut, path: "status", user: "alice", body: `{"status":"asleep"}`}), // is refused as bad
				atOnce(request{path: "roster", user: "alice"}),
				atOnce(request{method: http.MethodPut, path: "status", user: "bob", body: `{"status":"busy"}`}),
			}
			if got != want {
				t.Errorf("got %d writes, reads and statuses at once, want %d", got, want)
			}
		})
	}
}

func TestRequestRateOff(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{MaxRate: -1}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		for range 100 {
			if resp, body := s.fetch(says("leave", "alice", "a.1")); resp.StatusCode == http.StatusTooManyRequests {
				t.Fatalf("got status %d (%s), want another", resp.StatusCode, body)
			}
			c.say(`{"type":"heartbeat"}`)
		}
		c.quiet(time.Minute)
	})
}

// Without a limit for users there is one for guests.
func TestRequestRateOffForUsers(t *testing.T) {
	onSite(t, setup{made: (*handlers.Handler).UnlimitUsers}, func(t *testing.T, s *site) {
		for _, path := range []string{"roster", "leave"} {
			r := says(path, "alice", "a.1")
			if path == "roster" {
				r = request{path: path, user: "alice"}
			}
			for range 300 {
				if resp, _ := s.fetch(r); resp.StatusCode == http.StatusTooManyRequests {
					t.Fatalf("%s: a user is limited", path)
				}
			}
			r.user, r.header = "", map[string]string{"X-Guest": "g1"}
			for range 200 {
				s.fetch(r)
			}
			s.wantLimited(r)
		}
	})
}

// The guests at one address may together send four times what one may: a guest who
// makes up an id for each request, or has none, gains nothing.
func TestRatePerAddress(t *testing.T) {
	t.Parallel()
	for name, guest := range map[string]func(i int) string{
		"made-up ids": func(i int) string { return fmt.Sprint("g", i) },
		"no ids":      func(int) string { return "" },
	} {
		for _, tt := range []struct {
			method, path string
			burst, rate  int
		}{
			{"GET", "users?id=x", 800, 200},
			{"GET", "roster", 800, 200},
			{"POST", "leave", 80, 80},
		} {
			if name == "no ids" && tt.path == "users?id=x" {
				continue // each kind of rate with each kind of guest is enough, and each GET costs 2,000 requests
			}
			bubble(t, name+" "+tt.method+" "+tt.path, func(t *testing.T) {
				s := newSite(t, setup{wrap: fromHeader})
				n := 0
				passed := func(address string) (passed int) {
					for range tt.burst + 100 {
						n++
						r := request{method: tt.method, path: tt.path, header: map[string]string{"X-Guest": guest(n), "X-Addr": address}}
						if tt.method == "POST" {
							r.body = `{"connection":"a.1"}`
						}
						if resp, _ := s.fetch(r); resp.StatusCode != http.StatusTooManyRequests {
							passed++
						}
					}
					return passed
				}
				if got := passed("192.0.2.1:1"); got != tt.burst {
					t.Errorf("got %d requests answered at once, want %d", got, tt.burst)
				}
				if got := passed("192.0.2.2:1"); got != tt.burst {
					t.Errorf("another address: got %d requests answered at once, want %d", got, tt.burst)
				}
				time.Sleep(time.Second)
				if got := passed("192.0.2.1:1"); got != tt.rate {
					t.Errorf("got %d requests answered a second later, want %d", got, tt.rate)
				}
			})
		}
	}
}

// An address that names one tenant after the other may send eight times what it may send to one.
// Visitors of these tenants at other addresses, and users at the same one, notice nothing.
func TestRatePerAddressOverTenants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		r    request
		want int
	}{
		{request{path: "roster"}, 6400},
		{request{method: "POST", path: "leave", body: `{"connection":"a.1"}`}, 640},
	} {
		bubble(t, tt.r.path, func(t *testing.T) {
			s := newSite(t, setup{wrap: func(next http.Handler) http.Handler { return fromHeader(asTenant(next)) }, strange: true})
			status := func(tenant, user, address string) int {
				r := tt.r
				r.user, r.header = user, map[string]string{"X-Addr": address}
				resp, _ := s.fetch(r.of(tenant))
				return resp.StatusCode
			}
			passed := 0
			for i := range tt.want + 200 {
				if status(fmt.Sprint("t", i%100), "", "192.0.2.1:1") != http.StatusTooManyRequests {
					passed++
				}
			}
			if passed != tt.want {
				t.Errorf("got %d requests answered at once, want %d", passed, tt.want)
			}
			for _, who := range [][2]string{{"", "192.0.2.2:1"}, {"alice", "192.0.2.1:1"}} {
				if got := status("t1", who[0], who[1]); got == http.StatusTooManyRequests {
					t.Errorf("user %q at %s: got status %d, want another", who[0], who[1], got)
				}
			}
		})
	}
}

// A visitor may read 50 times a second, and 200 times at once. A page and its beats
// stay far below.
func TestReadRate(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]request{
		"a user":             {path: "users?id=x", user: "alice"},
		"a guest with an id": {path: "users?id=x", header: map[string]string{"X-Guest": "g1"}},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{})
			passed := func(n int) (passed int) {
				for range n {
					if resp, _ := s.fetch(r); resp.StatusCode == http.StatusOK {
						passed++
					}
				}
				return passed
			}
			if got := passed(300); got != 200 {
				t.Errorf("got %d requests answered at once, want 200", got)
			}
			s.wantLimited(r)
			if resp, _ := s.fetch(request{path: "assets/x.js", user: r.user, header: r.header}); resp.StatusCode != http.StatusNotFound {
				t.Errorf("an asset: got status %d, want 404: it has no rate", resp.StatusCode)
			}
			if resp, _ := s.fetch(request{path: "roster", user: "bob"}); resp.StatusCode != http.StatusOK {
				t.Errorf("another visitor: got status %d, want 200", resp.StatusCode)
			}
			time.Sleep(time.Second)
			if got := passed(300); got != 50 {
				t.Errorf("got %d requests answered a second later, want 50", got)
			}
			time.Sleep(time.Minute)
			for range 10 {
				if got := passed(40); got != 40 {
					t.Fatalf("got %d requests of 40 a second answered, want all", got)
				}
				time.Sleep(time.Second)
			}
			if got := s.handler.Stats().Limited; got != 100+1+250 {
				t.Errorf("got %d limited, want 351", got)
			}
		})
	}
}

// A topic that must be read from the store costs five requests, the one that asks included.
func TestNewTopicsCost(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}}, func(t *testing.T, s *site) {
		answered := 0
		for i := range 300 {
			if resp, _ := s.fetch(request{path: fmt.Sprint("roster?topic=thread:", i), user: "alice"}); resp.StatusCode == http.StatusOK {
				answered++
			}
		}
		if answered != 40 {
			t.Errorf("got %d answers of new topics at once, want 40", answered)
		}
	})
}

// The memory for rates is bounded. Visitors over the bound share one rate. Rates that are
// not used any more are dropped.
func TestRequestRateIsBounded(t *testing.T) {
	t.Parallel()
	onSite(t, setup{wrap: fromHeader}, func(t *testing.T, s *site) {
		post := func(user, address string) int {
			r := httptest.NewRequest(http.MethodPost, "/presence/leave", strings.NewReader(`{"connection":"a.1"}`))
			r.RemoteAddr = address
			visitor := presence.Visitor{User: presence.User{ID: presence.UserID(user)}}
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), visitor)))
			return w.Code
		}
		refused := 0
		for i := range 2 * handlers.MaxMetered {
			if post("", fmt.Sprintf("10.%d.%d.1:1", i>>8, i&255)) == http.StatusTooManyRequests {
				refused++
			}
		}
		// They share one rate of four visitors at one address.
		if n, _ := s.handler.Counted(); n != handlers.MaxMetered || refused != handlers.MaxMetered-4*80 {
			t.Errorf("got %d visitors counted and %d refused, want %d and %d", n, refused, handlers.MaxMetered, handlers.MaxMetered-4*80)
		}
		if got := s.handler.Stats().Crowded; got != handlers.MaxMetered {
			t.Errorf("got %d that shared a rate, want %d", got, handlers.MaxMetered)
		}
		if got := post("alice", ""); got != http.StatusGone {
			t.Errorf("a user among so many guests: got status %d, want 410", got)
		}
		time.Sleep(time.Second)
		if got := post("", "192.0.2.1:1"); got != http.StatusGone {
			t.Errorf("a guest a second later: got status %d, want 410", got)
		}
		for range handlers.MaxMetered {
			post("", "192.0.2.1:1")
		}
		if n, _ := s.handler.Counted(); n > 2 {
			t.Errorf("got %d visitors counted, want the rest forgotten", n)
		}
	})
}

// Counted counts each rate that a user has.
func TestEachRateIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{Authorize: anyTopic, Whispers: typingIn}})
		for i, r := range []request{
			{path: "roster", user: "alice"},                               // a read
			says("leave", "alice", "a.1"),                                 // a write; all that follow are writes too
			put("status", "alice", `{"status":"busy"}`),                   // a status
			put("settings", "alice", `{"online":"contacts"}`),             // an audience
			sent("alice", `{"topic":"thread:1","type":"typing","for":6}`), // a signal, which is refused since she is not there
		} {
			s.fetch(r)
			if got, _ := s.handler.Counted(); got != i+1 {
				t.Errorf("after %s %s: got %d rates counted, want %d", r.method, r.path, got, i+1)
			}
		}
	})
}

// A request of the site's own forms counts with the requests that change something, of
// its visitor and of its address.
func TestAllow(t *testing.T) {
	form := func(v presence.Visitor, address string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/logout", nil)
		r.RemoteAddr = address
		return r.WithContext(presence.ContextWithVisitor(r.Context(), v))
	}
	for name, tt := range map[string]struct {
		cfg     handlers.Config
		visitor func(i int) presence.Visitor
		want    int // of 300
	}{
		"user":  {handlers.Config{}, func(int) presence.Visitor { return presence.Visitor{User: presence.User{ID: "alice"}} }, 20},
		"guest": {handlers.Config{}, func(int) presence.Visitor { return presence.Visitor{Guest: "g"} }, 20},
		"many users": {handlers.Config{}, func(i int) presence.Visitor {
			return presence.Visitor{User: presence.User{ID: presence.UserID(fmt.Sprint(i))}}
		}, 80},
		"many guests": {handlers.Config{}, func(i int) presence.Visitor { return presence.Visitor{Guest: fmt.Sprint(i)} }, 80},
		"no cookie":   {handlers.Config{}, func(int) presence.Visitor { return presence.Visitor{} }, 80},
		"no rate":     {handlers.Config{MaxRate: -1}, func(int) presence.Visitor { return presence.Visitor{} }, 300},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{handlers: tt.cfg})
			for range 2 { // seconds
				allowed := 0
				for i := range 300 {
					if s.handler.Allow(form(tt.visitor(i), "192.0.2.1:1")) {
						allowed++
					}
				}
				if allowed != tt.want {
					t.Errorf("got %d of 300 requests allowed, want %d", allowed, tt.want)
				}
				if !s.handler.Allow(form(presence.Visitor{User: presence.User{ID: "carol"}}, "192.0.2.2:1")) {
					t.Error("another user at another address: got no, want yes")
				}
				time.Sleep(time.Second)
			}
			if got := s.handler.Stats().Limited; got != uint64(2*(300-tt.want)) {
				t.Errorf("got %d counted as limited, want %d", got, 2*(300-tt.want))
			}
		})
	}
	bubble(t, "with requests", func(t *testing.T) {
		s := newSite(t, setup{})
		for range 20 {
			s.fetch(request{method: http.MethodPost, path: "beat", user: "alice", body: `{}`})
		}
		if s.handler.Allow(form(presence.Visitor{User: presence.User{ID: "alice"}}, "192.0.2.1:1")) {
			t.Error("after 20 requests within a second: got yes, want no")
		}
	})
}

// A message is paid for by its receivers, of its sender and of the sender's address.
func TestAllowReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		allowed := func(user func(i int) string, address string, receivers int) (n int) {
			for i := range 100 {
				r := httptest.NewRequest(http.MethodPost, "/threads/1/replies", nil)
				r.RemoteAddr = address
				if s.handler.AllowReceivers(r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: presence.User{ID: presence.UserID(user(i))}})), receivers) {
					n++
				}
			}
			return n
		}
		eve, each := func(int) string { return "eve" }, func(i int) string { return fmt.Sprint("user", i) }
		got := []int{allowed(eve, "192.0.2.1:1", 1000), allowed(eve, "192.0.2.1:1", 0), allowed(each, "192.0.2.1:1", 1000), allowed(each, "192.0.2.2:1", 10)}
		time.Sleep(time.Second)
		got = append(got, allowed(eve, "192.0.2.1:1", 1000))
		if want := []int{4, 100, 12, 100, 1}; !slices.Equal(got, want) {
			t.Errorf("got %v messages allowed: of a user, to nobody, of others at that address, at another address, and of the user a second later; want %v", got, want)
		}
		if got := s.handler.Stats().Limited; got != 96+88+99 {
			t.Errorf("got %d counted as limited, want %d", got, 96+88+99)
		}
	})
}
