package track_test

import (
	"context"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// However long the TTL is, no lease expires in an outage of a third of it, whenever it begins: a node that had no
// outage would sweep it.
func TestLeasesOutliveAShortOutage(t *testing.T) {
	for _, ttl := range []time.Duration{3 * time.Second, 6 * time.Second, 15 * time.Second, 24 * time.Second, 45 * time.Second, 3 * time.Minute} {
		bubble(t, ttl.String(), func(t *testing.T) {
			store := memstore.New()
			faults := presencetest.NewFaults(store)
			cfg := track.Config{TTL: ttl, NodeTTL: time.Hour}
			there := start(t, store, cfg)
			here, err := track.New(faults, cfg) // nobody sweeps here
			noError(t, err)
			t.Cleanup(func() { here.Close(context.Background()) })
			w := watch(t, there)
			connect(t, here, track.ConnectOptions{Visitor: visitor("alice")})
			w.want("diff +alice -")
			for range 10 {
				time.Sleep(ttl + ttl/10)
				faults.Break(presencetest.Fault{Err: errDown})
				time.Sleep(ttl/3 - 50*time.Millisecond)
				faults.Heal()
			}
			w.want()
		})
	}
}

// Alice's node ends just before the store hangs for less than a third of a TTL, and her page comes to another node. There
// the store is found back two seconds later than where leases are swept, and her grace has ended. She does not leave.
func TestGraceEndsInAShortOutage(t *testing.T) {
	for late := 100 * time.Millisecond; late < 2500*time.Millisecond; late += 300 * time.Millisecond {
		bubble(t, late.String(), func(t *testing.T) {
			store := memstore.New()
			first, last, ends := presencetest.NewFaults(store), presencetest.NewFaults(store), presencetest.NewFaults(store)
			a, b, c := start(t, first, track.Config{Node: "a"}), start(t, last, track.Config{Node: "b"}), start(t, ends, track.Config{Node: "c"})
			time.Sleep(time.Minute)
			w := watch(t, a)
			connect(t, b, track.ConnectOptions{Observe: true}) // b has the topic
			page := connect(t, c, track.ConnectOptions{Visitor: visitor("alice")})
			w.want("diff +alice -")
			time.Sleep(time.Minute)
			noError(t, c.Close(t.Context()))
			for _, way := range []*presencetest.Faults{first, last, ends} {
				way.Break(presencetest.Fault{Err: errDown})
			}
			connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Cursor: page.Cursor()})
			time.Sleep(11 * time.Second)
			first.Heal()
			time.Sleep(late)
			last.Heal()
			time.Sleep(20 * time.Second)
			w.want()
		})
	}
}
