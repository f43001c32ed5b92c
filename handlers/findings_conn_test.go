package handlers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A server that speaks TLS or HTTP/2 by itself and has no ConnContext is told so: in the log,
// and in the welcome of each stream.
func TestNoConnContext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		secure, http2, known bool
		warns                bool
	}{
		{secure: true, http2: true, warns: true},
		{secure: true, http2: true, known: true},
		{secure: true, warns: true},
		{secure: true, known: true},
		{}, // a shard drives the stream
	} {
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
			t.Parallel()
			tracker, err := track.New(memstore.New(), track.Config{Logger: slog.New(slog.DiscardHandler)})
			noError(t, err)
			handler := handlers.New(tracker, handlers.Config{})
			server := httptest.NewUnstartedServer(identify(handler))
			server.EnableHTTP2 = tt.http2
			if tt.known {
				server.Config.ConnContext = handlers.ConnContext
			}
			if tt.secure {
				server.StartTLS()
			} else {
				server.Start()
			}
			t.Cleanup(func() {
				_ = tracker.Close(context.Background())
				_ = handler.Wait(context.Background())
				server.Close()
			})
			resp, err := server.Client().Get(server.URL + "/presence/events?observe=1")
			noError(t, err)
			l := newListener(t, resp)
			defer l.close()
			told := slices.Contains(l.want("welcome").data.Warnings, presence.NoConnContext.Text())
			logged := slices.ContainsFunc(tracker.Staff().Diagnose(), func(d presence.Diagnosis) bool { return d.Finding == presence.NoConnContext })
			if told != tt.warns || logged != tt.warns {
				t.Errorf("%s: got %v in the welcome and %v in the diagnosis, want %v", resp.Proto, told, logged, tt.warns)
			}
		})
	}
}
