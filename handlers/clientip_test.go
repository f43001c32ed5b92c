package handlers_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

func TestForwardedFor(t *testing.T) {
	clientIP := handlers.ForwardedFor(netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8"))
	for name, tt := range map[string]struct {
		peer   string
		header []string
		want   string
	}{
		"no proxy":                        {"203.0.113.7:4000", nil, "203.0.113.7"},
		"no proxy, and a header made up":  {"203.0.113.7:4000", []string{"198.51.100.1"}, "203.0.113.7"},
		"a proxy on this machine":         {"127.0.0.1:4000", []string{"203.0.113.7"}, "203.0.113.7"},
		"a proxy on this machine, IPv6":   {"[::1]:4000", []string{"2001:db8::7"}, "2001:db8::7"},
		"a proxy in a network":            {"10.1.2.3:4000", []string{"203.0.113.7"}, "203.0.113.7"},
		"a proxy of another network":      {"10.2.0.1:4000", []string{"203.0.113.7"}, "10.2.0.1"},
		"an address made up in front":     {"127.0.0.1:4000", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		"a proxy made up in front":        {"127.0.0.1:4000", []string{"127.0.0.1, 203.0.113.7"}, "203.0.113.7"},
		"two proxies":                     {"127.0.0.1:4000", []string{"198.51.100.1, 203.0.113.7, 10.1.9.9"}, "203.0.113.7"},
		"two lines":                       {"127.0.0.1:4000", []string{"198.51.100.1", "203.0.113.7,10.1.9.9"}, "203.0.113.7"},
		"mapped IPv4":                     {"[::ffff:127.0.0.1]:4000", []string{"203.0.113.7"}, "203.0.113.7"},
		"no header":                       {"127.0.0.1:4000", nil, "127.0.0.1"},
		"proxies alone":                   {"127.0.0.1:4000", []string{"10.1.2.3"}, "10.1.2.3"},
		"nonsense behind a proxy":         {"127.0.0.1:4000", []string{"198.51.100.1, unknown"}, "unknown"},
		"an empty part":                   {"127.0.0.1:4000", []string{"198.51.100.1, "}, ""},
		"an empty line behind the client": {"127.0.0.1:4000", []string{"203.0.113.7", ""}, "203.0.113.7"},
		"a zone":                          {"[fd00::1%eth0]:4000", []string{"203.0.113.7"}, "203.0.113.7"},
		"a proxy at a Unix socket":        {"@", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		"a Unix socket without a header":  {"@", nil, "@"},
		"a port":                          {"127.0.0.1:4000", []string{"198.51.100.1, 203.0.113.7:51234"}, "203.0.113.7"},
		"a port, IPv6":                    {"127.0.0.1:4000", []string{"[2001:db8::7]:51234"}, "2001:db8::7"},
		"a port behind two lines":         {"127.0.0.1:4000", []string{"203.0.113.7:51234", "10.1.9.9:80, 127.0.0.1"}, "203.0.113.7"},
		"quotes and brackets":             {"127.0.0.1:4000", []string{` 198.51.100.1,	"[2001:db8::7]:51234" `}, "2001:db8::7"},
		"brackets without a port":         {"127.0.0.1:4000", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"a client with a zone":            {"127.0.0.1:4000", []string{"fe80::7%eth0"}, "fe80::7"},
		"a mapped client":                 {"127.0.0.1:4000", []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		"a proxy with a port":             {"127.0.0.1:4000", []string{"203.0.113.7, 10.1.9.9:80"}, "203.0.113.7"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{}}
			if tt.header != nil {
				r.Header["X-Forwarded-For"] = tt.header
			}
			if got := clientIP(r); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A ClientIP that returns nothing, such as a header that the proxy does not set, is no address of all guests. The
// connection's counts, and behind a proxy that is found.
func TestClientIPThatReturnsNothing(t *testing.T) {
	onSite(t, setup{
		wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.RemoteAddr = r.Header.Get("X-Remote")
				next.ServeHTTP(w, r)
			})
		},
		handlers: handlers.Config{ClientIP: func(r *http.Request) string { return r.Header.Get("X-Real-IP") }, MaxConnectionsPerAddress: 1},
	}, func(t *testing.T, s *site) {
		ask := func(remote, realIP, forwardedFor string) int {
			r := request{path: "events", header: map[string]string{"X-Remote": remote, "X-Real-IP": realIP}}
			if forwardedFor != "" {
				r.header["X-Forwarded-For"] = forwardedFor
			}
			resp := s.do(r)
			t.Cleanup(func() { resp.Body.Close() })
			return resp.StatusCode
		}
		for i, want := range []int{200, 429} {
			for _, remote := range []string{"203.0.113.7:1", "203.0.113.8:1", "[2001:db8::1]:1"} {
				if got := ask(remote, "", ""); got != want {
					t.Errorf("stream %d from %s: got %d, want %d", i+1, remote, got, want)
				}
			}
		}
		s.wantFound(nil)
		ask("10.0.0.1:1", "203.0.113.9", "203.0.113.9")
		s.wantFound(nil)
		ask("10.0.0.1:1", "", "203.0.113.9")
		s.wantFound(map[presence.Finding]uint64{presence.UnnamedProxy: 1})
	})
}
