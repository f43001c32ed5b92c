package handlers_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestSSEHeaders(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		l := s.listen(request{path: "events?topic=site", user: "alice"})
		for header, want := range map[string]string{
			"Content-Type":                "text/event-stream",
			"Cache-Control":               "no-store, no-transform",
			"X-Accel-Buffering":           "no",
			"Access-Control-Allow-Origin": "",
		} {
			if got := l.resp.Header.Get(header); got != want {
				t.Errorf("%s: got %q, want %q", header, got, want)
			}
		}
		if len(l.resp.TransferEncoding) > 0 {
			t.Errorf("got transfer encoding %q, want none: each write goes out as it is", l.resp.TransferEncoding)
		}
		if welcome, _ := l.next(); !within(welcome.retry, 1000, 3000) {
			t.Errorf("got retry %q, want 1 to 3 s", welcome.retry)
		}
	})
}

func within(s string, low, high int) bool {
	n, err := strconv.Atoi(s)
	return err == nil && low <= n && n <= high
}

// A stream ends at its age and says when to reconnect. The next one goes on where it was.
func TestSSEAge(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		ages := make(map[time.Duration]bool)
		for range 8 {
			start := time.Now()
			l := s.listen(request{path: "events", user: "alice"}).started(1)
			var last event
			for e, ok := l.next(); ok; e, ok = l.next() {
				last = e
			}
			age := time.Since(start)
			ages[age] = true
			if age < 13*time.Minute+30*time.Second || age > 16*time.Minute+30*time.Second {
				t.Errorf("the stream ended after %v, want 15m give or take a tenth", age)
			}
			if last.typ != "" || !within(last.retry, 1000, 3000) {
				t.Errorf("the last word was %+v, want a retry of 1 to 3 s", last)
			}
			back := s.listen(request{path: "events", user: "alice", header: map[string]string{"Last-Event-ID": l.last}})
			back.want("welcome")
			back.quiet(time.Minute)
			back.close()
		}
		if len(ages) < 4 {
			t.Errorf("8 streams ended at %d ages, want them spread", len(ages))
		}
	})
}

// A node that stops tells its clients when to reconnect.
func TestSSEEndsWithTheTracker(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		l := s.listen(request{path: "events", user: "alice"}).started(1)
		noError(t, s.tracker.Close(context.Background()))
		if e, ok := l.next(); !ok || !within(e.retry, 1000, 3000) {
			t.Errorf("got %+v, want a retry of 1 to 3 s", e)
		}
		if e, ok := l.next(); ok {
			t.Errorf("got %+v, want the end of the stream", e)
		}
	})
}

func TestSSEHead(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		resp, body := s.fetch(request{method: http.MethodHead, path: "events", user: "alice"})
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || body != "" {
			t.Errorf("got status %d, type %q, body %q, want 200, text/event-stream, none", resp.StatusCode, resp.Header.Get("Content-Type"), body)
		}
		if got := s.names("site"); got != "" {
			t.Errorf("got %q online, want nobody: a HEAD is no stream", got)
		}
	})
}

// A browser that reconnects sends the id of the last event in a header. That is newer than
// the cursor in the URL of its first request.
func TestSSELastEventID(t *testing.T) {
	for _, tt := range []struct{ path, last, want string }{ // CURSOR stands for where the client left
		{"events", "CURSOR", "diff"},
		{"events?cursor=garbage", "CURSOR", "diff"},
		{"events?cursor=CURSOR", "garbage", "state"},
		{"events?cursor=CURSOR", "", "diff"},
	} {
		onSite(t, setup{}, func(t *testing.T, s *site) {
			left := s.listen(request{path: "events?observe=1"}).started(1)
			left.close()
			s.see("site", "bob")
			header := map[string]string{"Last-Event-ID": fill(tt.last, left.last, "")}
			back := s.listen(request{path: fill(tt.path, left.last, ""), header: header})
			back.want("welcome")
			if e, _ := back.next(); e.typ != tt.want {
				t.Errorf("%s with %q: got %s, want %s", tt.path, tt.last, e.typ, tt.want)
			}
		})
	}
}
