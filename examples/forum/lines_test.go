package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/syncbuf"
)

// TestLines: each message is logged once a minute, with the number of those that were not, and
// its texts are short.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := onceAMinute(slog.New(slog.NewTextHandler(&out, nil)))
		for range 2 * 60 {
			log.Warn("one", "path", strings.Repeat("é", 15_000))
			log.With("n", 1).Error("another")
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 4 || strings.Contains(lines[0], "left_out") || !strings.HasSuffix(lines[2], "left_out=59") || !strings.Contains(lines[3], "n=1 left_out=59") {
			t.Errorf("got %q, want each message twice, and then with left_out=59", lines)
		}
		if !strings.Contains(lines[0], strings.Repeat("é", 50)+"…") || len(lines[0]) > 300 {
			t.Errorf("got %.400q, want a path of 100 bytes", lines[0])
		}
	})
}

// TestReadersFillNoLog: no visitor fills the log, neither one who hangs up nor one who asks often
// for what is out.
func TestReadersFillNoLog(t *testing.T) {
	t.Parallel()
	var out syncbuf.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	c, err := parseConfig(nil, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSite(c, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(t.Context())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(s, logger)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	for range 50 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /"+strings.Repeat("x", 30_000)+" HTTP/1.1\r\nHost: forum\r\n\r\n")
		_ = conn.(*net.TCPConn).SetLinger(0) // a reset
		conn.Close()
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	serving.Wait()
	get := func(ctx context.Context, path string) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: "Alice"})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	hungUp, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{"/contacts", "/settings", "/settings/export", "/threads/1/posts/1/edit", "/notifications", "/sessions"} {
		get(hungUp, path)
	}
	if got := out.String(); got != "" {
		t.Errorf("got %.1000q of readers who hung up, want nothing", got)
	}

	_ = s.sql.DB.Close()
	for range 5 {
		if got := get(t.Context(), "/contacts"); got != http.StatusServiceUnavailable {
			t.Errorf("without the database: got %d, want 503", got)
		}
	}
	if got := strings.Count(out.String(), "a form could not be done"); got != 1 {
		t.Errorf("got %d lines of what could not be done, want 1\n%.2000s", got, out.String())
	}
}
