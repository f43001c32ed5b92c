package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

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

func TestBadSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newLogins()
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{EndSession: site.end, MaxRate: -1}})
		for _, device := range []string{"a%20b", "a%00", "%ff", "caf%C3%A9", "a/b", "a%2Fb", "%27%3B--", strings.Repeat("d", 65)} {
			s.wantStatus(end("alice", device), 400)
		}
		for _, device := range []string{"", "../d1", "d1/", "%2e%2e"} {
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
