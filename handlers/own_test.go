package handlers_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A status that the site itself sets, as by a form, counts with those that the user
// sets by requests.
func TestSetStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		s.choose("alice", "away")
		passed := 0
		for range 300 {
			err := s.handler.SetStatus(t.Context(), "alice", presence.Busy)
			if err == nil {
				passed++
			} else if !errors.Is(err, handlers.ErrTooMany) {
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

// A request of the site's own forms counts with the requests that change something, of
// its visitor and of its address.
func TestAllow(t *testing.T) {
	form := func(v presence.Visitor, address string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/logout", nil)
		r.RemoteAddr = address
		return r.WithContext(presence.ContextWithVisitor(r.Context(), v))
	}
	for name, tt := range map[string]struct {
		cfg     handlers.Config
		visitor func(i int) presence.Visitor
		want    int // of 300
	}{
		"user":  {handlers.Config{}, func(int) presence.Visitor { return presence.Visitor{User: presence.User{ID: "alice"}} }, 20},
		"guest": {handlers.Config{}, func(int) presence.Visitor { return presence.Visitor{Guest: "g"} }, 20},
		"many users": {handlers.Config{}, func(i int) presence.Visitor {
			return presence.Visitor{User: presence.User{ID: presence.UserID(fmt.Sprint(i))}}
		}, 80},
		"many guests": {handlers.Config{}, func(i int) presence.Visitor { return presence.Visitor{Guest: fmt.Sprint(i)} }, 80},
		"no cookie":   {handlers.Config{}, func(int) presence.Visitor { return presence.Visitor{} }, 80},
		"no rate":     {handlers.Config{MaxRate: -1}, func(int) presence.Visitor { return presence.Visitor{} }, 300},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, setup{handlers: tt.cfg})
				for range 2 { // seconds
					allowed := 0
					for i := range 300 {
						if s.handler.Allow(form(tt.visitor(i), "192.0.2.1:1")) {
							allowed++
						}
					}
					if allowed != tt.want {
						t.Errorf("got %d of 300 requests allowed, want %d", allowed, tt.want)
					}
					if !s.handler.Allow(form(presence.Visitor{User: presence.User{ID: "carol"}}, "192.0.2.2:1")) {
						t.Error("another user at another address: got no, want yes")
					}
					time.Sleep(time.Second)
				}
				if got := s.handler.Stats().Limited; got != uint64(2*(300-tt.want)) {
					t.Errorf("got %d counted as limited, want %d", got, 2*(300-tt.want))
				}
			})
		})
	}
	t.Run("with requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, setup{})
			for range 20 {
				s.fetch(request{method: http.MethodPost, path: "beat", user: "alice", body: `{}`})
			}
			if s.handler.Allow(form(presence.Visitor{User: presence.User{ID: "alice"}}, "192.0.2.1:1")) {
				t.Error("after 20 requests within a second: got yes, want no")
			}
		})
	})
}
