package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// logins are the sessions of a site.
type logins struct {
	mu    sync.Mutex
	open  map[string]bool // "user/device"
	asked int
	fault func(ctx context.Context) error // nil: none
}

func newLogins(open ...string) *logins {
	l := &logins{open: make(map[string]bool)}
	for _, one := range open {
		l.open[one] = true
	}
	return l
}

func (l *logins) end(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if l.fault != nil {
		return l.fault(ctx)
	}
	delete(l.open, string(user)+"/"+string(device))
	return nil
}

func (l *logins) left() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.open)
}

// A session is one as an answer has it.
type session struct {
	ID, Kind, Label, Since string
	Connections            int
	Current                bool
}

// sessionsOf returns what GET /sessions answers to a user's device.
func (s *site) sessionsOf(user, device string) []session {
	s.t.Helper()
	var got struct{ Sessions []session }
	body := s.wantStatus(request{path: "sessions", user: user, header: map[string]string{"X-Device": device}}, 200)
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Sessions == nil {
		s.t.Fatalf("the sessions %s are no list: %v", body, err)
	}
	return got.Sessions
}

func end(user, device string) request {
	return request{method: http.MethodDelete, path: "sessions/" + device, user: user}
}

// Rule P11, over HTTP: an ended session is over in the site and in presence, on that device
// alone.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newLogins("alice/d1", "alice/d2", "bob/d3")
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{EndSession: site.end}})
		if got, want := s.wantStatus(request{path: "sessions", user: "alice"}, 200), `{"sessions":[]}`; got != want {
			t.Errorf("got %s before alice came, want %s", got, want)
		}
		s.online("alice", "d1")
		time.Sleep(time.Second)
		second := s.online("alice", "d2")
		s.online("alice", "d2")
		bob := s.online("bob", "d3")
		time.Sleep(time.Second)
		got := s.sessionsOf("alice", "d2")
		if len(got) != 2 || got[0].ID != "d2" || got[1].ID != "d1" {
			t.Fatalf("got %+v, want d2 and then d1", got)
		}
		for i, want := range []session{{"d2", "desktop", "Firefox on Linux", got[0].Since, 2, true}, {"d1", "desktop", "Firefox on Linux", got[1].Since, 1, false}} {
			if got[i] != want {
				t.Errorf("got %+v, want %+v", got[i], want)
			}
			if at, err := time.Parse(time.RFC3339, got[i].Since); err != nil || time.Since(at) > 5*time.Second {
				t.Errorf("got since %s (%v), want some seconds ago", got[i].Since, err)
			}
		}
		s.wantStatus(end("alice", "d3"), 204) // bob's
		s.wantStatus(end("bob", "d1"), 204)   // alice's
		s.wantStatus(end("alice", "nothing"), 204)
		s.wantStatus(end("carol", "d1"), 204)
		if got := site.left(); got != "map[alice/d1:true alice/d2:true bob/d3:true]" {
			t.Errorf("got the logins %s, want all", got)
		}
		if got := s.handler.Stats().Connections.SSE; got != 4 {
			t.Errorf("got %d streams after nothing was ended, want 4", got)
		}
		s.wantStatus(end("alice", "d2"), 204)
		time.Sleep(time.Second)
		if got := site.left(); got != "map[alice/d1:true bob/d3:true]" {
			t.Errorf("got the logins %s, want them without alice/d2", got)
		}
		if got := s.handler.Stats().Connections.SSE; got != 2 {
			t.Errorf("got %d streams after alice's d2 was ended, want alice's d1 and bob's", got)
		}
		if got := s.sessionsOf("alice", "d1"); len(got) != 1 || got[0].ID != "d1" || !got[0].Current {
			t.Errorf("got %+v, want d1 alone", got)
		}
		s.wantStatus(end("alice", "d2"), 204) // once more
		if got := s.names("site"); got != "bob alice" {
			t.Errorf("got %q online, want bob and alice", got)
		}
		_, _ = second, bob
	})
}

func TestBadSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newLogins()
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{EndSession: site.end, MaxRate: -1}})
		for _, device := range []string{"a%20b", "a%00", "%ff", "caf%C3%A9", "a/b", "a%2Fb", "%27%3B--", strings.Repeat("d", 65)} {
			s.wantStatus(end("alice", device), 400)
		}
		for _, device := range []string{"../d1", "d1//", "%2e%2e"} {
			s.wantStatus(end("alice", device), 404)
		}
		s.wantStatus(request{path: "sessions"}, 401)
		s.wantStatus(end("", "d1"), 401)
		s.wantStatus(request{path: "sessions/d1", user: "alice"}, 405)
		s.wantStatus(request{method: http.MethodDelete, path: "sessions", user: "alice"}, 405)
		foreign := end("alice", "d1")
		foreign.header = map[string]string{"Origin": "https://evil.test"}
		s.wantStatus(foreign, 403)
		if site.asked > 0 {
			t.Errorf("the site was asked %d times about bad requests", site.asked)
		}
	})
}

// DELETE counts with the PUT and POST requests of its visitor.
func TestSessionsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{EndSession: endsNothing}})
		n := 0
		for resp, _ := s.fetch(end("alice", "d1")); resp.StatusCode == http.StatusNoContent && n < 100; n++ {
			resp, _ = s.fetch(end("alice", "d1"))
		}
		if n < 20 || n > 40 {
			t.Errorf("got %d requests answered within a moment, want 20, and as many more as a second brings", n)
		}
		s.wantStatus(put("settings", "alice", `{}`), 429)
		s.wantStatus(end("bob", "d1"), 204)
	})
}

// A site that says nothing of EndSession shows its sessions, and ends none.
func TestSessionsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		s.online("alice", "d1")
		time.Sleep(time.Second)
		if got := s.sessionsOf("alice", "d1"); len(got) != 1 {
			t.Errorf("got %+v, want d1", got)
		}
		s.wantStatus(end("alice", "d1"), 404)
		if err := s.handler.EndSession(t.Context(), "alice", "d1"); !errors.Is(err, handlers.ErrNoEndSession) {
			t.Errorf("got %v, want ErrNoEndSession", err)
		}
		off := newSite(t, setup{handlers: handlers.Config{EndSession: endsNothing}})
		off.wantStatus(end("alice", "d1"), 404)
		if err := off.handler.EndSession(t.Context(), "alice", "d1"); !errors.Is(err, presence.ErrNoDirectory) {
			t.Errorf("without a Directory: got %v, want ErrNoDirectory", err)
		}
	})
}

// If the site cannot end its session, presence goes on: to show a session as ended that the
// site still accepts would be a lie.
func TestSessionThatTheSiteCannotEnd(t *testing.T) {
	faults := map[string]func(ctx context.Context) error{
		"error": func(context.Context) error { return errDirectory },
		"panic": func(context.Context) error { panic("hunter2") },
		"hang":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	}
	for name, fault := range faults {
		bubble(t, name, func(t *testing.T) {
			site := newLogins("alice/d1")
			site.fault = fault
			s, _ := newPeopleSite(t, setup{handlers: handlers.Config{EndSession: site.end}})
			s.online("alice", "d1")
			time.Sleep(time.Second)
			begin := time.Now()
			s.wantStatus(end("alice", "d1"), 503)
			if waited := time.Since(begin); waited > 6*time.Second {
				t.Errorf("got the answer after %v, want it within 6s", waited)
			}
			if err := s.handler.EndSession(t.Context(), "alice", "d1"); !errors.Is(err, handlers.ErrSessionNotEnded) {
				t.Errorf("got %v, want ErrSessionNotEnded", err)
			}
			time.Sleep(time.Second)
			if got := s.sessionsOf("alice", "d1"); len(got) != 1 || got[0].Connections != 1 {
				t.Errorf("got %+v, want alice's session to go on", got)
			}
			site.mu.Lock()
			site.fault = nil
			site.mu.Unlock()
			s.wantStatus(end("alice", "d1"), 204)
			time.Sleep(time.Second)
			if got := s.sessionsOf("alice", "d1"); len(got) != 0 {
				t.Errorf("got %+v, want no session", got)
			}
		})
	}
}
