package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// Long requests of guests do not make the handler keep much.
func TestLongRequestsAreNotKept(t *testing.T) {
	s, _ := markupSite(t)
	get := func(path string, header http.Header) int {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		r := httptest.NewRequest(http.MethodGet, "/presence/"+path, nil).WithContext(ctx)
		r.Header = header
		r.RemoteAddr = "192.0.2.1:1"
		w := streamable{httptest.NewRecorder()}
		s.handler.ServeHTTP(w, r)
		return w.Code
	}
	before := heap()
	for i := range 200 {
		query := fmt.Sprint(i, strings.Repeat("é", 200_000))
		if got := get("events?as=html&topic=site&x="+query, nil); got != http.StatusBadRequest {
			t.Fatalf("a parameter of a megabyte: got %d, want 400", got)
		}
		if i%10 > 0 {
			continue
		}
		if got := get("events?topic=site&x="+query, nil); got != http.StatusRequestHeaderFieldsTooLarge {
			t.Fatalf("an address of a megabyte: got %d, want 431", got)
		}
	}
	if got := heap() - before; got > 50<<20 {
		t.Errorf("got %d MB more in use after 200 long requests, want less than 50", got>>20)
	}
	if got := s.handler.Stats().TooLarge; got != 20 {
		t.Errorf("got %d requests counted as too large, want 20", got)
	}
}

// A kept part of a request, such as an id, does not keep the whole request in memory.
func TestRequestsAreNotKept(t *testing.T) {
	junk := strings.Repeat("x", 29_000)
	for name, tt := range map[string]struct {
		cfg handlers.Config
		ask func(h http.Handler, i int) int
	}{
		"sightings": {handlers.Config{MaxRate: -1}, func(h http.Handler, i int) int {
			return asks(h, fmt.Sprintf("users?id=q%d&junk=%s", i, junk), presence.Visitor{})
		}},
		"topics": {handlers.Config{MaxRate: -1, Authorize: threads}, func(h http.Handler, i int) int {
			return asks(h, fmt.Sprintf("roster?topic=thread:%d&junk=%s", i, junk), presence.Visitor{})
		}},
		"rates": {handlers.Config{MaxRate: 1}, func(h http.Handler, i int) int {
			id := presence.UserID(fmt.Sprint("q", i, junk)[:8])
			return asks(h, "users?id=q", presence.Visitor{User: presence.User{ID: id}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, setup{handlers: tt.cfg})
			s.handler.KeepSightings(time.Hour)
			before := heap()
			for i := range 1000 {
				if got := tt.ask(s.handler, i); got != http.StatusOK {
					t.Fatalf("got %d, want 200", got)
				}
			}
			if got := heap() - before; got > 10<<20 {
				t.Errorf("got %d MB more in use after 1,000 requests of 29 kB, want less than 10", got>>20)
			}
		})
	}
}

// A stream keeps its request, which is why that has a size. Cursors are not kept, and
// one that cannot be read is as good as none, however long.
func TestStreamRequestSize(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{server: func(srv *http.Server) { srv.MaxHeaderBytes = 1 << 20 }})
		cookie := func(n int) request {
			r := request{path: over.path + "?observe=1", header: map[string]string{"Cookie": strings.Repeat("c", n)}}
			return r
		}
		over.open(s, cookie(15<<10), "").started(1).close()
		for name, value := range handshake {
			r := cookie(17 << 10)
			r.header[name] = value
		}
		r := cookie(17 << 10)
		for name, value := range handshake {
			r.header[name] = value
		}
		resp, body := s.fetch(r)
		wantProblem(t, resp, body, http.StatusRequestHeaderFieldsTooLarge)
		r = cookie(10)
		r.path += "&x=" + strings.Repeat("x", 17<<10)
		for name, value := range handshake {
			r.header[name] = value
		}
		resp, body = s.fetch(r)
		wantProblem(t, resp, body, http.StatusRequestHeaderFieldsTooLarge)

		s.follow(over, "observe=1&cursor="+strings.Repeat("x", 100_000), "").started(1).close()
		if over.path == "events" {
			s.listen(request{path: "events", header: map[string]string{"Last-Event-ID": strings.Repeat("x", 17<<10)}}).started(1)
		}
		if got := s.handler.Stats().TooLarge; got != 2 {
			t.Errorf("got %d counted, want 2", got)
		}
	})
}

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// asks sends a request of a visitor, and returns the status of the answer.
func asks(h http.Handler, path string, v presence.Visitor) int {
	r := httptest.NewRequest(http.MethodGet, "/presence/"+path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	return w.Code
}
