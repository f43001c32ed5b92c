package redisstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
	"github.com/rollcall-go/rollcall/presence/track"
)

// restingTopics are those of a node at rest: the site, and three threads.
var restingTopics = []presence.Topic{presence.Site, "thread:1", "thread:2", "thread:3"}

// At rest a node makes few commands a second, whatever number of topics it shows: two for
// figures, three for the sweep, two for notices. A script counts as one.
func TestCommandsAtRest(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	store := redisstore.New(storeclock.Client{UniversalClient: redistest.Start(t).Client(), Now: func() time.Time { return clock }}, redisstore.Config{Timeout: patience})
	defer store.Close()
	var batches []backend.Batch
	for _, topic := range restingTopics {
		batches = append(batches, backend.Batch{Topic: topic, Ops: ops(backend.OpJoin, 0, 3, 0, time.Hour)})
	}
	store.Apply(t.Context(), batches)
	for _, one := range []struct {
		name string
		most uint64
		do   func() error
	}{
		{"figures", 1, func() error { return errorOf(store.Counts(t.Context(), restingTopics...)) }},
		{"sweep", 4, func() error { return errorOf(store.Sweep(t.Context(), backend.SweepOptions{Limit: 100})) }},
	} {
		for _, warm := range []bool{false, true} { // at first the server does not know the scripts
			clock = clock.Add(2 * time.Second)
			before := store.Stats().Commands
			noError(t, one.do())
			if got := store.Stats().Commands - before; warm && got > one.most {
				t.Errorf("%s: got %d commands, want at most %d", one.name, got, one.most)
			}
		}
	}
}

// BenchmarkAtRest counts the commands of a node at rest with four topics, a second.
func BenchmarkAtRest(b *testing.B) {
	m := newMeter(b)
	tracker, err := track.New(m.store, track.Config{Node: "a"})
	noError(b, err)
	defer tracker.Close(b.Context())
	c, err := tracker.Connect(b.Context(), track.ConnectOptions{Visitor: presence.Visitor{User: presence.User{ID: "alice"}}, Topics: restingTopics})
	noError(b, err)
	defer c.Close()
	time.Sleep(2 * time.Second)
	before, began := m.store.Stats().Commands, time.Now()
	for b.Loop() {
		time.Sleep(time.Second)
		if _, err := tracker.Sweep(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(m.store.Stats().Commands-before)/time.Since(began).Seconds(), "commands/s")
}
