package track_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A slowStatuses loses what users chose when it is wiped. It may hold back the answer.
type slowStatuses struct {
	*swapStore
	holds atomic.Bool
	hold  chan struct{}
}

func (s *slowStatuses) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	all, err := s.now().Statuses(ctx, users...)
	if s.holds.Load() {
		<-s.hold
	}
	return all, err
}

func (s *slowStatuses) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	return s.now().PutStatus(ctx, user, c, again)
}

// Node c knows that Alice hides. The store is wiped, and a new node has asked it what she chose. It learns of the loss before the
// answer comes, which says that she chose nothing.
func TestAnswerOfAWipedStore(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newSwapStore()
		slow := &slowStatuses{swapStore: store, hold: make(chan struct{})}
		c := start(t, &slowStatuses{swapStore: store}, track.Config{Node: "c"})
		choose(t, c, "alice", presence.Invisible)
		time.Sleep(12 * time.Minute) // no notice tells it any more
		b := start(t, slow, track.Config{Node: "b"})
		openPage(t, b, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		time.Sleep(10 * time.Second)
		slow.holds.Store(true)
		store.wipe()
		b.Seen("thread:1", user("alice"), presence.Device{})
		time.Sleep(20 * time.Millisecond)
		c.Hear(backend.Notice{Missed: time.Second})
		b.Hear(backend.Notice{Missed: time.Second})
		time.Sleep(20 * time.Millisecond)
		slow.holds.Store(false)
		close(slow.hold)
		for range 200 {
			time.Sleep(500 * time.Millisecond)
			if who := stored(t, store, "thread:1"); who != "" {
				t.Fatalf("the store shows %q, want an invisible user hidden", who)
			}
		}
	})
}

// Alice ends the session of her last device, which signs her out, and the store is slow. She signs in with her phone meanwhile, and
// stays.
func TestSignsInAsTheLastSessionEnds(t *testing.T) {
	for _, after := range []time.Duration{20 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second} {
		bubble(t, after.String(), func(t *testing.T) {
			d := newTown(t)
			faults := presencetest.NewFaults(d.store)
			d.a = start(t, faults, track.Config{Node: "c", Directory: d.directory})
			connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "laptop")})
			openPage(t, d.a, track.ConnectOptions{})
			d.wantSessions("alice", "laptop 1")
			faults.Break(presencetest.Fault{Delay: 3 * time.Second}, presencetest.CallApply)
			done := make(chan error)
			go func() { done <- d.a.People().EndSession(context.Background(), "alice", "laptop") }()
			time.Sleep(after)
			phone := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "phone")})
			<-done
			time.Sleep(2 * time.Second)
			if err := phone.Err(); err != nil {
				t.Errorf("%v after the end of her last session she signs in, and the page ends: %v", after, err)
			}
		})
	}
}
