package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

func TestUsers(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		bob := s.listen(request{path: "events", user: "bob"}).started(1)
		left := time.Now()
		bob.close()
		time.Sleep(time.Minute)
		s.sweep()
		s.see("site", "alice", "__proto__")
		resp, body := s.fetch(request{path: "users?id=alice&id=bob&id=nobody&id=__proto__&id=alice"})
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("got status %d, type %q", resp.StatusCode, resp.Header.Get("Content-Type"))
		}
		var got struct {
			Users map[string]struct {
				LastSeen time.Time `json:"last_seen"`
			}
		}
		noError(t, json.Unmarshal([]byte(body), &got))
		seen := got.Users["bob"].LastSeen
		if d := seen.Sub(left); d < 0 || d > time.Second {
			t.Errorf("bob was last seen %v after his stream was closed, want at once", d)
		}
		want := `{"users":{` +
			`"__proto__":{"online":true,"status":"online"},` +
			`"alice":{"online":true,"status":"online"},` +
			`"bob":{"online":false,"last_seen":"` + seen.Format("2006-01-02T15:04:05.000Z07:00") + `"},` +
			`"nobody":{"online":false}}}`
		if body != want {
			t.Errorf("got  %s\nwant %s", body, want)
		}
		if resp, _ := s.fetch(request{path: "users?" + manyParams("id=u%d", 100)}); resp.StatusCode != http.StatusOK {
			t.Errorf("100 users: got status %d, want 200", resp.StatusCode)
		}
	})
}

// sightless is a store that has lost who was last seen.
type sightless struct{ *memstore.Store }

func (sightless) Sightings(context.Context, presence.Topic, ...presence.UserID) ([]backend.Sighting, error) {
	return nil, errors.New("it is out")
}

// A node knows which users are online while the store is out. It says that it cannot ask, and
// where it knows of nobody, it has no answer.
func TestUsersWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{store: sightless{memstore.New()}})
		s.see("site", "alice")
		_, body := s.fetch(request{path: "users?id=alice&id=bob"})
		if want := `{"stale":true,"users":{"alice":{"online":true,"status":"online"},"bob":{"online":false}}}`; body != want {
			t.Errorf("got %s, want %s", body, want)
		}
		if _, body := s.fetch(request{path: "users?id=alice"}); body != `{"users":{"alice":{"online":true,"status":"online"}}}` {
			t.Errorf("got %s, want alice, of whom nobody has to be asked", body)
		}
		s.wantStatus(request{path: "users?id=bob&id=nobody"}, http.StatusServiceUnavailable)
	})
}

// While the store hangs or fails, nobody is told that a user is not online, or of whom nothing is
// known, without a word that this is out of date. Hidden users look like unknown ones.
func TestUsersWhileStoreHangs(t *testing.T) {
	for name, fault := range map[string]presencetest.Fault{"hangs": {Hang: true}, "fails": {Err: errors.New("it is out")}} {
		bubble(t, name, func(t *testing.T) {
			faults := presencetest.NewFaults(memstore.New())
			s := newSite(t, setup{store: faults})
			s.see("site", "alice", "hidden")
			s.fetch(request{method: http.MethodPut, path: "status", user: "hidden", body: `{"status":"invisible"}`})
			s.listen(request{path: "events?observe=1"}).drain()
			_, before := s.fetch(request{path: "users?id=alice&id=bob"})
			faults.Break(fault)
			for _, after := range []time.Duration{0, 10 * time.Second} {
				time.Sleep(after + 2*time.Second) // answers of the store are kept for a second
				_, body := s.fetch(request{path: "users?id=alice&id=bob"})
				if want := `{"stale":true,"users":{"alice":{"online":true,"status":"online"},"bob":{"online":false}}}`; body != want {
					t.Errorf("got %s, want %s", body, want)
				}
				unknown, said := s.fetch(request{path: "users?id=bob"})
				if wantProblem(t, unknown, said, http.StatusServiceUnavailable); unknown.Header.Get("Retry-After") == "" {
					t.Error("got no Retry-After")
				}
				if hidden, told := s.fetch(request{path: "users?id=hidden"}); hidden.StatusCode != unknown.StatusCode || told != said {
					t.Errorf("got %d and %s of who is hidden, want %d and %s", hidden.StatusCode, told, unknown.StatusCode, said)
				}
			}
			faults.Heal()
			time.Sleep(10 * time.Second)
			if _, body := s.fetch(request{path: "users?id=alice&id=bob"}); body != before {
				t.Errorf("got %s after the store is back, want %s", body, before)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8", ""} {
		onSite(t, setup{}, func(t *testing.T, s *site) {
			bob := s.listen(request{path: "events?observe=1"}).started(1)
			s.listen(request{path: "events", user: "alice"}).started(1)
			bob.want("diff")
			resp, body := s.fetch(request{
				method: http.MethodPut, path: "status", user: "alice", body: `{"status":"away"}`,
				header: map[string]string{"Content-Type": contentType},
			})
			if resp.StatusCode != http.StatusNoContent || body != "" {
				t.Errorf("Content-Type %q: got status %d and body %q, want 204 and none", contentType, resp.StatusCode, body)
			}
			if got := string(bob.want("diff").data.Joins["alice"]); !strings.Contains(got, `"status":"away"`) {
				t.Errorf("others see %s, want away", got)
			}
			s.fetch(request{method: http.MethodPut, path: "status", user: "alice", body: `{"status":"invisible"}`})
			if got := keys(bob.want("diff").data.Leaves); got != "alice" {
				t.Errorf("after invisible others see leaves %q, want alice", got)
			}
		})
	}
}
