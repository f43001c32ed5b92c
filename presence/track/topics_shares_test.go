package track_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// hoard opens connections from a place, each with two new topics, until one is refused. It returns
// how many topics they keep.
func hoard(t *testing.T, tracker *track.Tracker, tenant, from string) (topics int) {
	t.Helper()
	for n := 0; ; n += 2 {
		o := track.ConnectOptions{Visitor: presence.Visitor{Tenant: tenant, Guest: "g"}, From: from, Partial: true}
		for i := range 2 {
			o.Topics = append(o.Topics, presence.Topic(fmt.Sprint(from, ":", n+i)).In(tenant))
		}
		c, err := tracker.Connect(t.Context(), o)
		if errors.Is(err, presence.ErrTooManyTopicsHere) {
			return topics
		}
		noError(t, err)
		t.Cleanup(c.Close)
		for _, topic := range o.Topics {
			if c.Has(topic) {
				topics++
			}
		}
	}
}

// A place gets half of the table of topics, and another one that comes later a sixteenth of it. So
// three places that take all they can leave room for others, whose pages notice nothing.
func TestTopicsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxTopics: 64})
		early := connect(t, tracker, track.ConnectOptions{Visitor: visitor("early"), Topics: []presence.Topic{presence.Site}, From: "home"})
		for i, want := range []int{31, 4, 4} {
			if got := hoard(t, tracker, "", fmt.Sprint("place-", i)); got != want {
				t.Errorf("place %d keeps %d topics, want %d", i, got, want)
			}
		}
		late := connect(t, tracker, track.ConnectOptions{Visitor: visitor("late"), Topics: []presence.Topic{presence.Site, "thread:42"}, From: "office"})
		if early.Err() != nil || late.Err() != nil || !late.Has("thread:42") {
			t.Error("others notice it")
		}
		// What somebody keeps already costs no share, and what was looked at only does.
		again := connect(t, tracker, track.ConnectOptions{Visitor: visitor("zoe"), Topics: []presence.Topic{"place-0:0"}, From: "place-1"})
		again.Close()
		_, err := tracker.View(t.Context(), "looked-at")
		noError(t, err)
		_, err = tracker.Connect(t.Context(), track.ConnectOptions{Topics: []presence.Topic{"looked-at"}, From: "place-1"})
		if !errors.Is(err, presence.ErrTooManyTopicsHere) {
			t.Errorf("got %v, want ErrTooManyTopicsHere", err)
		}
	})
}

// A tenant gets half of the table, and one that comes later a quarter.
func TestTopicsAreSharedByTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxTopics: 64})
		for tenant, want := range map[string]int{"acme": 32} {
			if got := hoard(t, tracker, tenant, "a"); got != want {
				t.Errorf("%s: got %d topics, want %d", tenant, got, want)
			}
		}
		got := 0
		for i := range 10 {
			got += hoard(t, tracker, "globex", fmt.Sprint("g", i))
		}
		if got != 16 {
			t.Errorf("globex: got %d topics, want 16", got)
		}
		if got := hoard(t, tracker, "initech", "i"); got != 4 {
			t.Errorf("initech: got %d topics, want 4", got)
		}
	})
}

// Shares end with the topics: what nobody keeps any more counts for nobody.
func TestSharesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxTopics: 16})
		for range 3 {
			var open []*track.Connection
			for i := range 8 {
				open = append(open, connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{presence.Topic(fmt.Sprint("t:", i)).In("acme")}, From: "a"}))
			}
			open = append(open, connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{presence.Site}}))
			if n := tracker.TopicShares(); n != 2 {
				t.Errorf("got %d shares, want 2", n)
			}
			for _, c := range open {
				c.Close()
			}
			time.Sleep(3 * time.Minute)
			if n := tracker.TopicShares(); n != 0 {
				t.Errorf("got %d shares after all have gone, want none", n)
			}
		}
	})
}

// How many topics a node keeps follows its memory.
func TestTopicsByMemory(t *testing.T) {
	for bytes, want := range map[int64]int{0: 10_000, 64 << 20: 10_000, 4 << 30: 65_536, 1 << 40: 1_000_000} {
		if got := track.TopicsByMemory(bytes); got != want {
			t.Errorf("%d bytes: got %d topics, want %d", bytes, got, want)
		}
	}
}
