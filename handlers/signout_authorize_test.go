package handlers_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A user who signs out while the site is asked for the permission has no stream: the request is of
// the session that ended.
func TestSignOutDuringAuthorize(t *testing.T) {
	for _, path := range []string{"events", "poll"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *site
				s = newSite(t, setup{handlers: handlers.Config{Authorize: func(r *http.Request, v presence.Visitor, _ presence.Topic) bool {
					time.Sleep(time.Millisecond)
					if err := s.tracker.SignOut(r.Context(), v.User.ID); err != nil {
						t.Error(err)
					}
					return true
				}}})
				r, err := http.NewRequest(http.MethodGet, "http://site.test/presence/"+path+"?topic=site", nil)
				noError(t, err)
				r.Header.Set("X-User", "alice")
				answer, err := s.client.Do(r)
				noError(t, err)
				answer.Body.Close()
				if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
					t.Errorf("got %s, want 503 with Retry-After", answer.Status)
				}
				if n := s.tracker.Stats().Connections; n != 0 {
					t.Errorf("%d streams are open, want none", n)
				}
			})
		})
	}
}
