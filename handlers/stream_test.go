package handlers_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// anyTopic is the Authorize of a site that hides nothing.
func anyTopic(*http.Request, presence.Visitor, presence.Topic) bool { return true }

func TestStreamBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		s.see("site", "bob")
		l := s.listen(request{path: "events?topic=site", user: "alice"})
		for header, want := range map[string]string{
			"Content-Type":                "text/event-stream",
			"Cache-Control":               "no-store",
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
		welcome, _ := l.next()
		if !within(welcome.retry, 1000, 3000) {
			t.Errorf("got retry %q, want 1 to 3 s", welcome.retry)
		}
		if d := welcome.data; welcome.typ != "welcome" || !strings.HasPrefix(d.Connection, s.tracker.Config().Node+".") || d.Heartbeat != 15 || d.Grace != 10 {
			t.Errorf("got %+v, want a welcome with this node's connection, heartbeat 15, grace 10", welcome)
		}
		state, _ := l.next()
		if d := state.data; state.typ != "state" || d.Topic != "site" || d.Total != 2 || keys(d.Users) != "alice bob" || d.Truncated {
			t.Errorf("got %+v, want the state of site with alice and bob", state)
		}
		if state.id == "" || state.id != state.data.Cursor {
			t.Errorf("got id %q and cursor %q, want them equal on a stream of one topic", state.id, state.data.Cursor)
		}
	})
}

func within(s string, low, high int) bool {
	n, err := strconv.Atoi(s)
	return err == nil && low <= n && n <= high
}

func TestStreamWelcomeInFractions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{presence: presence.Config{TTL: 600 * time.Millisecond, Grace: 300 * time.Millisecond}})
		got := s.listen(request{path: "events", user: "alice"}).want("welcome").data
		if got.Heartbeat != 0.2 || got.Grace != 0.3 {
			t.Errorf("got heartbeat %v and grace %v, want 0.2 and 0.3 seconds", got.Heartbeat, got.Grace)
		}
	})
}

func TestStreamTellsComingsAndGoings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		alice := s.listen(request{path: "events", user: "alice"}).started(1)
		bob := s.listen(request{path: "events", user: "bob"})

		join := alice.want("diff")
		if d := join.data; keys(d.Joins) != "bob" || keys(d.Leaves) != "" || d.Total != 2 || d.Prev == d.Cursor {
			t.Errorf("got %+v, want a diff in which bob joins", d)
		}
		bob.started(1)
		bob.close()
		time.Sleep(9 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "bob alice" {
			t.Errorf("9 s after the stream was closed: got %q online, want bob alice: the grace is 10 s", got)
		}
		time.Sleep(2 * time.Second)
		s.sweep()
		leave := alice.want("diff")
		if d := leave.data; keys(d.Leaves) != "bob" || keys(d.Joins) != "" || d.Total != 1 || d.Prev != join.data.Cursor {
			t.Errorf("got %+v, want a diff in which bob leaves, right after the one before", d)
		}
	})
}

// An observer and a guest see everything and are seen by nobody.
func TestStreamWithoutBeingHeld(t *testing.T) {
	for _, r := range []request{
		{path: "events?observe=1", user: "alice"},
		{path: "events", header: map[string]string{"X-Guest": "g1"}},
	} {
		t.Run(r.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, setup{})
				l := s.listen(r)
				l.want("welcome")
				if got := l.want("state").data; got.Total != 0 {
					t.Errorf("got %d online, want 0", got.Total)
				}
				s.see("site", "bob")
				if got := l.want("diff").data; keys(got.Joins) != "bob" {
					t.Errorf("got joins %q, want bob", keys(got.Joins))
				}
				l.close()
				time.Sleep(time.Second)
				if got := s.names("site"); got != "bob" {
					t.Errorf("got %q online, want bob", got)
				}
			})
		})
	}
}

// A topic that is named twice is one, and counts as one.
func TestStreamTopicNamedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		l := s.listen(request{path: "events?observe=1&stream=site&" + strings.Repeat("topic=site&", 20)}).started(1)
		l.quiet(time.Minute)
	})
}

func TestStreamLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		s.see("site", "a", "b", "c")
		l := s.listen(request{path: "events?observe=1&limit=2"})
		l.want("welcome")
		if got := l.want("state").data; keys(got.Users) != "b c" || got.Total != 3 || !got.Truncated {
			t.Errorf("got %q of %d (truncated %v), want b c of 3 (true)", keys(got.Users), got.Total, got.Truncated)
		}
	})
}

// A topic that was silent for 15 s has a heartbeat, whatever the others do.
func TestStreamHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}})
		l := s.listen(request{path: "events?topic=site&topic=thread:1&observe=1"}).started(2)
		start := time.Now()
		time.Sleep(10 * time.Second)
		s.see("site", "bob") // and is recent, a second later
		var quiet, busy []time.Duration
		for time.Since(start) < 46*time.Second {
			e, ok := l.next()
			if !ok {
				t.Fatal("the stream has ended")
			}
			if e.typ == "heartbeat" && e.data.Topic == "thread:1" {
				quiet = append(quiet, time.Since(start))
				if e.data.Cursor == "" || !strings.Contains(e.id, e.data.Cursor) {
					t.Errorf("got cursor %q in id %q, want the topic's in the connection's", e.data.Cursor, e.id)
				}
			}
			if e.data.Topic == "site" {
				busy = append(busy, time.Since(start))
			}
		}
		if want := []time.Duration{15 * time.Second, 30 * time.Second, 45 * time.Second}; !slices.Equal(quiet, want) {
			t.Errorf("the silent topic had heartbeats at %v, want %v", quiet, want)
		}
		for i := 1; i < len(busy); i++ {
			if gap := busy[i] - busy[i-1]; gap > 15*time.Second {
				t.Errorf("the other topic was silent for %v, want 15s at most", gap)
			}
		}
		early := func(d time.Duration) bool { return d > 12*time.Second && d < 25*time.Second }
		if len(busy) < 3 || slices.ContainsFunc(busy, early) {
			t.Errorf("the other topic had events at %v, want a diff at 10s, and heartbeats from 25s on", busy)
		}
	})
}

// Server timeouts are for answers that end.
func TestStreamOutlivesServerTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{server: func(srv *http.Server) {
			srv.ReadTimeout, srv.WriteTimeout, srv.IdleTimeout = 5*time.Second, 5*time.Second, 5*time.Second
		}})
		s.listen(request{path: "events", user: "alice"}).started(1).quiet(10 * time.Minute)
	})
}

// A stream ends at its age, says when to come back, and goes on where it was.
func TestStreamAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		ages := make(map[time.Duration]bool)
		for range 8 {
			start := time.Now()
			l := s.listen(request{path: "events", user: "alice"}).started(1)
			var last event
			for {
				e, ok := l.next()
				if !ok {
					break
				}
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

// The age counts to the second, not to the next heartbeat.
func TestStreamShortAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{MaxAge: 20 * time.Second}})
		start := time.Now()
		l := s.listen(request{path: "events", user: "alice"}).started(1)
		for _, ok := l.next(); ok; _, ok = l.next() {
		}
		if age := time.Since(start); age < 18*time.Second || age > 22*time.Second {
			t.Errorf("the stream ended after %v, want 20s give or take a tenth", age)
		}
	})
}

func TestStreamForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{handlers: handlers.Config{MaxAge: -1}})
		s.listen(request{path: "events", user: "alice"}).started(1).quiet(time.Hour)
	})
}

// Who loses the right to one topic of a stream loses the stream, within a
// heartbeat, also while it is busy.
func TestStreamEndsWithTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var barred atomic.Bool
		s := newSite(t, setup{handlers: handlers.Config{
			Authorize: func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
				return topic == "site" || v.User.ID == "alice" && !barred.Load()
			},
		}})
		r := request{path: "events?topic=site&topic=staff", user: "alice"}
		l := s.listen(r).started(2)
		time.Sleep(20 * time.Second)
		barred.Store(true)
		start := time.Now()
		for i := 0; ; i++ {
			s.tracker.Seen("staff", presence.User{ID: presence.UserID("u" + strconv.Itoa(i))})
			if _, ok := l.next(); !ok {
				break
			}
		}
		if d := time.Since(start); d > 15*time.Second {
			t.Errorf("the stream ended %v after the right was taken away, want 15s at most", d)
		}
		if resp, _ := s.fetch(r); resp.StatusCode != http.StatusForbidden {
			t.Errorf("coming back: got status %d, want 403", resp.StatusCode)
		}
	})
}

