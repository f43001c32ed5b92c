package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// TestRollingRestart: both forums behind nginx are deployed, one after the
// other, and nobody is seen to leave.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, false, "-ttl", "30s", "-grace", "10s") // which is what a slow machine has to come back
	f.nodes = f.nodes[:2]
	f.front = startNginx(t, f.nodes[0].addr, f.nodes[1].addr)
	f.populate(20, 60)
	f.rest(t)
	for _, n := range f.nodes {
		n.stop()
		n.run()
		f.rest(t) // which holds leaves against departures, of which there are none
	}
	resumed, states := 0, 0
	for _, r := range f.readers {
		r.mu.Lock()
		resumed += r.opened - 1
		states += r.states - 1
		r.mu.Unlock()
	}
	if resumed < len(f.readers) || states > 0 {
		t.Errorf("%d streams came back %d times, with %d states, want each once or twice, and diffs", len(f.readers), resumed, states)
	}
}

// startNginx starts nginx with the configuration of examples/cluster before two
// forums, and returns its address.
func startNginx(t *testing.T, first, second string) string {
	program := need.Nginx(t)
	dir, addr := t.TempDir(), redistest.FreeAddr(t)
	text, err := os.ReadFile("../cluster/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf := strings.NewReplacer("forum1:8080", first, "forum2:8080", second, "listen 8080", "listen "+addr).Replace(string(text))
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	nginx := bound.To(exec.Command(program, "-p", dir, "-c", "nginx.conf"), syscall.SIGTERM) // which ends its workers
	nginx.Stderr = os.Stderr
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = nginx.Process.Signal(os.Interrupt)
		_ = nginx.Wait()
	})
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return addr
		}
	}
	t.Fatal("nginx does not listen")
	return ""
}

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
