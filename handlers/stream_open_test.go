package handlers_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A hidden user's stream records nothing, on any transport.
func TestHiddenUserIsNotRecorded(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{
			handlers: handlers.Config{Authorize: threads},
			wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					v := presence.VisitorFromContext(r.Context())
					if id := r.Header.Get("X-Hidden"); id != "" {
						v = presence.Visitor{User: presence.User{ID: presence.UserID(id), Name: id, Hidden: true}}
						r.Header.Del("X-User")
					}
					hidden := presence.ContextWithVisitor(r.Context(), v)
					next.ServeHTTP(w, r.WithContext(hidden))
				})
			},
		})
		handler := s.server.Handler
		s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) })
		watcher := s.listen(request{path: "events?observe=1&topic=site&topic=thread:1"}).started(2).feed()
		l := over.open(s, request{path: over.path + "?topic=site", header: map[string]string{"X-Hidden": "mallory"}}, "").started(1)
		if over.path == "ws" {
			l.source.(*wsSource).out <- clientFrame(1, true, []byte(`{"type":"subscribe","topic":"thread:1"}`))
			l.want("state")
			l.source.(*wsSource).out <- clientFrame(1, true, []byte(`{"type":"heartbeat"}`))
		}
		s.fetch(request{path: "roster", header: map[string]string{"X-Hidden": "mallory"}})
		l.drain()
		time.Sleep(time.Minute)
		l.close()
		time.Sleep(time.Minute)
		s.sweep()
		if got := s.names("site") + s.names("thread:1"); got != "" || len(watcher) > 0 {
			t.Errorf("got %q online and %d events, want nothing of a hidden user", got, len(watcher))
		}
		found, err := s.tracker.Sightings(t.Context(), "site", "mallory")
		if err != nil || !found[0].LastSeen.IsZero() || found[0].Online {
			t.Errorf("got %+v (%v), want that the user was never seen", found, err)
		}
	})
}

// A stream or a poll that is given up while the store takes its time has recorded
// nothing.
func TestGivenUpBeforeItIsOpen(t *testing.T) {
	over(t, []transport{overSSE, overPoll}, func(t *testing.T, over transport) {
		store := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: store})
		watcher := s.listen(request{path: "events?observe=1"}).started(1).feed()
		store.Break(presencetest.Fault{Delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if resp, err := s.try(ctx, request{path: over.path, user: "alice"}); err == nil {
			t.Fatalf("got an answer (%d) while the store takes a second", resp.StatusCode)
		}
		time.Sleep(5 * time.Second)
		store.Heal()
		time.Sleep(5 * time.Second)
		s.sweep()
		if got := s.names("site"); got != "" || s.tracker.Stats().Connections != 1 {
			t.Errorf("got %q online and %d connections, want nobody and the watcher's", got, s.tracker.Stats().Connections)
		}
		for len(watcher) > 0 {
			if e := <-watcher; e.typ != "diff" || len(e.data.Joins) > 0 {
				t.Errorf("the others see %+v, want nothing of alice", e)
			}
		}
		if got := s.tracker.Stats().Aborted; got != 1 {
			t.Errorf("got %d connections counted as given up, want 1", got)
		}
	})
}
