package handlers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

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

// A server that waits for ever for the header of a request is found when a client on the internet opens a stream. The
// timeouts of a proxy, and of a test, are not the server's.
func TestNoTimeouts(t *testing.T) {
	const client, never = "203.0.113.7:1", time.Duration(-1)
	for _, tt := range []struct {
		from          string
		header, reads time.Duration
		found         bool
	}{
		{from: client, found: true},
		{from: "[2001:db8::1]:1", found: true},
		{from: client, header: time.Second},
		{from: client, reads: time.Second},
		{from: client, header: never}, // the site has decided
		{from: "127.0.0.1:1"},
		{from: "10.0.0.1:1"},
		{from: "@"}, // the socket of a proxy
	} {
		over(t, allTransports, func(t *testing.T, over transport) {
			s := newSite(t, setup{wrap: fromHeader, server: func(server *http.Server) {
				server.ReadHeaderTimeout, server.ReadTimeout = tt.header, tt.reads
			}})
			r := request{path: "topic=site", user: "alice", header: map[string]string{"X-Addr": tt.from}}
			if _, warnings := s.notes(over, r); warnings != nil {
				t.Errorf("%+v: got the warnings %q, want none: a visitor need not know", tt, warnings)
			}
			want := map[presence.Finding]uint64{}
			if tt.found {
				want[presence.NoTimeouts] = 1
			}
			s.wantFound(want)
		})
	}
}
