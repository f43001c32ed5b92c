package handlers_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// poll asks once, and returns the answer and how long it took.
func (s *site) poll(query, user string) (answer, time.Duration) {
	s.t.Helper()
	begin := time.Now()
	resp, body := s.fetch(request{path: "poll?" + query, user: user})
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("poll?%s: got status %d and %s (%v), want 200 and JSON", query, resp.StatusCode, body, err)
	}
	return a, time.Since(begin)
}

func TestPollAnswer(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.see("site", "bob")
		view, err := s.tracker.View(t.Context(), "site")
		noError(t, err)
		ask := func(query string) string {
			resp, body := s.fetch(request{path: "poll?observe=1" + query})
			for header, want := range map[string]string{
				"Content-Type": "application/json", "Cache-Control": "no-store, no-transform", "Content-Length": fmt.Sprint(len(body)), "X-Content-Type-Options": "nosniff",
			} {
				if got := resp.Header.Get(header); got != want {
					t.Errorf("%s: got %q, want %q", header, got, want)
				}
			}
			return body
		}
		beat := fmt.Sprintf(`{"topic":"site","cursor":"%s","total":1,"guests":0,"recent":1}`, view.Cursor)
		want := fmt.Sprintf(`{"cursor":"%s","events":[{"event":"state","data":%s}],"heartbeats":[%s]}`, view.Cursor, stateOf(t, s.tracker, "site"), beat)
		if got := ask(""); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		want = fmt.Sprintf(`{"cursor":"%s","events":[],"heartbeats":[%s]}`, view.Cursor, beat)
		if got := ask("&wait=1&cursor=" + string(view.Cursor)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// A poll waits as long as it is told, and no longer than until something happens.
func TestPollWaits(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		first, took := s.poll("wait=55", "alice")
		if len(first.Events) != 1 || first.Events[0].Event != "state" || took > time.Second {
			t.Errorf("got %+v after %v, want a state at once", first, took)
		}
		for query, want := range map[string]time.Duration{"wait=1": time.Second, "wait=55": 55 * time.Second, "": 25 * time.Second} {
			a, took := s.poll(from(query, first.Cursor), "alice")
			if len(a.Events) != 0 || a.Cursor != first.Cursor || took.Round(time.Second) != want {
				t.Errorf("%q: got %+v after %v, want nothing after %v", query, a, took, want)
			}
		}
		go func() {
			time.Sleep(3 * time.Second)
			s.tracker.SeenGuest("site", "g1") // is no reason to answer
			time.Sleep(3 * time.Second)
			s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
		}()
		a, took := s.poll(from("", first.Cursor), "alice")
		if len(a.Events) != 1 || keys(a.Events[0].Data.Joins) != "bob" || took.Round(time.Second) != 6*time.Second {
			t.Errorf("got %+v after %v, want bob after 6s", a, took)
		}
		if len(a.Heartbeats) != 1 || a.Heartbeats[0].Guests != 1 || a.Heartbeats[0].Total != 2 {
			t.Errorf("got heartbeats %+v, want one with a guest and two users", a.Heartbeats)
		}
	})
}

// Polls hold their user online, also between two of them, and also if the TTL is shorter
// than the wait. The user leaves a grace after the last one.
func TestPollHolds(t *testing.T) {
	onSite(t, setup{presence: track.Config{TTL: time.Second, Grace: 5 * time.Second}}, func(t *testing.T, s *site) {
		told := s.follow(overSSE, "observe=1", "").started(1).feed()
		go func() { // as a cron does
			for s.tracker.Stats().Connections > 0 {
				s.sweep()
			}
		}()
		a, _ := s.poll("", "alice")
		if got := (<-told).data; keys(got.Joins) != "alice" {
			t.Errorf("got joins %q, want alice", keys(got.Joins))
		}
		for _, wait := range []int{1, 55, 10, 1, 25} {
			time.Sleep(3 * time.Second)
			a, _ = s.poll(from(fmt.Sprint("beat=1&wait=", wait), a.Cursor), "alice")
		}
		if len(told) != 0 {
			t.Errorf("got %+v, want nobody to see the gaps", <-told)
		}
		time.Sleep(6 * time.Second)
		if got := (<-told).data; keys(got.Leaves) != "alice" {
			t.Errorf("got leaves %q, want alice", keys(got.Leaves))
		}
	})
}

