package handlers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// The guests at one address have so many connections and no more, by whatever
// transport. Users are not counted among them.
func TestConnectionsPerAddress(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{wrap: fromHeader, handlers: handlers.Config{MaxConnectionsPerAddress: 2}})
		at := func(address string) request {
			return request{path: over.path + "?", header: map[string]string{"X-Addr": address}}
		}
		open := func(r request) *listener { return over.open(s, r, "").started(1) }
		refused := func(r request) {
			t.Helper()
			for name, value := range handshake {
				r.header[name] = value
			}
			s.wantLimited(r)
		}
		first, second := open(at("192.0.2.1:1001")), open(at("192.0.2.1:1002"))
		ended := first.drain()
		second.drain()
		time.Sleep(time.Second)
		refused(at("192.0.2.1:1003"))
		refused(at("[::ffff:192.0.2.1]:1003"))
		open(at("192.0.2.2:1001")).close()
		alice := at("192.0.2.1:1004")
		alice.user = "alice"
		open(alice).close()

		first.close()
		<-ended
		time.Sleep(time.Second)
		open(at("192.0.2.1:1005")).close()
		second.close()
		time.Sleep(2 * time.Second)
		if _, n := s.handler.Counted(); n != 0 {
			t.Errorf("got %d addresses counted after all connections were closed, want none", n)
		}
	})
}

func TestConnectionsPerAddressDefault(t *testing.T) {
	t.Parallel()
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for range 256 {
			s.listen(request{path: "events"})
		}
		s.wantLimited(request{path: "events"})
		s.listen(request{path: "events", user: "alice"}).started(1)
	})
	onSite(t, setup{handlers: handlers.Config{MaxConnectionsPerAddress: -1}}, func(t *testing.T, s *site) {
		for range 300 {
			s.listen(request{path: "events"})
		}
	})
}

// An address that names one tenant after the other has eight times the connections that it may
// have in one. Visitors elsewhere notice nothing.
func TestConnectionsPerAddressOverTenants(t *testing.T) {
	t.Parallel()
	o := setup{wrap: func(next http.Handler) http.Handler { return fromHeader(asTenant(next)) }, strange: true, handlers: handlers.Config{MaxConnectionsPerAddress: 2}}
	onSite(t, o, func(t *testing.T, s *site) {
		at := func(tenant, address string) request {
			return request{path: "events", header: map[string]string{"X-Addr": address}}.of(tenant)
		}
		var open []*listener
		for i := range 16 {
			open = append(open, s.listen(at(fmt.Sprint("made-up-", i), "192.0.2.1:1")).started(1))
		}
		s.wantLimited(at("one-more", "192.0.2.1:1"))
		s.listen(at("made-up-1", "192.0.2.2:1")).started(1).close()
		open[0].close()
		time.Sleep(2 * time.Second)
		open = append(open, s.listen(at("one-more", "192.0.2.1:1")).started(1))
		for _, l := range open[1:] {
			l.close()
		}
		time.Sleep(2 * time.Second)
		if _, n := s.handler.Counted(); n != 0 {
			t.Errorf("got %d addresses counted after all connections were closed, want none", n)
		}
	})
}

// IPv6 addresses count by their network; other strings of Config.ClientIP as they are.
func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1:1", "192.0.2.1:2", true},
		{"192.0.2.1:1", "192.0.2.2:1", false},
		{"[2001:db8:1:2:3::4]:1", "[2001:db8:1:2:5::6]:1", true},
		{"[2001:db8:1:2::]:1", "[2001:db8:1:2:ffff::]:1", true},
		{"[2001:db8:1:2::]:1", "[2001:db8:1:3::]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true},
		{"@", "@", true},
		{"", "", true},
		{"one", "other", false},
	} {
		onSite(t, setup{wrap: fromHeader, handlers: handlers.Config{MaxConnectionsPerAddress: 1}}, func(t *testing.T, s *site) {
			s.listen(request{path: "events", header: map[string]string{"X-Addr": tt.a}}).started(1)
			resp, _ := s.fetch(request{path: "poll", header: map[string]string{"X-Addr": tt.b}})
			if got := resp.StatusCode == http.StatusTooManyRequests; got != tt.same {
				t.Errorf("%s and %s: got the same %v, want %v", tt.a, tt.b, got, tt.same)
			}
		})
	}
}

