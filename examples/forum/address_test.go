package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestClientAddress: guests are counted by the address that a proxy names, and
// only a proxy on this machine or in a private network is believed.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	config, err := parseConfig(nil, none)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSite(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ remote, forwarded, want string }{
		{"127.0.0.1:4000", "203.0.113.7", "203.0.113.7"},
		{"10.0.0.5:4000", "203.0.113.7", "203.0.113.7"},
		{"127.0.0.1:4000", "198.51.100.1, 203.0.113.7", "203.0.113.7"}, // the first is what the visitor said
		{"198.51.100.9:4000", "203.0.113.7", "198.51.100.9"},
		{"198.51.100.9:4000", "", "198.51.100.9"},
		{"127.0.0.1:4000", "203.0.113.7:51234", "203.0.113.7"},
		{"[fe80::1%eth0]:4000", "[2001:db8::7]:51234", "2001:db8::7"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tt.remote
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		if got := s.IPExtractor(r); got != tt.want {
			t.Errorf("from %s, forwarded for %q: got %s, want %s", tt.remote, tt.forwarded, got, tt.want)
		}
	}

	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(func() { _ = s.close(context.Background()) })
	open := func(address string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/presence/events?topic=site", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", address)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res.StatusCode
	}
	got := map[int]int{}
	for range 300 {
		got[open("203.0.113.7")]++
	}
	if want := map[int]int{http.StatusOK: 256, http.StatusTooManyRequests: 44}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("300 streams of one address: got %v, want %v", got, want)
	}
	if got := open("203.0.113.8"); got != http.StatusOK {
		t.Errorf("another address: got %d, want 200", got)
	}
}
