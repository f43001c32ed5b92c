package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A user hides at one node, while the node that holds the user in a thread does not reach the store. Who
// then begins to read the thread at the first node does not see the user.
func TestTopicThatIsLoadedAfterAUserHid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		way := presencetest.NewFaults(store)
		a, b := start(t, store, track.Config{Node: "a"}), start(t, way, track.Config{Node: "b"})
		connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}})
		time.Sleep(time.Minute)
		way.Break(presencetest.Fault{Hang: true})
		way.Disturb(presencetest.Disturbance{Delay: 20 * time.Second})
		noError(t, a.SetStatus(t.Context(), "alice", presence.Invisible))
		time.Sleep(time.Second)
		r := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		r.want("state ")
		time.Sleep(10 * time.Second)
		way.Heal()
		time.Sleep(2 * time.Minute)
		r.want("diff + -") // to a version that the store has
		noError(t, a.SetStatus(t.Context(), "alice", presence.Busy))
		r.want("diff +alice -")
	})
}
