package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A visitor who may see a topic and not enter it reads the topic, and is held online and
// counted in the connection's other topics alone: by the connection, by beats here and
// elsewhere, after a wipe, and after a later subscription.
func TestObservedTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := pair(t, store)
		asked := make(map[presence.Topic]int)
		observed := func(topic presence.Topic) bool {
			asked[topic]++
			return topic.Kind() == "staff"
		}
		topics := []presence.Topic{presence.Site, "staff:1"}
		alice := openPage(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: topics, Observed: observed})
		guest := connect(t, a, track.ConnectOptions{Visitor: guestOf("g"), Topics: topics, Observed: observed})
		for _, c := range []*track.Connection{alice.conn, guest} {
			for _, topic := range []presence.Topic{"staff:2", "thread:1"} {
				noError(t, c.Subscribe(t.Context(), topic, ""))
			}
		}
		want := func(when string) {
			t.Helper()
			time.Sleep(time.Second)
			for topic, n := range map[presence.Topic]int{presence.Site: 1, "thread:1": 1, "staff:1": 0, "staff:2": 0} {
				counts, err := store.Counts(t.Context(), topic)
				if err != nil || counts[0].Total != n || counts[0].Guests != n {
					t.Errorf("%s: got %+v, %v in %s, want %d users and guests", when, counts, err, topic, n)
				}
			}
		}
		want("at first")
		time.Sleep(time.Minute)
		want("after the node's beats")
		for _, tracker := range []*track.Tracker{a, b} {
			if alive, err := tracker.Beat(t.Context(), alice.conn.Token(), visitor("alice"), track.Page{Joined: true}); !alive || err != nil {
				t.Errorf("got %v, %v of a beat", alive, err)
			}
		}
		want("after beats")
		store.wipe()
		time.Sleep(time.Minute)
		want("after a wipe")
		for topic, n := range asked {
			if n != 2 {
				t.Errorf("was asked %d times about %s, want once a connection", n, topic)
			}
		}
		alice.read()
		b.Seen("staff:1", user("carol"), presence.Device{})
		alice.want("diff +carol -")
		noError(t, a.SetStatus(t.Context(), "alice", presence.Busy))
		alice.conn.Unsubscribe("staff:2")
		alice.conn.Close()
		time.Sleep(time.Second)
		if s, err := store.Sightings(t.Context(), "staff:1", "alice"); err != nil || !unknown(s[0]) {
			t.Errorf("got %+v, %v of alice, want that she never was there", s, err)
		}
		if s, err := store.Sightings(t.Context(), "staff:2", "alice"); err != nil || !unknown(s[0]) {
			t.Errorf("got %+v, %v of alice, want that she never was there", s, err)
		}
	})
}

// A connection that only watches is to its user's page views as if it were not there.
func TestObservedTopicsVoidNoPageView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newSwapStore(), track.Config{})
		w := watch(t, tracker)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		since := time.Now()
		c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Observed: func(presence.Topic) bool { return true }})
		time.Sleep(time.Second)
		if tracker.NeedsSeen(presence.Site, "alice", since) {
			t.Error("a connection that holds nobody asks for another page view")
		}
		c.Close()
		w.want("diff +alice -")
		time.Sleep(4 * time.Minute)
		w.want()
		time.Sleep(2 * time.Minute)
		w.want("diff + -alice")
	})
}
