package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A user who hides while the store is out was last seen then, for the streams of that node and,
// once it is back, for the store.
func TestHidesInAnOutageAtThatMoment(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a := start(t, faults, track.Config{Node: "a", Directory: presencetest.NewMemoryDirectory()})
		connect(t, a, track.ConnectOptions{Visitor: on("alice", "laptop"), Topics: []presence.Topic{presence.Site, "thread:1"}})
		w := openPage(t, a, track.ConnectOptions{})
		time.Sleep(5 * time.Second)
		w.read()
		faults.Break(presencetest.Fault{Hang: true})
		time.Sleep(100 * time.Millisecond)
		_ = a.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{Status: presence.Invisible}))
		time.Sleep(10 * time.Second)
		w.read()
		told := w.lastSeen["alice"]
		faults.Heal()
		time.Sleep(10 * time.Second)
		for _, topic := range []presence.Topic{presence.Site, "thread:1"} {
			seen, err := memory.Sightings(t.Context(), topic, "alice")
			noError(t, err)
			if at, err := time.Parse(time.RFC3339Nano, told); err != nil || seen[0].Online || seen[0].LastSeen.Sub(at).Abs() > 100*time.Millisecond {
				t.Errorf("%s: streams tell %q and the store %+v", topic, told, seen[0])
			}
		}
	})
}
