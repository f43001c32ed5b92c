package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestExportNotRead: a member who does not read the file holds up nobody's but the own, and that
// for a minute.
func TestExportNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := slog.New(slog.DiscardHandler)
		c, err := parseConfig(nil, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSite(c, logger)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close(t.Context())
		var reading sync.WaitGroup
		defer reading.Wait()
		hung := make(chan struct{})
		defer close(hung)
		export := func(w http.ResponseWriter, name string) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/settings/export", nil)
			r.AddCookie(&http.Cookie{Name: cookieName, Value: name})
			s.ServeHTTP(w, r)
		}
		want := func(name string, status int) {
			t.Helper()
			w := httptest.NewRecorder()
			if export(w, name); w.Code != status {
				t.Errorf("%s: got %d, want %d", name, w.Code, status)
			}
		}
		for _, name := range []string{"Alice", "Bob"} { // as many as there are places
			w := &stalledReader{header: http.Header{}, hung: hung}
			reading.Go(func() { export(w, name) })
		}
		time.Sleep(2 * time.Second)
		want("Carol", http.StatusOK)
		want("Alice", http.StatusTooManyRequests)
		time.Sleep(time.Minute)
		want("Alice", http.StatusOK)
	})
}

// TestExportFlood: a member who exports again and again has to wait, and keeps nobody else waiting.
func TestExportFlood(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice, bob := f.User(t, "Alice"), f.User(t, "Bob")
	var res forumtest.Response
	for n := 0; res.Status != http.StatusTooManyRequests; n++ {
		if res = alice.Get("/settings/export"); res.Status != http.StatusOK && n < eraseAtOnce || n > 5*eraseAtOnce {
			t.Fatalf("export %d: got %d, want 200 at first, and then 429\n%s", n, res.Status, res.Body)
		}
	}
	if res.Header.Get("Retry-After") == "" || !strings.Contains(res.Body, "several times") {
		t.Errorf("got no Retry-After or no reason\n%s", res.Body)
	}
	if res := bob.Get("/settings/export"); res.Status != http.StatusOK {
		t.Errorf("another member: got %d, want 200", res.Status)
	}
}

// A stalledReader takes nothing of its answer.
type stalledReader struct {
	header   http.Header
	hung     <-chan struct{}
	deadline time.Time
}

func (r *stalledReader) Header() http.Header { return r.header }
func (r *stalledReader) WriteHeader(int)     {}

func (r *stalledReader) Write([]byte) (int, error) {
	var late <-chan time.Time
	if !r.deadline.IsZero() {
		late = time.After(time.Until(r.deadline))
	}
	select {
	case <-late:
	case <-r.hung:
	}
	return 0, http.ErrHandlerTimeout
}

func (r *stalledReader) SetWriteDeadline(at time.Time) error {
	r.deadline = at
	return nil
}
