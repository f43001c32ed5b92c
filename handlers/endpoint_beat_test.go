package handlers_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// says returns the request by which a page reports about its connection.
func says(path, user, connection string) request {
	body, _ := json.Marshal(map[string]string{"connection": connection})
	return request{method: http.MethodPost, path: path, user: user, body: string(body)}
}

// A connection with beat=1 is kept by beats alone, at any node, until they stop or the
// page leaves.
func TestBeatAndLeave(t *testing.T) {
	for name, onOther := range map[string]bool{"this node": false, "another node": true} {
		bubble(t, name, func(t *testing.T) {
			store := memstore.New()
			s := newSite(t, setup{store: store})
			other := s
			if onOther {
				other = newSite(t, setup{store: store})
			}
			post := func(path, user, connection string, want int) {
				t.Helper()
				resp, body := other.fetch(says(path, user, connection))
				if want != http.StatusNoContent {
					wantProblem(t, resp, body, want)
				} else if resp.StatusCode != want || body != "" {
					t.Errorf("%s: got status %d (%s), want 204 and no body", path, resp.StatusCode, body)
				}
			}
			l := s.listen(request{path: "events?beat=1", user: "alice"})
			connection := l.want("welcome").data.Connection
			ended := l.drain()
			for range 20 {
				time.Sleep(15 * time.Second)
				post("beat", "alice", connection, http.StatusNoContent)
				post("beat", "mallory", connection, http.StatusGone)
				s.sweep()
			}
			post("leave", "mallory", connection, http.StatusNoContent)
			time.Sleep(20 * time.Second)
			s.sweep()
			if got := s.names("site"); got != "alice" {
				t.Fatalf("after five minutes of beats: got %q online, want alice", got)
			}

			post("leave", "alice", connection, http.StatusNoContent)
			<-ended
			post("leave", "alice", connection, http.StatusNoContent)
			post("beat", "alice", connection, http.StatusGone)
			time.Sleep(9 * time.Second)
			s.sweep()
			if got := s.names("site"); got != "alice" {
				t.Errorf("9 s after the page left: got %q online, want alice: the grace is 10 s", got)
			}
			time.Sleep(2 * time.Second)
			s.sweep()
			if got := s.names("site"); got != "" {
				t.Errorf("11 s after the page left: got %q online, want nobody", got)
			}
		})
	}
}

// A connection without beats for a TTL is gone, and a later beat is answered so.
func TestBeatTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		s, other := newSite(t, setup{store: store}), newSite(t, setup{store: store})
		l := s.listen(request{path: "events?beat=1", user: "alice"})
		connection := l.want("welcome").data.Connection
		l.drain()
		time.Sleep(50 * time.Second)
		s.sweep()
		resp, body := other.fetch(says("beat", "alice", connection))
		wantProblem(t, resp, body, http.StatusGone)
	})
}

// A guest's connection has no lease that any other node could know.
func TestBeatOfGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		s, other := newSite(t, setup{store: store}), newSite(t, setup{store: store})
		l := s.listen(request{path: "events?beat=1"})
		connection := l.want("welcome").data.Connection
		ended := l.drain()
		for _, at := range []*site{s, other} {
			if resp, body := at.fetch(says("beat", "", connection)); resp.StatusCode != http.StatusNoContent {
				t.Errorf("got status %d (%s), want 204", resp.StatusCode, body)
			}
		}
		s.fetch(says("leave", "", connection))
		<-ended
		resp, body := s.fetch(says("beat", "", connection))
		wantProblem(t, resp, body, http.StatusGone)
	})
}

// While the store is out, a node does not know the connections of other nodes. It keeps a
// leave until the store is back.
func TestBeatWithoutStore(t *testing.T) {
	for _, fault := range []presencetest.Fault{{Hang: true}, {Err: errors.New("it is out")}} {
		synctest.Test(t, func(t *testing.T) {
			store := presencetest.NewFaults(memstore.New())
			quiet := track.Config{Logger: slog.New(slog.DiscardHandler)}
			s, other := newSite(t, setup{store: store, presence: quiet}), newSite(t, setup{store: store, presence: quiet})
			l := s.listen(request{path: "events?beat=1", user: "alice"})
			connection := l.want("welcome").data.Connection
			l.drain()
			store.Break(fault)
			begin := time.Now()
			resp, body := other.fetch(says("beat", "alice", connection))
			wantProblem(t, resp, body, http.StatusServiceUnavailable)
			if resp, body := other.fetch(says("leave", "alice", connection)); resp.StatusCode != http.StatusNoContent {
				t.Errorf("leave: got status %d (%s), want 204", resp.StatusCode, body)
			}
			if d := time.Since(begin); d > 4*time.Second {
				t.Errorf("got two answers after %v, want each within 2s", d)
			}
			store.Heal()
			time.Sleep(20 * time.Second)
			s.sweep()
			if got := s.names("site"); got != "" {
				t.Errorf("got %q online after the store was back, want nobody", got)
			}
		})
	}
}

// The Content-Type of a beat does not matter: clients send different ones for a string.
func TestBeatContentTypes(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{MaxRate: -1}}, func(t *testing.T, s *site) {
		l := s.listen(request{path: "events", user: "alice"})
		connection := l.want("welcome").data.Connection
		l.drain()
		for _, contentType := range []string{
			"", "application/json", "application/json; charset=utf-8",
			"text/plain;charset=UTF-8",          // navigator.sendBeacon, fetch
			"application/x-www-form-urlencoded", // curl
			"garbage;;",
		} {
			for _, r := range []request{
				says("beat", "alice", connection),
				says("leave", "bob", connection),
				{method: http.MethodPut, path: "status", user: "alice", body: `{"status":"busy"}`},
			} {
				r.header = map[string]string{"Content-Type": contentType}
				if resp, body := s.fetch(r); resp.StatusCode != 204 {
					t.Errorf("%s as %q: got status %d (%s), want 204", r.path, contentType, resp.StatusCode, body)
				}
			}
		}
	})
}

// A beat of an idle page makes its user away.
func TestBeatOfAnIdlePage(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		l := s.listen(request{path: "events?beat=1", user: "alice"})
		connection := l.want("welcome").data.Connection
		l.drain()
		for _, tt := range []struct{ idle, want string }{
			{"true", "away"}, {"null", "away"}, {"false", "online"},
		} {
			resp, body := s.fetch(request{method: http.MethodPost, path: "beat", user: "alice", body: `{"connection":"` + connection + `","idle":` + tt.idle + `}`})
			if resp.StatusCode != http.StatusNoContent {
				t.Fatalf("idle %s: got status %d (%s), want 204", tt.idle, resp.StatusCode, body)
			}
			time.Sleep(2 * time.Second)
			for path, want := range map[string]string{"roster": `"status":"` + tt.want + `"`, "users?id=alice": `"status":"` + tt.want + `"`} {
				if _, got := s.fetch(request{path: path}); !strings.Contains(got, want) {
					t.Errorf("idle %s: got %s %s, want %s in it", tt.idle, path, got, want)
				}
			}
		}
		resp, body := s.fetch(request{method: http.MethodPost, path: "beat", user: "alice", body: `{"connection":"` + connection + `","idle":"yes"}`})
		wantProblem(t, resp, body, http.StatusBadRequest)
	})
}
