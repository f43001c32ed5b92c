package track_test

import (
	"errors"
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

// hidings are the ways in which a user hides from everybody.
var hidings = map[string]presence.Settings{
	"invisible": {Status: presence.Invisible},
	"nobody":    {Online: presence.Nobody},
}

// The same with people: the node could not read the devices when the user hid there.
func TestPeopleThatAreLoadedAfterAUserHid(t *testing.T) {
	for name, hides := range hidings {
		bubble(t, name, func(t *testing.T) {
			store := memstore.New()
			way, blind := presencetest.NewFaults(store), presencetest.NewFaults(store)
			d := &town{t: t, store: way, directory: presencetest.NewMemoryDirectory()}
			b := d.node("b")
			connect(t, b, track.ConnectOptions{Visitor: on("alice", "phone")})
			time.Sleep(time.Minute)
			blind.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.CallSnapshot)
			d.store = blind
			a := d.node("a")
			time.Sleep(time.Second)
			way.Break(presencetest.Fault{Hang: true})
			way.Disturb(presencetest.Disturbance{Delay: 20 * time.Second})
			d.choose(a, "alice", hides)
			blind.Heal()
			for reads := blind.Calls(presencetest.CallSnapshot); blind.Calls(presencetest.CallSnapshot) == reads; {
				time.Sleep(10 * time.Millisecond) // until it has read them
			}
			people := openPage(t, a, peopleOptions("bob", "alice"))
			people.want("state ")
			time.Sleep(time.Second)
			people.want()
			way.Heal()
			time.Sleep(2 * time.Minute)
			people.want()
			d.choose(a, "alice", presence.Settings{})
			time.Sleep(time.Second)
			people.want("diff +alice -")
		})
	}
}

// The same with people, where the node learns of the device after it heard that its user hid, and the store takes no
// writes.
func TestPeopleThatAreToldLateOfAUserWhoHid(t *testing.T) {
	for how, disturbance := range map[string]presencetest.Disturbance{
		"the diff is late":          {Delay: time.Second},
		"the log has the diff":      {Lose: 1},
		"the log has lost the diff": {Lose: 1},
	} {
		for name, hides := range hidings {
			bubble(t, how+"/"+name, func(t *testing.T) {
				store := memstore.New()
				way, late := presencetest.NewFaults(store), presencetest.NewFaults(store)
				d := &town{t: t, store: late, directory: presencetest.NewMemoryDirectory()}
				a := d.node("a")
				d.store = way
				b := d.node("b")
				people := openPage(t, a, peopleOptions("bob", "alice"))
				people.want("state ")
				time.Sleep(time.Minute)
				late.Disturb(disturbance)
				if how == "the log has lost the diff" {
					late.Break(presencetest.Fault{Err: presence.ErrGap, Times: 1}, presencetest.CallLog)
				}
				connect(t, b, track.ConnectOptions{Visitor: on("alice", "phone")})
				time.Sleep(300 * time.Millisecond)
				way.Break(presencetest.Fault{Hang: true})
				way.Disturb(presencetest.Disturbance{Delay: 20 * time.Second})
				late.Disturb(presencetest.Disturbance{})
				d.choose(a, "alice", hides)
				late.Break(presencetest.Fault{Err: errors.New("read only")}, presencetest.CallApply)
				time.Sleep(6 * time.Second)
				people.want()
				if !a.KnowsDevice("alice", "phone") {
					t.Error("the node does not know the device")
				}
				late.Heal()
				way.Heal()
				time.Sleep(2 * time.Minute)
				people.want()
				d.choose(a, "alice", presence.Settings{})
				time.Sleep(time.Second)
				people.want("diff +alice -")
			})
		}
	}
}
