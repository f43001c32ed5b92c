package track_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// An outage that is longer than the TTL ends with every lease expired in a store
// that forgot nothing. Nobody may be swept before the nodes have had time to say
// who is still there.
func TestOutageLongerThanTheTTL(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault presencetest.Fault
	}{
		{"refuses", presencetest.Fault{Err: errDown}},
		{"hangs", presencetest.Fault{Hang: true}},
	} {
		bubble(t, tc.name, func(t *testing.T) {
			faults := presencetest.NewFaults(memstore.New())
			a, b := pair(t, faults)
			w := watch(t, a)
			connect(t, a, track.ConnectOptions{Visitor: visitor("here")})
			connect(t, b, track.ConnectOptions{Visitor: visitor("there")})
			goes := connect(t, b, track.ConnectOptions{Visitor: visitor("goes")})
			w.skip()
			before := len(w.lines)

			faults.Break(tc.fault)
			time.Sleep(time.Minute)
			goes.Close()
			start(t, faults, track.Config{Node: "new"})
			time.Sleep(2 * time.Minute)
			faults.Heal()
			time.Sleep(40 * time.Second)
			w.read()
			if got, want := w.lines[before:], []string{"diff + -goes"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A page that moves from a node to another during a long outage, as in a deploy,
// leaves a lease that has expired and opens one that waits: whichever node finds
// the store first, nobody sees its user leave.
func TestMoveDuringAnOutage(t *testing.T) {
	for _, first := range []string{"the old node", "the new node"} {
		bubble(t, first+" is back first", func(t *testing.T) {
			store := memstore.New()
			was, is := presencetest.NewFaults(store), presencetest.NewFaults(store)
			a := start(t, was, track.Config{Node: "a"})
			b := start(t, is, track.Config{Node: "b"})
			moves := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			openPage(t, b, track.ConnectOptions{})
			w := openPage(t, a, track.ConnectOptions{})
			w.want("state alice")
			was.Break(presencetest.Fault{Err: errDown})
			is.Break(presencetest.Fault{Err: errDown})
			time.Sleep(time.Minute)
			moves.Close()
			connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(time.Second)
			if first == "the old node" {
				was.Heal()
				time.Sleep(3 * time.Second)
				is.Heal()
			} else {
				is.Heal()
				time.Sleep(3 * time.Second)
				was.Heal()
			}
			time.Sleep(time.Minute)
			w.want()
		})
	}
}

// A node that starts when a long outage ends, and had trouble with the store itself,
// finds every lease expired, and cannot know that their holders are on their way
// back. It sweeps once they have had time for that.
func TestSweepOfAFreshNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		faults := presencetest.NewFaults(store)
		a := start(t, faults, track.Config{})
		connect(t, a, track.ConnectOptions{Visitor: visitor("here")})
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(time.Minute)
		slow := presencetest.NewFaults(store)
		slow.Break(presencetest.Fault{Delay: 500 * time.Millisecond, Times: 1}, presencetest.CallListen)
		fresh := start(t, slow, track.Config{Grace: time.Second})
		w := openPage(t, fresh, track.ConnectOptions{})
		w.want("state here")
		connect(t, fresh, track.ConnectOptions{Visitor: visitor("goes")}).Close()
		time.Sleep(4 * time.Second)
		w.want("diff +goes -")
		faults.Heal()
		time.Sleep(a.Config().TTL)
		w.want("diff + -goes")
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(a.Config().TTL + 2*time.Second)
		w.want("diff + -here")
	})
}

// A store whose calls hang, and then all go well, was out as well: also a sweep
// that began before any call had failed removes nobody. On a cluster it may be
// that writes hang and reads do not.
func TestSweepAfterCallsThatHung(t *testing.T) {
	for _, calls := range [][]presencetest.Call{
		{presencetest.CallApply, presencetest.CallCounts},
		{presencetest.CallApply},
	} {
		bubble(t, fmt.Sprint(calls), func(t *testing.T) {
			store := memstore.New()
			cfg := track.Config{TTL: 3 * time.Second, Node: "a"}
			a := start(t, store, cfg)
			faults := presencetest.NewFaults(store)
			cfg.Node = "b"
			b := start(t, faults, cfg)
			w := watch(t, a)
			connect(t, b, track.ConnectOptions{Visitor: visitor("there")})
			w.want("diff +there -")
			time.Sleep(4 * time.Second) // longer than a fresh node spares anybody
			faults.Break(presencetest.Fault{Delay: 2900 * time.Millisecond}, calls...)
			for range 29 {
				time.Sleep(100 * time.Millisecond)
				_, _ = b.Sweep(t.Context())
			}
			faults.Heal()
			time.Sleep(10 * time.Second)
			w.want()
		})
	}
}

// In a cluster the server of a topic hangs, and those of other keys do not. So a node that only reads the topic renews its
// own lease all the time, and the read that hung succeeds in the end. The node sweeps nobody then: others could not renew
// what they hold.
func TestSweepAfterReadsThatHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		cfg := track.Config{TTL: 3 * time.Second, Node: "a"}
		reads, holds := presencetest.NewFaults(store), presencetest.NewFaults(store)
		a := start(t, reads, cfg)
		cfg.Node = "b"
		b := start(t, holds, cfg)
		w := watch(t, a)
		connect(t, b, track.ConnectOptions{Visitor: visitor("there")})
		w.want("diff +there -")
		time.Sleep(4 * time.Second) // longer than a fresh node spares anybody
		reads.Break(presencetest.Fault{Delay: 2900 * time.Millisecond}, presencetest.CallCounts)
		holds.Break(presencetest.Fault{Delay: 2900 * time.Millisecond}, presencetest.CallCounts, presencetest.CallApply)
		time.Sleep(1600 * time.Millisecond) // sweeps hang too, or remove nobody
		for range 40 {
			_, _ = a.Sweep(t.Context())
			time.Sleep(50 * time.Millisecond)
		}
		reads.Heal()
		holds.Heal()
		time.Sleep(10 * time.Second)
		w.want()
	})
}

// A page whose beats go to another node than its stream stays through an outage in which its
// leases expire: it sends the beat that failed again only after ten seconds.
func TestBeatsElsewhereAfterAnOutage(t *testing.T) {
	for _, later := range []time.Duration{5 * time.Second, 9 * time.Second, 12 * time.Second} {
		bubble(t, fmt.Sprint(later), func(t *testing.T) {
			faults := presencetest.NewFaults(memstore.New())
			a, b := pair(t, faults)
			w := watch(t, a)
			page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
			beat := func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				alive, _ := b.Beat(ctx, page.Token(), visitor("alice"), track.Page{})
				return alive
			}
			for range 4 {
				time.Sleep(15 * time.Second)
				beat()
			}
			w.skip()
			before := len(w.lines)
			faults.Break(presencetest.Fault{Err: errDown})
			for range 9 {
				time.Sleep(8 * time.Second)
				if beat() {
					t.Fatal("beat went well while the store is out")
				}
			}
			faults.Heal()
			time.Sleep(later) // a page that failed beats again within 10 s
			if !beat() {
				page.Close()
				connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
			}
			time.Sleep(15 * time.Second)
			w.read()
			if got := w.lines[before:]; len(got) > 0 {
				t.Errorf("alice's page was open all the time, but others saw %q", got)
			}
		})
	}
}
