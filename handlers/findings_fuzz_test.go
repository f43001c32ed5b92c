package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// Whatever query a client sends, the answer is one that could be, nothing of a topic that
// its visitor may not see is in it, and the log gets one short line a finding.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "topic=site&topic=staff&partial=1", "topic=staff&partial=1", "partial=true&stream=vault", "partial=2", "nobeat=403&beat=1", "nobeat=+99",
		"nobeat=403%0a&partial=1", "me=alice&partial=1&topic=staff", "me=%00", "observe=1&idle=1&limit=1", "topic=%zz", "a;b", "cursor=%zz&partial=1",
		"topic=staff&topic=site&partial=1&cursor=ff2ngu.a-1~x.y", "topic=site&topic=site&limit=1001",
	} {
		f.Add(query, true)
		f.Add(query, false)
	}
	f.Fuzz(func(t *testing.T, query string, strange bool) {
		synctest.Test(t, func(t *testing.T) {
			log := new(logbook)
			s := newSite(t, setup{presence: log.config(), handlers: handlers.Config{Authorize: staffOnly}})
			s.see("staff", "bob")
			r := httptest.NewRequest(http.MethodGet, "/presence/poll", nil)
			r.URL.RawQuery = query
			if !strange {
				r = r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: presence.User{ID: "alice"}}))
			}
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			var a answer
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
				t.Fatalf("got %d %s (%v), want JSON", w.Code, w.Body, err)
			}
			switch w.Code {
			case http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestHeaderFieldsTooLarge:
			default:
				t.Errorf("got status %d", w.Code)
			}
			if strings.Contains(w.Body.String(), `"bob"`) {
				t.Errorf("got %s, want nothing of staff", w.Body)
			}
			for _, topic := range a.Refused {
				if topic != "staff" && topic != "vault" {
					t.Errorf("got %s refused", topic)
				}
			}
			known := texts(presence.NoMiddleware, presence.TopicRefused, presence.NoUser)
			if len(a.Warnings) > 1 || slices.ContainsFunc(a.Warnings, func(text string) bool { return !slices.Contains(known, text) }) {
				t.Errorf("got the warnings %q, want texts of findings", a.Warnings)
			}
			if lines := log.count("\n"); lines > 3 || len(log.String()) > 2000 {
				t.Errorf("got %d lines, want one a finding:\n%s", lines, log.String())
			}
		})
	})
}
