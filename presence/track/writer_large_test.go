package track_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// largest notes how many operations a call has at most.
type largest struct {
	backend.Store
	most int
}

func (s *largest) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	ops := 0
	for _, b := range batches {
		ops += len(b.Ops)
	}
	s.most = max(s.most, ops)
	return s.Store.Apply(ctx, batches)
}

// After an outage much waits, in one topic or in many. It is written in several calls, each in time, and all of it also if the
// tracker closes.
func TestMuchIsWrittenInParts(t *testing.T) {
	const users = 10_000
	for _, topics := range []int{1, 1000} {
		for _, closes := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New()
				calls := &largest{Store: memory}
				way := presencetest.NewFaults(calls)
				a := start(t, way, track.Config{Node: "a"})
				for i := range users { // so that the choice of each is known
					connect(t, a, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i)), Observe: true})
				}
				way.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
				for i := range users {
					a.Seen(presence.Topic(fmt.Sprint("thread:", i%topics)), user(fmt.Sprint("u", i)), presence.Device{})
				}
				time.Sleep(10 * time.Second)
				calls.most = 0
				way.Heal()
				if closes {
					noError(t, a.Close(context.Background()))
				} else {
					time.Sleep(5 * time.Second)
				}
				online := 0
				for i := range topics {
					counts, err := memory.Counts(t.Context(), presence.Topic(fmt.Sprint("thread:", i)))
					noError(t, err)
					online += counts[0].Total
				}
				if online != users || calls.most > maxParts {
					t.Errorf("%d topics, closes %v: %d users are there, want %d; a call has %d operations, want 4,000 or so", topics, closes, online, users, calls.most)
				}
			})
		}
	}
}

// maxParts is the most operations that a call has: those of one user may be over the bound.
const maxParts = 4100

// A visit that is written in a new generation is not dropped, although the writer is full.
func TestVisitOfAFullWriter(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := memstore.New()
		way := presencetest.NewFaults(store)
		a, b := start(t, store, track.Config{Node: "a"}), start(t, way, track.Config{Node: "b"})
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		beats := func(n int) {
			for range n {
				time.Sleep(15 * time.Second)
				if alive, err := b.Beat(t.Context(), page.Token(), visitor("alice"), track.Page{}); err != nil || !alive {
					t.Fatalf("a beat: got %v, %v", alive, err)
				}
			}
		}
		beats(5)
		way.Break(presencetest.Fault{Err: errDown})
		time.Sleep(14 * time.Second)
		b.PendAtMost(0)
		way.Heal()
		time.Sleep(3 * time.Second)
		b.PendAtMost(100_000)
		beats(12)
	})
}