// A poll that is given up is over.
func TestPollGivenUp(t *testing.T) {
	onSite(t, setup{presence: track.Config{MaxConnectionsPerUser: 1}}, func(t *testing.T, s *site) {
		a, _ := s.poll("", "alice")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		waiting := request{path: from("poll?", a.Cursor), user: "alice"}
		go func() {
			_, err := s.try(ctx, waiting)
			done <- err
		}()
		time.Sleep(time.Second)
		resp, body := s.fetch(waiting)
		wantProblem(t, resp, body, http.StatusTooManyRequests)
		cancel()
		<-done
		synctest.Wait()
		if n := s.tracker.Stats().Connections; n != 0 {
			t.Errorf("got %d connections, want none", n)
		}
	})
}

// A poll whose visitor loses the right while it waits is refused.
func TestPollEndsWithTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var barred atomic.Bool
		s := newSite(t, setup{handlers: handlers.Config{
			Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return !barred.Load() },
		}})
		l := s.follow(overPoll, "observe=1", "alice").started(1)
		told := l.feed()
		time.Sleep(time.Second)
		barred.Store(true)
		s.see("site", "bob")
		if e, ok := <-told; ok {
			t.Errorf("got %+v, want nothing", e)
		}
		if got := l.source.(*pollSource).status; got != http.StatusForbidden {
			t.Errorf("got status %d, want 403", got)
		}
	})
}

// A sign-out ends a poll at once, with an answer without events.
func TestPollSignOut(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		a, _ := s.poll("", "alice")
		go func() {
			time.Sleep(time.Second)
			s.tracker.SignOut(context.Background(), "alice")
		}()
		if a, took := s.poll(from("", a.Cursor), "alice"); len(a.Events) != 0 || took.Round(time.Second) != time.Second {
			t.Errorf("got %+v after %v, want nothing after 1s", a, took)
		}
	})
}

// Long polls are for where nothing else comes through: what collects or
// compresses answers does them no harm.
func TestPollBehindMiddleware(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"gzip":           behindEcho(middleware.Gzip()),
		"TimeoutHandler": func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Minute, "") },
		//lint:ignore SA1019 sites have this middleware, and streams must get along with it
		"Echo's Timeout": behindEcho(middleware.TimeoutWithConfig(middleware.TimeoutConfig{Timeout: time.Minute})),
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{wrap: wrap})
			resp := s.do(request{path: "poll", user: "alice", header: map[string]string{"Accept-Encoding": "gzip"}})
			defer resp.Body.Close()
			body := io.Reader(resp.Body)
			if resp.Header.Get("Content-Encoding") == "gzip" {
				plain, err := gzip.NewReader(resp.Body)
				noError(t, err)
				body = plain
			}
			var a answer
			if err := json.NewDecoder(body).Decode(&a); err != nil || keys(a.Events[0].Data.Users) != "alice" {
				t.Errorf("got %+v (%v), want a state with alice", a, err)
			}
			if a, took := s.poll(from("wait=20", a.Cursor), "alice"); len(a.Events) != 0 || took.Round(time.Second) != 20*time.Second {
				t.Errorf("got %+v after %v, want nothing after 20s", a, took)
			}
		})
	}
}

// A poll behind a timeout answers before it.
func TestPollBeforeATimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		20 * time.Second: 19 * time.Second,
		time.Second:      500 * time.Millisecond,
		time.Hour:        25 * time.Second,
	} {
		bubble(t, timeout.String(), func(t *testing.T) {
			s := newSite(t, setup{wrap: func(next http.Handler) http.Handler { return http.TimeoutHandler(next, timeout, "") }})
			a, _ := s.poll("", "alice")
			if a, took := s.poll(from("wait=25", a.Cursor), "alice"); len(a.Events) != 0 || took.Round(100*time.Millisecond) != want {
				t.Errorf("got %+v after %v, want nothing after %v", a, took, want)
			}
		})
	}
}
