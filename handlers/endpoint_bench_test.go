package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// crowd returns a handler whose site has n users online.
func crowd(b *testing.B, n int) (*handlers.Handler, *track.Tracker) {
	b.Helper()
	tracker, err := track.New(memstore.New(), track.Config{})
	noError(b, err)
	b.Cleanup(func() { tracker.Close(context.Background()) })
	for i := range n {
		id := presence.UserID(fmt.Sprintf("user%05d", i))
		tracker.Seen(presence.Site, presence.User{ID: id, Name: "User " + string(id), Avatar: "/avatars/" + string(id) + ".png"}, presence.Device{})
	}
	for {
		view, err := tracker.View(b.Context(), presence.Site) // an error at first: ten thousand come at once
		if err == nil && view.Total == n && view.Recent == n {
			return handlers.New(tracker, handlers.Config{MaxRate: -1}), tracker
		}
		time.Sleep(time.Millisecond)
	}
}

// nowhere takes an answer and keeps its status.
type nowhere struct {
	header http.Header
	status int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(status int)      { n.status = status }

func benchmarkGet(b *testing.B, h http.Handler, target string, header http.Header, want int) {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header = header
	w := &nowhere{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
		if w.status != want {
			b.Fatalf("got status %d, want %d", w.status, want)
		}
	}
}

// The first page of 10,000 users while nothing changes: what every page of a
// site asks for.
func BenchmarkRosterFirstPage(b *testing.B) {
	h, _ := crowd(b, 10_000)
	benchmarkGet(b, h, "/presence/roster", nil, http.StatusOK)
}

// A page that is not cached: so much costs the first one after each change.
func BenchmarkRosterEncoded(b *testing.B) {
	h, tracker := crowd(b, 10_000)
	view, err := tracker.View(b.Context(), presence.Site)
	noError(b, err)
	_, next, err := view.Page("", "", 5000)
	noError(b, err)
	benchmarkGet(b, h, "/presence/roster?after="+url.QueryEscape(next), nil, http.StatusOK)
}

func BenchmarkRosterNotModified(b *testing.B) {
	h, _ := crowd(b, 10_000)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/presence/roster", nil))
	benchmarkGet(b, h, "/presence/roster", http.Header{"If-None-Match": {w.Header().Get("ETag")}}, http.StatusNotModified)
}

func BenchmarkUsers100(b *testing.B) {
	h, _ := crowd(b, 10_000)
	benchmarkGet(b, h, "/presence/users?"+manyParams("id=user%05d", 100), nil, http.StatusOK)
}

// BenchmarkCounts asks for 100 topics among 10,000 in the store, of which none is in the
// memory of this node.
func BenchmarkCounts(b *testing.B) {
	store := memstore.New()
	for i := range 10_000 {
		topic := presence.Topic(fmt.Sprint("thread:", i))
		store.Apply(b.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{
			{Kind: backend.OpJoin, User: presence.User{ID: "alice"}, Holder: "a.1", For: time.Hour},
		}}})
	}
	tracker, err := track.New(store, track.Config{})
	noError(b, err)
	b.Cleanup(func() { tracker.Close(context.Background()) })
	q := make(url.Values)
	for i := range 100 {
		q.Add("topic", fmt.Sprint("thread:", i*97))
	}
	h := handlers.New(tracker, handlers.Config{MaxRate: -1, Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true }})
	benchmarkGet(b, h, "/presence/counts?"+q.Encode(), http.Header{}, http.StatusOK)
}

// BenchmarkRecent asks for a page of 50 users among 100,000.
func BenchmarkRecent(b *testing.B) {
	store := memstore.New()
	keep := presence.Keep{Names: 200_000}
	for i := range 100_000 {
		id := presence.UserID(fmt.Sprintf("user%06d", i))
		store.Apply(b.Context(), []backend.Batch{{Topic: presence.Site, Keep: keep, Ops: []backend.Op{
			{Kind: backend.OpSeen, User: presence.User{ID: id, Name: "User " + string(id)}, For: time.Hour},
		}}})
	}
	tracker, err := track.New(store, track.Config{Kinds: map[string]presence.Kind{"site": {Recent: 200_000}}})
	noError(b, err)
	b.Cleanup(func() { tracker.Close(context.Background()) })
	h := handlers.New(tracker, handlers.Config{MaxRate: -1})
	for _, within := range []string{"age", "24h"} {
		b.Run(within, func(b *testing.B) {
			benchmarkGet(b, h, "/presence/recent?limit=50&within="+within, http.Header{}, http.StatusOK)
		})
	}
}
