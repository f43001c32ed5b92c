package handlers_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A node is ready but while it drains, and while the store has been out for longer than
// the ttl. It is live as long as it answers.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		tracker, err := track.New(store, track.Config{TTL: 30 * time.Second, Logger: slog.New(slog.DiscardHandler)})
		noError(t, err)
		health := handlers.New(tracker, handlers.Config{}).Health()
		ask := func(when string, ready int, text string) {
			t.Helper()
			for target, want := range map[string]int{"/healthz": ready, "/healthz?live": 200} {
				w := httptest.NewRecorder()
				health.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
				body, _ := io.ReadAll(w.Body)
				if w.Code != want || want == ready && want != 200 && string(body) != text || w.Header().Get("Cache-Control") != "no-store" {
					t.Errorf("%s, %s: got %d, %q and the headers %v, want %d, %q and no-store", when, target, w.Code, body, w.Header(), want, text)
				}
			}
		}
		time.Sleep(time.Minute)
		ask("at rest", 200, "")
		store.Break(presencetest.Fault{Err: errors.New("connection refused")}, presencetest.AllCalls()...)
		time.Sleep(29 * time.Second)
		ask("Redis restarts", 200, "")
		time.Sleep(3 * time.Second)
		ask("Redis is out", 503, "the store has been out for longer than the ttl\n")
		store.Heal()
		time.Sleep(5 * time.Second)
		ask("Redis is back", 200, "")
		noError(t, tracker.Close(context.Background()))
		ask("draining", 503, "stopping\n")
	})
}
