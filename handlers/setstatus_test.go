package handlers_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A status that the site itself sets, as by a form, counts with those that the user
// sets by requests.
func TestSetStatus(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.choose("alice", "away")
		passed := 0
		for range 300 {
			err := s.handler.SetStatus(t.Context(), "alice", presence.Busy)
			if err == nil {
				passed++
			} else if !errors.Is(err, handlers.ErrTooManyStatuses) {
				t.Fatalf("got %v, want ErrTooMany", err)
			}
		}
		if passed != 4 || s.tracker.Status("alice") != presence.Busy {
			t.Errorf("got %d of 300 statuses set, and %q, want 4 after a request, and busy", passed, s.tracker.Status("alice"))
		}
		if got := s.handler.Stats().Limited; got != 296 {
			t.Errorf("got %d counted as limited, want 296", got)
		}
		s.wantLimited(request{method: http.MethodPut, path: "status", user: "alice", body: `{"status":"away"}`})
		if err := s.handler.SetStatus(t.Context(), "bob", presence.Away); err != nil {
			t.Errorf("another user: got %v, want no error", err)
		}
		time.Sleep(time.Second)
		for user, status := range map[presence.UserID]presence.Status{"alice": "asleep", "": presence.Away, "a\x00": presence.Away} {
			if err := s.handler.SetStatus(t.Context(), user, status); !errors.Is(err, presence.ErrInvalidStatus) && !errors.Is(err, presence.ErrInvalidUser) {
				t.Errorf("%q is %q: got %v, want that it is invalid", user, status, err)
			}
		}
		s.choose("alice", "away") // what was invalid has not used it up
	})
}
