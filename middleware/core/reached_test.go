package core_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
)

// A request for an endpoint that nothing serves, or that something refuses on its way to
// the handler, is a finding.
func TestEndpointsThatAreNotReached(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		want         []presence.Finding
	}{
		{"GET", "/presence/events", []presence.Finding{presence.NotReached}},
		{"GET", "/presence/assets/presence.0123456789abcdef.js", []presence.Finding{presence.NotReached}},
		{"PUT", "/presence/status", []presence.Finding{presence.NotReached}},
		{"POST", "/presence/beat", []presence.Finding{presence.BeatsRefused}},
		{"POST", "/presence/beat?joined=1", []presence.Finding{presence.BeatsRefused}},
		{"POST", "/presence/leave", []presence.Finding{presence.BeatsRefused}},
		{"OPTIONS", "/presence/beat", nil},
		{"GET", "/presence/help", nil}, // a page of the site's own
		{"GET", "/presence", nil},
		{"GET", "/", nil},
		{"POST", "/login", nil},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, reached := range []bool{false, true} {
					s := newSite(t, nil)
					s.handle("/presence/", func(w http.ResponseWriter, r *http.Request) {
						if reached {
							presence.ReachEndpoint(r.Context())
						}
						w.WriteHeader(http.StatusForbidden)
					})
					s.browser("alice").do(tt.method, tt.path)
					s.browser("").do(tt.method, tt.path)
					var got, want []presence.Finding
					for _, d := range s.tracker.Staff().Diagnose() {
						got = append(got, d.Finding)
					}
					if !reached {
						want = tt.want
					}
					if !slices.Equal(got, want) {
						t.Errorf("reached %t: found %v, want %v", reached, got, want)
					}
				}
			})
		})
	}
}

// A client chooses the method of a request, which may be as long as a whole header. The
// line in the log is short all the same.
func TestLinesOfEndpointsThatAreNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.browser("").do(strings.Repeat("A", 64<<10), "/presence/roster")
		if got := len(s.logs.String()); got == 0 || got > 2<<10 {
			t.Errorf("got %d bytes in the log, want one short line", got)
		}
	})
}

// A request passes the middleware twice, such as that of the site and that of a group, or
// something behind it names another visitor. It reaches the handler all the same.
func TestEndpointsBehindTwoVisitors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		group := http.NewServeMux()
		group.HandleFunc("/presence/", func(_ http.ResponseWriter, r *http.Request) {
			presence.ReachEndpoint(presence.ContextWithVisitor(r.Context(), presence.Visitor{}))
		})
		s.mux.Handle("/presence/", nethttp.Presence(s.tracker, byHeader)(group))
		s.browser("alice").do("GET", "/presence/roster")
		if got := s.tracker.Staff().Diagnose(); len(got) != 1 || got[0].Finding != presence.PassedTwice {
			t.Errorf("found %v, want %v", got, presence.PassedTwice)
		}
	})
}
