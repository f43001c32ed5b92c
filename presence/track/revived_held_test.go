package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A failover brings back Bob, who had left, and he comes again to a node. That node shows him at once, in its
// rosters and to those who watch him, whether he comes before it has read the topic again or after. Whoever has
// not come again stays out.
func TestRevivedWhoComesAgainIsShown(t *testing.T) {
	for name, wait := range map[string]time.Duration{"before the topic is read again": 100 * time.Millisecond, "after": 4 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newLaggingStore()
				c := startCrowd(t, store, presencetest.NewMemoryDirectory())
				connect(t, c.Tracker, track.ConnectOptions{Visitor: on("stays", "1")}) // the node finds the loss
				bob := connect(t, c.Tracker, track.ConnectOptions{Visitor: on("bob", "1")})
				carol := connect(t, c.Tracker, track.ConnectOptions{Visitor: on("carol", "1")})
				c.settle()
				roster := openPage(t, c.Tracker, track.ConnectOptions{Observe: true})
				roster.want("state bob,carol,stays")
				people := c.watch("alice", "bob", "carol")
				people.want("state bob,carol")
				time.Sleep(time.Second)

				store.lag()
				bob.Drop()
				carol.Drop()
				c.settle()
				roster.want("diff + -bob,carol")
				people.want("diff + -bob,carol")
				store.failover()
				time.Sleep(wait)
				back := connect(t, c.Tracker, track.ConnectOptions{Visitor: on("bob", "1")})
				time.Sleep(5*time.Second - wait)
				for topic, p := range map[string]*page{string(presence.Site): roster, string(presence.PeopleTopic): people} {
					p.skip()
					if p.roster[topic]["bob"] == "" || p.roster[topic]["carol"] != "" {
						t.Errorf("%s has %v 5 s after the failover, want bob, and not carol", topic, p.roster[topic])
					}
				}
				time.Sleep(2 * time.Minute)
				roster.skip()
				people.want()
				back.Drop()
				c.settle()
				roster.want("diff + -bob")
				people.want("diff + -bob")
			})
		})
	}
}

// A failover brings back Bob as everybody saw him. He has hidden from strangers since, and left, and comes again.
// A stranger is told nothing.
func TestRevivedWhoHidSinceStaysHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLaggingStore()
		c := startCrowd(t, store, presencetest.NewMemoryDirectory())
		connect(t, c.Tracker, track.ConnectOptions{Visitor: on("stays", "1")})
		bob := connect(t, c.Tracker, track.ConnectOptions{Visitor: on("bob", "1")})
		c.settle()
		page := c.watch("alice", "bob")
		page.want("state bob")
		store.lag()
		noError(t, c.People().ChangeSettings(t.Context(), "bob", to(forFriends)))
		time.Sleep(time.Second)
		page.want("diff + -bob")
		bob.Drop()
		c.settle()
		store.failover()
		time.Sleep(100 * time.Millisecond)
		connect(t, c.Tracker, track.ConnectOptions{Visitor: on("bob", "1")})
		time.Sleep(2 * time.Minute)
		page.want()
	})
}
