package track_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// BenchmarkReaders is one change, read by 1,000 connections of one group.
func BenchmarkReaders(b *testing.B) {
	const readers = 1000
	store := memstore.New()
	tracker, err := track.New(store, track.Config{MergeWindow: -1})
	noError(b, err)
	defer tracker.Close(b.Context())
	form := track.NewForm(func(b []byte, e presence.Event) []byte { return append(append(b, e.Data...), '\n') })
	g := track.NewGroup()
	for range readers {
		c, err := tracker.Connect(b.Context(), track.ConnectOptions{Topics: []presence.Topic{presence.Site}, Observe: true})
		noError(b, err)
		defer c.Close()
		g.Add(c)
		c.Bytes(form)
	}
	ops := []backend.Op{
		{Kind: backend.OpSeen, User: user("alice"), For: time.Hour},
		{Kind: backend.OpSignOut, User: user("alice")},
	}
	var woken []*track.Connection
	events := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		store.Apply(b.Context(), []backend.Batch{{Topic: presence.Site, Ops: ops[i%2 : i%2+1]}})
		woken = g.Woken(woken[:0])
		for _, c := range woken {
			_, n, _ := c.Bytes(form)
			events += n
		}
	}
	if events < readers*b.N {
		b.Errorf("got %d events read, want %d", events, readers*b.N)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(readers*b.N), "ns/read")
}

// benchTracker returns a tracker that keeps a topic of 100 users current, and its store.
func benchTracker(b *testing.B, directory ...presence.Directory) (*track.Tracker, *memstore.Store) {
	store := memstore.New()
	cfg := track.Config{MergeWindow: -1}
	if len(directory) > 0 {
		cfg.Directory = directory[0]
	}
	tracker, err := track.New(store, cfg)
	noError(b, err)
	b.Cleanup(func() { tracker.Close(b.Context()) })
	for i := range 100 {
		op := backend.Op{Kind: backend.OpJoin, User: user(fmt.Sprint("u", i)), Holder: "x.1", For: time.Hour}
		store.Apply(b.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{op}}})
	}
	return tracker, store
}

// BenchmarkView is a page that looks at a topic.
func BenchmarkView(b *testing.B) {
	tracker, _ := benchTracker(b)
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tracker.View(ctx, presence.Site); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkState is one change, and the state of 100 users after it.
func BenchmarkState(b *testing.B) {
	tracker, store := benchTracker(b)
	c, err := tracker.Connect(b.Context(), track.ConnectOptions{Topics: []presence.Topic{presence.Site}, Observe: true})
	noError(b, err)
	defer c.Close()
	ops := []backend.Op{
		{Kind: backend.OpSeen, User: user("alice"), For: time.Hour},
		{Kind: backend.OpSignOut, User: user("alice")},
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		store.Apply(b.Context(), []backend.Batch{{Topic: presence.Site, Ops: ops[i%2 : i%2+1]}})
		c.WantState(presence.Site)
		if events := c.Events(nil); len(events) != 1 || events[0].Type != presence.EventState {
			b.Fatalf("got %d events, want a state", len(events))
		}
	}
}

// BenchmarkSeen is a page view.
func BenchmarkSeen(b *testing.B) {
	tracker, _ := benchTracker(b)
	alice := user("alice")
	b.ReportAllocs()
	for b.Loop() {
		tracker.Seen(presence.Site, alice, presence.Device{})
	}
}

// BenchmarkSeenDevice is what a page view costs a node that has the settings in memory, beside
// BenchmarkSeen: the device is held as well as the user.
func BenchmarkSeenDevice(b *testing.B) {
	tracker, _ := benchTracker(b, presencetest.NewMemoryDirectory())
	device := presence.Device{ID: "one", Kind: presence.Desktop, Label: "Firefox on Linux"}
	alice := user("alice")
	b.ReportAllocs()
	for b.Loop() {
		tracker.Seen(presence.Site, alice, device)
	}
}

// BenchmarkCounts is a list of 100 topics among 10,000, which are not kept current here: the
// CPU of a page, with a call of the store.
func BenchmarkCounts(b *testing.B) {
	tracker, store := benchTracker(b)
	topics := threads(10_000)
	for _, topic := range topics {
		op := backend.Op{Kind: backend.OpSeen, User: user("alice"), For: time.Hour}
		store.Apply(b.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{op}}})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		from := i * 100 % len(topics)
		if _, err := tracker.Counts(b.Context(), topics[from:from+100]...); err != nil {
			b.Fatal(err)
		}
	}
}
