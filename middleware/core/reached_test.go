package core_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

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
					for _, d := range s.tracker.Diagnose() {
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
