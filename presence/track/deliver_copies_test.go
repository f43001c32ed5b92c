package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Which copy of a consumer's record counts as one of an old file, after the store has begun with such a file.

// The node that led is cut off for long, alone, and the store begins with an old file. It is back just as a node begins,
// which reads the old record. The node that led goes first.
func TestDeliverLateLeaderMeetsNewcomer(t *testing.T) {
	for later := time.Duration(0); later <= 900*time.Millisecond; later += 100 * time.Millisecond {
		bubble(t, later.String(), func(t *testing.T) {
			store := newFilingStore()
			faults := presencetest.NewFaults(store)
			a, c := start(t, faults, quiet), start(t, store, quiet)
			p := &program{t: t}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(2 * begins)
			file := store.file(t)
			openPage(t, c, track.ConnectOptions{Visitor: visitor("alice")})
			p.want(begins, "+alice") // seconds before a is cut off
			faults.Break(presencetest.Fault{Err: errDown})
			time.Sleep(14 * time.Second)
			store.records.Store(file)
			for looks := faults.Calls(presencetest.CallReadConsumer); faults.Calls(presencetest.CallReadConsumer) == looks; {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(5 * time.Millisecond)
			faults.Heal() // a looks in a second
			time.Sleep(later)
			p.deliver("c", c, deliver.Options{})
			p.want(time.Minute, "")
			if !a.Stats().Deliveries["program"].Leads {
				t.Error("want a to lead")
			}
		})
	}
}

// The store begins with an old file, and a node begins, which reads that. Then the store begins with a newer file, which
// is old, too, and is wiped. The new node's copy is of an old file all the same.
func TestDeliverTwoOldFilesTheNewerOneLast(t *testing.T) {
	for later := 100 * time.Millisecond; later < 2900*time.Millisecond; later += 300 * time.Millisecond {
		bubble(t, later.String(), func(t *testing.T) {
			store := newFilingStore()
			a, b, c := start(t, store, quiet), start(t, store, quiet), start(t, store, quiet)
			p := &program{t: t}
			stop := p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			time.Sleep(begins)
			older := store.file(t)
			openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			p.want(3*time.Second, "+alice")
			old := store.file(t)
			openPage(t, a, track.ConnectOptions{Visitor: visitor("bob")})
			p.want(3*time.Second, "+bob")
			stop()
			time.Sleep(100 * time.Millisecond)
			store.records.Store(older)
			time.Sleep(500 * time.Millisecond)
			p.deliver("c", c, deliver.Options{})
			time.Sleep(100 * time.Millisecond)
			store.records.Store(old)
			time.Sleep(later)
			store.records.Store(memstore.New())
			p.want(time.Minute, "")
			if !b.Stats().Deliveries["program"].Leads {
				t.Error("want b to lead")
			}
		})
	}
}

// A node is cut off, and its looks fail. Meanwhile the leader tells more, and dies, and the store begins with a file that
// is newer than the node's copy, and old. The node is back, and the store is wiped. The node that stood by all the time
// leads.
func TestDeliverBackAtAnOldFile(t *testing.T) {
	for later := 300 * time.Millisecond; later < 1900*time.Millisecond; later += 300 * time.Millisecond {
		bubble(t, later.String(), func(t *testing.T) {
			store := newFilingStore()
			faults := presencetest.NewFaults(store)
			a, b, c := start(t, store, quiet), start(t, store, quiet), start(t, faults, quiet)
			p := &program{t: t}
			stop := p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			p.deliver("c", c, deliver.Options{})
			time.Sleep(3 * begins)
			faults.Break(presencetest.Fault{Err: errDown})
			openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			p.want(4*time.Second, "+alice")
			old := store.file(t)
			openPage(t, a, track.ConnectOptions{Visitor: visitor("bob")})
			p.want(4*time.Second, "+bob")
			stop()
			time.Sleep(100 * time.Millisecond)
			faults.Heal()
			store.records.Store(old)
			time.Sleep(later)
			store.records.Store(memstore.New())
			p.want(time.Minute, "")
			if !b.Stats().Deliveries["program"].Leads {
				t.Error("want b to lead")
			}
		})
	}
}