func TestClientIP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{
			MaxConnectionsPerAddress: 1,
			ClientIP:                 func(r *http.Request) string { return r.Header.Get("X-Real-IP") },
		}})
		at := func(ip string) request { return request{path: "events", header: map[string]string{"X-Real-IP": ip}} }
		s.listen(at("192.0.2.1")).started(1)
		s.listen(at("192.0.2.2")).started(1)
		s.wantLimited(at("192.0.2.1"))
		s.wantLimited(at("192.0.2.1:51234")) // some proxies send a port
	})
}

// All streams and polls together have a bound, of users too.
func TestConnectionsOfAll(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{MaxConnections: 3}}, func(t *testing.T, s *site) {
		first := s.listen(request{path: "events", user: "alice"}).started(1)
		s.talk(request{path: "ws"}).started(1)
		held, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://forum.test/presence/poll?observe=1&cursor="+url.QueryEscape(first.last), nil)
		noError(t, err)
		go func() {
			if resp, err := s.client.Do(held); err == nil {
				resp.Body.Close()
			}
		}()
		first.drain()
		time.Sleep(3 * time.Second)
		for _, path := range []string{"events", "poll", "ws"} {
			resp, body := s.fetch(request{path: path, user: "bob", header: handshake})
			wantProblem(t, resp, body, http.StatusServiceUnavailable)
			if resp.Header.Get("Retry-After") == "" {
				t.Error("got no Retry-After")
			}
		}
		if got := s.handler.Stats().Full; got != 3 {
			t.Errorf("got %d counted, want 3", got)
		}
		if got := s.names("site"); got != "alice" {
			t.Errorf("got %q online, want alice alone", got)
		}
		first.close()
		time.Sleep(time.Second)
		s.listen(request{path: "events", user: "bob"}).started(1)
	})
}

// A loud tenant has its share of the node's connections and no more, by whatever transport. A
// visitor of another tenant who is there notices nothing, and one who comes gets in.
func TestConnectionsPerTenant(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{wrap: asTenant, strange: true, handlers: handlers.Config{MaxConnections: 8, MaxConnectionsPerTenant: 3}})
		of := func(tenant, user string) request { return request{path: over.path + "?", user: user}.of(tenant) }
		open := func(r request) *listener { return over.open(s, r, "").started(1) }
		full := func(r request, want uint64) {
			t.Helper()
			for name, value := range handshake {
				r.header[name] = value
			}
			resp, body := s.fetch(r)
			wantProblem(t, resp, body, http.StatusServiceUnavailable)
			if resp.Header.Get("Retry-After") == "" {
				t.Error("got no Retry-After")
			}
			if got := s.handler.Stats(); got.TenantFull != want || got.Full != 0 {
				t.Errorf("got %d of tenants and %d of the node counted, want %d and none", got.TenantFull, got.Full, want)
			}
		}
		visitor := open(of("globex", "alice"))
		first := open(of("acme", "mallory"))
		ended := first.drain()
		loud := []*listener{open(of("acme", "")), open(of("acme", "eve"))}
		for _, l := range loud {
			l.drain()
		}
		time.Sleep(time.Second)
		full(of("acme", "mallory"), 1)
		full(of("acme", ""), 2)
		full(of("acme", "trudy"), 3)

		visitor.quiet(time.Second)
		open(of("globex", "bob")).close()
		if got := keys(visitor.want("diff").data.Joins); got != "bob" {
			t.Errorf("the visitor who was there sees %q join, want bob", got)
		}
		visitor.drain()
		open(of("globex", "")).close()
		open(of("", "alice")).close() // the empty tenant has no bound
		first.close()
		<-ended
		time.Sleep(time.Second)
		open(of("acme", "mallory")).close()
		visitor.close()
		for _, l := range loud {
			l.close()
		}
		time.Sleep(2 * time.Second)
		if _, n := s.handler.Counted(); n != 0 {
			t.Errorf("got %d addresses and tenants counted after all connections were closed, want none", n)
		}
	})
}

