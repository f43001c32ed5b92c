package track_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// An outage in which a lease of the shortest kind may have expired is a long one, and nobody
// sweeps for as long as the nodes need to renew the leases of the longest kind.
func TestOutageAsksAllKinds(t *testing.T) {
	for _, tc := range []struct {
		topic  presence.Topic
		outage time.Duration
		later  time.Duration // node a finds the store back, after node b
	}{
		{"edit:1", 2900 * time.Millisecond, 600 * time.Millisecond},
		{"room:1", 70 * time.Second, 5 * time.Second},
	} {
		bubble(t, string(tc.topic), func(t *testing.T) {
			store := memstore.New()
			faults := map[string]*presencetest.Faults{"a": presencetest.NewFaults(store), "b": presencetest.NewFaults(store)}
			cfg := track.Config{TTL: 30 * time.Second, Kinds: map[string]presence.Kind{
				"edit": {TTL: 3 * time.Second}, "room": {TTL: time.Minute},
			}}
			a, b := start(t, faults["a"], cfg), start(t, faults["b"], cfg)
			w := openPage(t, b, track.ConnectOptions{Topics: []presence.Topic{tc.topic}})
			w.want("state ")
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{tc.topic}})
			w.want("diff +alice -")
			time.Sleep(time.Minute)
			w.want()
			for _, f := range faults {
				f.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.AllCalls()...)
			}
			time.Sleep(tc.outage)
			faults["b"].Heal()
			time.Sleep(tc.later)
			if _, err := b.Sweep(t.Context()); err != nil {
				t.Errorf("got %v, want that the store is back", err)
			}
			faults["a"].Heal()
			time.Sleep(2 * time.Minute)
			w.want() // nobody swept her lease before she renewed it
		})
	}
}

// After a loss of data a user whose end is lost leaves once the nodes have had the time to restore leases, whatever
// the times of the topic's kind are; and a user who had left is not back.
func TestLostDataOfAKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a := start(t, store, track.Config{Kinds: map[string]presence.Kind{"edit": {TTL: 3 * time.Second}}})
		w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"edit:1"}})
		w.want("state ")
		goes := connect(t, a, track.ConnectOptions{Visitor: visitor("goes"), Topics: []presence.Topic{"edit:1"}})
		w.want("diff +goes -")
		goes.Drop()
		store.wipe()
		time.Sleep(20 * time.Second)
		w.want("diff + -", "diff + -goes")
	})
	synctest.Test(t, func(t *testing.T) {
		const room = presence.Topic("room:1")
		store := newLaggingStore()
		faults := presencetest.NewFaults(store)
		cfg := track.Config{Kinds: map[string]presence.Kind{"room": {TTL: 2 * time.Minute, Grace: time.Minute}}}
		a, b := start(t, store, cfg), start(t, faults, cfg)
		w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{room}})
		w.want("state ")
		closes := connect(t, a, track.ConnectOptions{Visitor: visitor("closes"), Topics: []presence.Topic{room}})
		w.want("diff +closes -")
		drops := connect(t, b, track.ConnectOptions{Visitor: visitor("drops"), Topics: []presence.Topic{room}})
		w.want("diff +drops -")
		store.lag()
		closes.Close()
		drops.Drop()
		w.want("diff + -drops")
		time.Sleep(20 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown})
		store.failover()
		time.Sleep(3 * time.Second)
		w.want("diff + -")
		time.Sleep(20 * time.Second)
		if got := w.read(); !slices.Contains(got, "diff + -closes") {
			t.Errorf("got %q, want that closes leaves", got)
		} // with the generation of its node
		time.Sleep(2 * time.Minute)
		w.want() // drops is not back
	})
}
