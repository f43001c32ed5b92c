package track_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

func threads(n int) []presence.Topic {
	topics := make([]presence.Topic, n)
	for i := range topics {
		topics[i] = presence.Topic(fmt.Sprint("thread:", i))
	}
	return topics
}

// Figures of loaded topics come from memory, and those of all others in one round trip, which
// is remembered for half a second. No topic is loaded for them.
func TestCountsOfManyTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a, b := start(t, faults, track.Config{}), start(t, memstore.New(), track.Config{})
		openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:7"}})
		for i, topic := range threads(100) {
			for j := range i % 3 {
				a.Seen(topic, user(fmt.Sprint("u", j)), presence.Device{})
			}
			a.SeenGuest(topic, "g")
		}
		time.Sleep(2 * time.Second)
		faults.Break(presencetest.Fault{Delay: 10 * time.Millisecond}, presencetest.CallCounts)
		time.Sleep(time.Second - 100*time.Millisecond) // away from the housekeeping's calls
		synctest.Wait()
		for _, tc := range []struct {
			when  string
			pause time.Duration
			calls int
		}{{"at first", 0, 1}, {"again", 100 * time.Millisecond, 0}, {"much later", 510 * time.Millisecond, 1}} {
			time.Sleep(tc.pause)
			before := faults.Calls(presencetest.CallCounts)
			house := time.Now()
			counts, err := a.Counts(t.Context(), threads(100)...)
			if err != nil || len(counts) != 100 {
				t.Fatalf("%s: got %d figures, %v", tc.when, len(counts), err)
			}
			if got := faults.Calls(presencetest.CallCounts) - before; got != tc.calls {
				t.Errorf("%s: got %d calls in %v, want %d", tc.when, got, time.Since(house), tc.calls)
			}
			for i, c := range counts {
				if want := (backend.Counts{Total: i % 3, Recent: i % 3, Guests: 1}); !reflect.DeepEqual(c, want) {
					t.Errorf("%s: got %+v of thread %d, want %+v", tc.when, c, i, want)
				}
			}
		}
		if got := a.Stats().Topics; got != 1 {
			t.Errorf("got %d topics kept current, want the one that is streamed", got)
		}
		if counts, err := b.Counts(t.Context()); err != nil || len(counts) != 0 {
			t.Errorf("got %v, %v of no topics", counts, err)
		}
	})
}

// What is in memory is right while the store is out; the rest is marked, and the error says
// so. A page waits 50 ms for it.
func TestCountsWhileTheStoreIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:0"}})
		a.Seen("thread:0", user("alice"), presence.Device{})
		time.Sleep(time.Second)
		for _, fault := range []presencetest.Fault{{Err: errors.New("out")}, {Delay: time.Minute}} {
			faults.Break(fault, presencetest.CallCounts)
			began := time.Now()
			counts, err := a.Counts(t.Context(), threads(2)...)
			if !errors.Is(err, presence.ErrStoreOut) || time.Since(began) > 50*time.Millisecond {
				t.Errorf("got %v after %v, want ErrStoreOut after 50ms at most", err, time.Since(began))
			}
			if counts[0].Total != 1 || counts[0].Unknown || !reflect.DeepEqual(counts[1], backend.Counts{Unknown: true}) {
				t.Errorf("got %+v, want one online, and unknown", counts)
			}
		}
		faults.Heal()
		if counts, err := a.Counts(t.Context(), threads(2)...); err != nil || counts[1].Unknown {
			t.Errorf("got %+v, %v when the store was back", counts, err)
		}
	})
}

func TestCountsRemembersABoundedNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{})
		for range 3 {
			if _, err := a.Counts(t.Context(), threads(15_000)...); err != nil {
				t.Fatal(err)
			}
			if got := a.FiguresKept(); got > 10_000 || got < 5_000 {
				t.Errorf("got the figures of %d topics, want 5,000 to 10,000", got)
			}
			time.Sleep(1100 * time.Millisecond)
			if got := a.FiguresKept(); got > 0 {
				t.Errorf("got the figures of %d topics two ages later, want none", got)
			}
		}
	})
}