// By default a tenant may have half of the connections, and a site without tenants all.
func TestConnectionsPerTenantDefault(t *testing.T) {
	for _, tt := range []struct {
		config handlers.Config
		tenant string
		want   int // 6: any number
	}{
		{handlers.Config{MaxConnections: 5}, "acme", 2},
		{handlers.Config{MaxConnections: 1}, "acme", 1},
		{handlers.Config{MaxConnections: 5}, "", 5},
		{handlers.Config{MaxConnections: 5, MaxConnectionsPerTenant: -1}, "acme", 5},
		{handlers.Config{MaxConnections: -1}, "acme", 6},
		{handlers.Config{MaxConnections: -1, MaxConnectionsPerTenant: 4}, "acme", 4},
		{handlers.Config{MaxConnections: -1, MaxConnectionsPerTenant: 4}, "", 6},
		{handlers.Config{}, "acme", 6},
	} {
		onSite(t, setup{wrap: asTenant, strange: true, handlers: tt.config}, func(t *testing.T, s *site) {
			for range tt.want {
				s.listen(request{path: "events"}.of(tt.tenant)).drain()
			}
			if tt.want < 6 {
				s.wantStatus(request{path: "events"}.of(tt.tenant), http.StatusServiceUnavailable)
			}
		})
	}
}

// A site behind a proxy without a Config.ClientIP is told so: in the log once a minute, and
// in the streams of its guests.
func TestUnnamedProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		address, header, user string
		clientIP              func(*http.Request) string
		want                  bool
	}{
		"loopback":       {"127.0.0.1:1", "X-Forwarded-For", "", nil, true},
		"private":        {"10.0.0.7:1", "X-Real-IP", "", nil, true},
		"IPv6":           {"[::1]:1", "Forwarded", "", nil, true},
		"mapped":         {"[::ffff:10.0.0.7]:1", "Forwarded", "", nil, true},
		"a user":         {"127.0.0.1:1", "X-Forwarded-For", "alice", nil, false},
		"no proxy":       {"127.0.0.1:1", "X-Other", "", nil, false},
		"a client lies":  {"192.0.2.1:1", "X-Forwarded-For", "", nil, false},
		"no address":     {"elsewhere", "X-Forwarded-For", "", nil, false},
		"a Unix socket":  {"@", "X-Forwarded-For", "", nil, true},
		"the site knows": {"127.0.0.1:1", "X-Forwarded-For", "", func(*http.Request) string { return "192.0.2.1" }, false},
	} {
		bubble(t, name, func(t *testing.T) {
			log := new(logbook)
			s := newSite(t, setup{wrap: fromHeader, presence: log.config(), handlers: handlers.Config{ClientIP: tt.clientIP, Widget: http.NotFoundHandler()}})
			r := request{user: tt.user, header: map[string]string{"X-Addr": tt.address, tt.header: "192.0.2.7"}}
			for _, path := range []string{"roster", "roster", "assets/x.js"} {
				r.path = path
				s.fetch(r)
			}
			r.path = ""
			_, warnings := s.notes(overSSE, r)
			if !tt.want {
				s.wantFound(nil)
				if warnings != nil {
					t.Errorf("got the warnings %q, want none", warnings)
				}
				return
			}
			s.wantFound(map[presence.Finding]uint64{presence.UnnamedProxy: 3})
			if got := log.count("finding=unnamed-proxy proxy="); got != 1 {
				t.Errorf("got %d lines in the log, want 1", got)
			}
			if !slices.Equal(warnings, texts(presence.UnnamedProxy)) {
				t.Errorf("got the warnings %q, want that of the proxy", warnings)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a form of the site is counted by its address too
		s := newSite(t, setup{})
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-Forwarded-For", "192.0.2.7")
		s.handler.Allow(r)
		s.wantFound(map[presence.Finding]uint64{presence.UnnamedProxy: 1})
	})
}
