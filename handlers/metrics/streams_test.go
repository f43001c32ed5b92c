package metrics_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/metrics"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The handler's figures stand beside the tracker's.
func TestStreams(t *testing.T) {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		t.Fatal(err)
	}
	handler := handlers.New(tracker, handlers.Config{MaxConnectionsPerAddress: 1})
	server := httptest.NewServer(handler)
	defer server.Close()
	defer tracker.Close(context.Background())
	connect(t, tracker, presence.Visitor{}, presence.Site)
	for _, want := range []int{200, 429} {
		res, err := server.Client().Get(server.URL + "/presence/events?topic=site")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != want {
			t.Fatalf("got %d, want %d", res.StatusCode, want)
		}
	}
	collector := metrics.NewCollector(tracker, handler)
	want := map[string]float64{
		"presence_connections{sse}": 1, "presence_connections{websocket}": 0, "presence_connections{poll}": 0, "presence_connections{other}": 1,
		"presence_clients_limited_total": 1, "presence_readers_behind": 0, "presence_slow_readers_cut_total": 0,
	}
	got := values(t, collector)
	sent := func() bool { return got["presence_events_sent_total"] >= 1 && got["presence_sent_bytes_total"] >= 100 }
	for deadline := time.Now().Add(time.Minute); !sent() && time.Now().Before(deadline); got = values(t, collector) {
		time.Sleep(time.Millisecond)
	}
	for name, want := range want {
		if got[name] != want {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
	if !sent() {
		t.Errorf("got %v events of %v bytes, want a state", got["presence_events_sent_total"], got["presence_sent_bytes_total"])
	}
}