// A node that stops tells its readers to come back, and nobody is seen to leave.
func TestStreamEndsWithTheTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presence.NewMemoryStore()
		s := newSite(t, setup{store: store})
		l := s.listen(request{path: "events", user: "alice"}).started(1)
		start := time.Now()
		if err := s.tracker.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if e, ok := l.next(); !ok || !within(e.retry, 1000, 3000) {
			t.Errorf("got %+v, want a retry of 1 to 3 s", e)
		}
		if e, ok := l.next(); ok {
			t.Errorf("got %+v, want the end of the stream", e)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("the stream ended after %v, want at once", d)
		}
		resp, _ := s.fetch(request{path: "events", user: "alice"})
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("coming back to this node: got status %d and Retry-After %q, want 503 and some", resp.StatusCode, resp.Header.Get("Retry-After"))
		}
		other := newSite(t, setup{store: store})
		if got := other.names("site"); got != "alice" {
			t.Errorf("on another node: got %q online, want alice", got)
		}
	})
}

func TestStreamEndsWithSignOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		l := s.listen(request{path: "events", user: "alice"}).started(1)
		bob := s.listen(request{path: "events", user: "bob"}).started(1)
		if err := s.tracker.SignOut(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		for {
			e, ok := l.next()
			if !ok {
				break
			}
			if e.typ == "state" {
				t.Errorf("got a state, want the end of the stream")
			}
		}
		if got := bob.want("diff").data; keys(got.Leaves) != "alice" {
			t.Errorf("got leaves %q, want alice", keys(got.Leaves))
		}
	})
}

// A reader that stops reading is cut at the write deadline, and nobody else
// waits for it.
func TestStreamStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		bob := s.listen(request{path: "events?observe=1"}).started(1)
		s.listen(request{path: "events", user: "alice"}).started(1) // and reads no more
		if got := bob.want("diff").data; keys(got.Joins) != "alice" {
			t.Errorf("got joins %q, want alice", keys(got.Joins))
		}
		begin := time.Now()
		s.see("site", "carol") // the write to alice's stream begins to block
		if got := bob.want("diff").data; keys(got.Joins) != "carol" || time.Since(begin) > 2*time.Second {
			t.Errorf("got joins %q after %v, want carol within a second or so", keys(got.Joins), time.Since(begin))
		}
		time.Sleep(8*time.Second + 500*time.Millisecond)
		if !s.tracker.NeedsSeen("alice", begin.Add(-time.Hour)) {
			t.Errorf("alice's stream was cut after %v, want 10s", time.Since(begin))
		}
		time.Sleep(time.Second)
		if s.tracker.NeedsSeen("alice", begin.Add(-time.Hour)) {
			t.Errorf("alice's stream is there after %v, want it cut after 10s", time.Since(begin))
		}
	})
}

func TestStreamHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		resp, body := s.fetch(request{method: http.MethodHead, path: "events", user: "alice"})
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || body != "" {
			t.Errorf("got status %d, type %q, body %q, want 200, text/event-stream, none", resp.StatusCode, resp.Header.Get("Content-Type"), body)
		}
		if got := s.names("site"); got != "" {
			t.Errorf("got %q online, want nobody: a HEAD is no stream", got)
		}
	})
}

// A client that said it would beat, and does not, is no proof of life, though
// its stream is open.
func TestStreamWithBeats(t *testing.T) {
	for path, want := range map[string]string{"events": "alice", "events?beat=0": "alice", "events?beat=1": ""} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, setup{})
			l := s.listen(request{path: path, user: "alice"}).started(1)
			go func() {
				for _, ok := l.next(); ok; _, ok = l.next() {
				}
			}()
			time.Sleep(50 * time.Second)
			s.sweep()
			if got := s.names("site"); got != want {
				t.Errorf("%s: got %q online after the ttl, want %q", path, got, want)
			}
		})
	}
}
