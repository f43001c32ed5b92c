package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// Server timeouts are for answers that end soon.
func TestServerTimeouts(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{server: func(srv *http.Server) {
			srv.ReadTimeout, srv.WriteTimeout, srv.IdleTimeout = 5*time.Second, 5*time.Second, 5*time.Second
		}})
		s.follow(over, "", "alice").started(1).quiet(10 * time.Minute)
	})
}

// The age counts to the second, not to the next heartbeat.
func TestShortAge(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{MaxStreamAge: 20 * time.Second}})
		start := time.Now()
		<-s.follow(over, "", "alice").started(1).drain()
		if age := time.Since(start); age < 18*time.Second || age > 23*time.Second {
			t.Errorf("the stream ended after %v, want 20s give or take a tenth, and a second to part", age)
		}
	})
}

func TestForEver(t *testing.T) {
	t.Parallel()
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{MaxStreamAge: -1}})
		s.follow(over, "", "alice").started(1).quiet(20 * time.Minute) // by default it ends after 15 min ± 10 %
	})
}

// A stream ends within a heartbeat after its visitor has lost the right to one of its
// topics, also while it is busy.
func TestEndsWithTheRight(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		var barred atomic.Bool
		s := newSite(t, setup{handlers: handlers.Config{
			Authorize: func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
				return topic == "site" || v.User.ID == "alice" && !barred.Load()
			},
		}})
		l := s.follow(over, "topic=site&topic=staff", "alice").started(2)
		time.Sleep(20 * time.Second)
		barred.Store(true)
		start := time.Now()
		for i := 0; ; i++ {
			s.tracker.Seen("staff", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
			if _, ok := l.next(); !ok {
				break
			}
		}
		if d := time.Since(start); d > 16*time.Second {
			t.Errorf("the stream ended %v after the right was taken away, want 15s at most, and a second to part", d)
		}
		resp, body := s.fetch(request{path: over.path + "?topic=site&topic=staff", user: "alice", header: handshake})
		wantProblem(t, resp, body, http.StatusForbidden)
	})
}

// A node that stops tells its clients to reconnect, and no user leaves.
func TestEndsWithTheTracker(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		store := memstore.New()
		s := newSite(t, setup{store: store})
		ended := s.follow(over, "", "alice").started(1).drain()
		time.Sleep(time.Second)
		start := time.Now()
		noError(t, s.tracker.Close(context.Background()))
		if <-ended; time.Since(start) > time.Second {
			t.Errorf("the stream ended after %v, want at once", time.Since(start))
		}
		resp, body := s.fetch(request{path: over.path, user: "alice", header: handshake})
		wantProblem(t, resp, body, http.StatusServiceUnavailable)
		if resp.Header.Get("Retry-After") == "" {
			t.Error("coming back to this node: got no Retry-After")
		}
		other := newSite(t, setup{store: store})
		if got := other.names("site"); got != "alice" {
			t.Errorf("on another node: got %q online, want alice", got)
		}
	})
}

func TestEndsWithSignOut(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		l := s.follow(over, "", "alice").started(1)
		bob := s.follow(over, "observe=1", "bob").started(1)
		told := make(chan event, 1)
		go func() {
			e, _ := l.next()
			told <- e
			l.close()
		}()
		time.Sleep(time.Second)
		start := time.Now()
		noError(t, s.tracker.SignOut(t.Context(), "alice"))
		if e := <-told; e.typ == "state" || e.typ == "diff" || time.Since(start) > time.Second {
			t.Errorf("got %s after %v, want the end at once", e.typ, time.Since(start))
		}
		if got := bob.want("diff").data; keys(got.Leaves) != "alice" {
			t.Errorf("got leaves %q, want alice", keys(got.Leaves))
		}
	})
}

// A client that stops reading is disconnected at the write deadline. Other clients do not
// wait for it.
func TestStalled(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		bob := s.follow(over, "observe=1", "").started(1)
		s.follow(over, "", "alice").started(1) // and reads no more
		if got := bob.want("diff").data; keys(got.Joins) != "alice" {
			t.Errorf("got joins %q, want alice", keys(got.Joins))
		}
		begin := time.Now()
		s.see("site", "carol") // the write to alice's stream begins to block
		if got := bob.want("diff").data; keys(got.Joins) != "carol" || time.Since(begin) > 2*time.Second {
			t.Errorf("got joins %q after %v, want carol within a second or so", keys(got.Joins), time.Since(begin))
		}
		time.Sleep(8*time.Second + 500*time.Millisecond)
		if s.tracker.Stats().Connections != 2 {
			t.Errorf("alice's stream was cut after %v, want 10s", time.Since(begin))
		}
		time.Sleep(time.Second)
		if s.tracker.Stats().Connections != 1 {
			t.Errorf("alice's stream is there after %v, want it cut after 10s", time.Since(begin))
		}
	})
}

// A stream with beat=1 and without beats does not keep its user online.
func TestWithBeats(t *testing.T) {
	for query, want := range map[string]string{"": "alice", "beat=0": "alice", "beat=1": ""} {
		over(t, streams, func(t *testing.T, over transport) {
			s := newSite(t, setup{})
			s.follow(over, query, "alice").started(1).drain()
			time.Sleep(50 * time.Second)
			s.sweep()
			if got := s.names("site"); got != want {
				t.Errorf("%s: got %q online after the ttl, want %q", query, got, want)
			}
		})
	}
}

// A timeout of the site ends the contexts of its requests. A stream goes on, its site is asked with a context that
// lasts, and the end of the client is noticed as ever before the timeout.
func TestTimeoutsOfTheSite(t *testing.T) {
	t.Parallel()
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{
			wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
					defer cancel()
					next.ServeHTTP(w, r.WithContext(ctx))
				})
			},
			handlers: handlers.Config{Authorize: func(r *http.Request, _ presence.Visitor, _ presence.Topic) bool { return r.Context().Err() == nil }},
		})
		s.follow(over, "topic=site", "alice").started(1).quiet(2 * time.Minute)
		want := s.handler.Stats().Connections
		s.follow(over, "topic=site", "bob").started(1).close()
		time.Sleep(time.Second)
		if got := s.handler.Stats().Connections; got != want {
			t.Errorf("got %+v a second after a client closed, want %+v", got, want)
		}
	})
}
