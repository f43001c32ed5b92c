package track_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// figures reads a connection until nothing is left, and returns the events as "type total
// guests".
func figures(t *testing.T, c *track.Connection) (told []string) {
	t.Helper()
	for {
		select {
		case <-c.Ready():
		default:
			return told
		}
		for _, e := range c.Events(nil) {
			var d payload
			noError(t, json.Unmarshal(e.Data, &d))
			told = append(told, fmt.Sprintf("%s %d %d", e.Type, d.Total, d.Guests))
		}
	}
}

// A guest becomes a user in one diff window, for the readers of each node: not half a
// second later. Who signs out is a guest again within three seconds. Nobody sees anything
// else.
func TestSignInIsOneRebinding(t *testing.T) {
	for _, topic := range []presence.Topic{presence.Site, "thread:1"} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			a, b := pair(t, store)
			readers := make(map[string]*track.Connection)
			for name, tracker := range map[string]*track.Tracker{"a": a, "b": b} {
				readers[name] = connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{topic}})
			}
			a.SeenGuest(topic, "g")
			connect(t, b, track.ConnectOptions{Topics: []presence.Topic{topic}, Visitor: guestOf("g")})
			time.Sleep(2100 * time.Millisecond) // housekeeping is between two looks
			for _, c := range readers {
				figures(t, c)
			}
			want := func(when string, want ...string) {
				t.Helper()
				synctest.Wait()
				for name, c := range readers {
					if got := figures(t, c); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s, %s: the reader at %s got %q, want %q", topic, when, name, got, want)
					}
				}
			}
			a.GuestSignedIn(topic, "g")
			a.Seen(topic, user("alice"), presence.Device{})
			time.Sleep(a.Config().MergeWindow)
			want("signed in", "diff 1 0", "heartbeat 1 0")
			time.Sleep(time.Minute)
			want("later")

			time.Sleep(100 * time.Millisecond)
			noError(t, a.SignOut(t.Context(), "alice"))
			a.SeenGuest(topic, "g")
			time.Sleep(3 * time.Second)
			want("signed out", "diff 0 0", "heartbeat 0 1")
		})
	}
}

// However many sign in at once, each node asks the store for figures once more.
func TestSignInsShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		stores := []*presencetest.Faults{presencetest.NewFaults(memory), presencetest.NewFaults(memory)}
		a, b := start(t, stores[0], track.Config{Node: "a"}), start(t, stores[1], track.Config{Node: "b"})
		for _, tracker := range []*track.Tracker{a, b} {
			connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{presence.Site, "shop"}})
		}
		time.Sleep(2100 * time.Millisecond)
		before := []int{stores[0].Calls(presencetest.CallCounts), stores[1].Calls(presencetest.CallCounts)}
		for i := range 100 {
			a.GuestSignedIn(presence.Site, fmt.Sprint("g", i))
			a.GuestSignedIn("shop", fmt.Sprint("g", i))
			a.GuestSignedIn(presence.Topic(fmt.Sprint("nobody:", i)), fmt.Sprint("g", i)) // nobody reads it here
		}
		time.Sleep(300 * time.Millisecond)
		for i, store := range stores {
			if got := store.Calls(presencetest.CallCounts) - before[i]; got != 1 {
				t.Errorf("node %d asked %d times, want once", i, got)
			}
		}
		time.Sleep(time.Hour)
		if got, most := stores[0].Calls(presencetest.CallCounts)-before[0], 2*3602; got > most {
			t.Errorf("the node asked %d times in an hour, want %d at most", got, most)
		}
	})
}

// askedStore remembers how many topics each call of Counts is about.
type askedStore struct {
	backend.Store
	mu    sync.Mutex
	asked []int
}

func (s *askedStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	s.mu.Lock()
	s.asked = append(s.asked, len(topics))
	s.mu.Unlock()
	return s.Store.Counts(ctx, topics...)
}

// take returns what was asked since the last call.
func (s *askedStore) take() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// The call is about topics that somebody here reads, and about a bounded number of them.
func TestSignInsAskForAFewTopics(t *testing.T) {
	for read, want := range map[int]int{3: 3, 200: track.MaxChanged} {
		synctest.Test(t, func(t *testing.T) {
			store := &askedStore{Store: memstore.New()}
			tracker := start(t, store, track.Config{MaxTopicsPerConnection: 200})
			var topics []presence.Topic
			for i := range read {
				topics = append(topics, presence.Topic(fmt.Sprint("read:", i)))
			}
			connect(t, tracker, track.ConnectOptions{Topics: topics})
			time.Sleep(2100 * time.Millisecond)
			store.take()
			for i := range 300 {
				tracker.GuestSignedIn(presence.Topic(fmt.Sprint("read:", i)), fmt.Sprint("g", i))
			}
			time.Sleep(300 * time.Millisecond)
			if got := store.take(); fmt.Sprint(got) != fmt.Sprint([]int{want}) {
				t.Errorf("%d topics: got calls about %v topics, want one about %d", read, got, want)
			}
		})
	}
}

// Figures change at most twice a second, however many sign in.
func TestFiguresOfManySignIns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		reader := connect(t, tracker, track.ConnectOptions{})
		for i := range 400 {
			tracker.SeenGuest(presence.Site, fmt.Sprint("g", i))
		}
		time.Sleep(2 * time.Second)
		figures(t, reader)
		before := faults.Calls(presencetest.CallCounts)
		var at []time.Time
		for i := range 200 {
			tracker.GuestSignedIn(presence.Site, fmt.Sprint("g", i))
			time.Sleep(31 * time.Millisecond)
			synctest.Wait()
			for range figures(t, reader) {
				at = append(at, time.Now())
			}
		}
		if len(at) < 10 {
			t.Errorf("got %d heartbeats in six seconds, want two a second", len(at))
		}
		for i := 2; i < len(at); i++ {
			if gap := at[i].Sub(at[i-2]); gap < 850*time.Millisecond {
				t.Errorf("got three heartbeats in %v, want two a second", gap)
			}
		}
		if got := faults.Calls(presencetest.CallCounts) - before; got > 30 {
			t.Errorf("the node asked %d times in six seconds, want four times a second at most", got)
		}
	})
}

// A store that does not answer holds up nothing, and calls do not pile up.
func TestSignInsDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		connect(t, tracker, track.ConnectOptions{})
		time.Sleep(2 * time.Second)
		faults.Break(presencetest.Fault{Hang: true})
		before := faults.Calls(presencetest.CallCounts)
		for i := range 100 {
			tracker.GuestSignedIn(presence.Site, fmt.Sprint("g", i))
			time.Sleep(10 * time.Millisecond)
		}
		if got := faults.Calls(presencetest.CallCounts) - before; got > 3 {
			t.Errorf("got %d calls in a second, want one that waits, and housekeeping's", got)
		}
		faults.Heal()
	})
}
