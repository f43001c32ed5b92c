package track_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Which node leads after the store has lost the record of a consumer, or begins with an old one: the one that knows most.

// The store loses the record, and then gives no answer for a while. The node that led makes the record again, and not
// one that stood by: its patience does not count the time in which nobody could do so.
func TestDeliverPatienceInAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(2*begins, "+alice")
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallCommitConsumer)
		store.records.Store(memstore.New())
		time.Sleep(1100 * time.Millisecond) // b finds that the record is missing
		faults.Heal()
		store.stall(6 * time.Second)
		p.want(time.Minute, "")
		if !a.Stats().Deliveries["program"].Leads {
			t.Error("want a to lead")
		}
	})
}

// The node that led dies, and the store loses the record twice. After the first loss a node that stood by makes the
// record again, and tells of alice. Another one, which looks for the record before and after that alone, does not take
// the second loss for the first, and does not lead.
func TestDeliverLosesItsRecordBetweenTwoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b, c := start(t, faults, quiet), start(t, store, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{}) // looks at each full second from now on
		time.Sleep(850 * time.Millisecond)
		p.deliver("c", c, deliver.Options{}) // looks 850 ms after b
		p.want(10*time.Second+50*time.Millisecond, "")
		faults.Break(presencetest.Fault{Err: errDown})
		store.records.Store(memstore.New())
		time.Sleep(3300 * time.Millisecond) // b leads from 3.1 s after the loss on
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(600 * time.Millisecond)
		store.records.Store(memstore.New()) // c looks 50 ms later, and b after 200 ms
		p.want(time.Minute, "+alice")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The store loses the record just before the first look that finds none. Before the second look the node that leads
// makes it again and tells of Alice, and it is lost once more. That node is cut off for a second then. It makes the
// record again all the same: the other one waits for two seconds since the second loss.
func TestDeliverLosesItsRecordBetweenTheFirstTwoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins + 500*time.Millisecond)
		p.deliver("b", b, deliver.Options{}) // looks half a second after a commits
		p.want(10*time.Second-50*time.Millisecond, "")
		store.records.Store(memstore.New()) // b looks 50 ms later
		time.Sleep(100 * time.Millisecond)
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(850 * time.Millisecond)
		p.want(0, "+alice")
		faults.Break(presencetest.Fault{Err: errDown})
		store.records.Store(memstore.New()) // b looks 50 ms later
		time.Sleep(1200 * time.Millisecond)
		faults.Heal()
		p.want(time.Minute, "")
		if !a.Stats().Deliveries["program"].Leads {
			t.Error("want a to lead")
		}
	})
}

// A node leads for a second, and dies. Then the store loses the record. Another node had just copied it. It need not
// fear that its copy is of an old file, since the record changed as it stood by.
func TestDeliverLosesItsRecordAfterALeaderOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(100 * time.Millisecond) // a leads
		p.deliver("b", b, deliver.Options{})
		p.want(begins, "")
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(1500*time.Millisecond, "+alice")
		faults.Break(presencetest.Fault{Err: errDown})
		store.records.Store(memstore.New())
		openPage(t, b, track.ConnectOptions{Visitor: visitor("bob")})
		p.want(6*time.Second, "+bob")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The store fails over just after a node began to lead, and loses that. Another node looks next, and leads too, before
// the first one finds out.
func TestDeliverLosesAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		a, b, c := start(t, store, quiet), start(t, store, quiet), start(t, store, quiet)
		var calls atomic.Int32
		p := &program{t: t, fail: func(deliver.Event) error {
			if calls.Add(1) > 1 {
				t.Error("two nodes call the program at once")
			}
			time.Sleep(500 * time.Millisecond)
			calls.Add(-1)
			return nil
		}}
		stop := p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		time.Sleep(300 * time.Millisecond)
		p.deliver("c", c, deliver.Options{}) // looks 300 ms after b
		time.Sleep(begins - 200*time.Millisecond)
		copied := store.file(t) // nobody holds it a second later
		time.Sleep(300 * time.Millisecond)
		stop()
		time.Sleep(620 * time.Millisecond)
		if !b.Stats().Deliveries["program"].Leads {
			t.Fatal("want b to lead")
		}
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(130 * time.Millisecond)
		store.records.Store(copied) // c looks 150 ms later, and b after 850 ms
		p.want(time.Minute, "+alice")
		if !c.Stats().Deliveries["program"].Leads {
			t.Error("want c to lead")
		}
	})
}

// The store loses the record in an outage in which the node that led ends. A node that begins just after that does not
// go before one that stood by, and knows who was told.
func TestDeliverNewcomerAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, faults, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		goes := openPage(t, b, track.ConnectOptions{Visitor: visitor("goes")})
		p.want(2*begins, "+goes")
		faults.Break(presencetest.Fault{Err: errDown})
		store.records.Store(memstore.New())
		goes.conn.Close()
		time.Sleep(3 * time.Second)
		stop()
		time.Sleep(2 * time.Second)
		faults.Heal()
		time.Sleep(time.Second)
		c := start(t, store, quiet)
		p.deliver("c", c, deliver.Options{})
		p.want(time.Minute, "-goes")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The store begins with an old file, and a node begins, which reads the old record. Before another node, which knows a
// newer one, has written that, the store is out for a while. Then the record is lost. The node that knows the newer one
// makes it again, although the other one has had the old one for long.
func TestDeliverOldRecordBeforeAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b, c := start(t, store, quiet), start(t, faults, quiet), start(t, faults, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		time.Sleep(begins)
		file := store.file(t)
		openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(begins, "+alice")
		stop()
		store.records.Store(file)
		time.Sleep(500 * time.Millisecond)
		p.deliver("c", c, deliver.Options{})
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(4 * time.Second)
		faults.Heal()
		time.Sleep(3 * time.Second)
		store.records.Store(memstore.New())
		p.want(time.Minute, "")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The same, where the store was out before, too: the node that knows the newer record waits for longer then. So the
// old one may be of an old file for longer, too.
func TestDeliverOldRecordBetweenTwoOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b, c := start(t, faults, quiet), start(t, faults, quiet), start(t, faults, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		time.Sleep(begins)
		file := store.file(t)
		openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(begins, "+alice")
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(4 * time.Second)
		stop()
		store.records.Store(file)
		faults.Heal()
		p.deliver("c", c, deliver.Options{})
		time.Sleep(6 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(1500 * time.Millisecond)
		faults.Heal()
		time.Sleep(2 * time.Second)
		store.records.Store(memstore.New())
		p.want(time.Minute, "")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// After a long outage a node takes its copy for one that may be of an old file, although it is the latest. It finds out
// when the store begins with an old file. A node that reads the old record then does not lead before it.
func TestDeliverOldRecordAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b, c := start(t, faults, quiet), start(t, faults, quiet), start(t, faults, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		time.Sleep(begins)
		file := store.file(t)
		openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(begins, "+alice")
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(8 * time.Second)
		stop()
		faults.Heal()
		time.Sleep(5300 * time.Millisecond)
		store.records.Store(file)
		time.Sleep(300 * time.Millisecond)
		p.deliver("c", c, deliver.Options{})
		time.Sleep(1500 * time.Millisecond)
		store.records.Store(memstore.New())
		p.want(time.Minute, "")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The same, where the store hangs, and answers in the end what was asked meanwhile.
func TestDeliverOldRecordBeforeTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		a, b, c := start(t, store, quiet), start(t, store, quiet), start(t, store, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		time.Sleep(begins)
		file := store.file(t)
		openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(begins, "+alice")
		stop()
		store.records.Store(file)
		time.Sleep(500 * time.Millisecond)
		p.deliver("c", c, deliver.Options{})
		time.Sleep(1400 * time.Millisecond)
		store.records.Store(memstore.New()) // nobody looks before it hangs
		store.stall(9 * time.Second)
		p.want(time.Minute, "")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The store loses the record, and then answers reads alone for a while. The node that led makes the record again, even
// if it is the last to find that writes go well.
func TestDeliverPatienceWhileWritesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		store.reads.Store(true)
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(2*begins, "+alice")
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallCommitConsumer)
		store.records.Store(memstore.New())
		store.stall(4 * time.Second)
		time.Sleep(100 * time.Millisecond)
		faults.Heal()
		p.want(time.Minute, "")
		if !a.Stats().Deliveries["program"].Leads {
			t.Error("want a to lead")
		}
	})
}

// The node that led has ended, and a node has read the record just before the store is wiped. A node that begins just
// after that does not go before it.
func TestDeliverNewcomerAfterAWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b, c := start(t, store, quiet), start(t, store, quiet), start(t, store, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(begins, "+alice")
		stop()
		p.deliver("b", b, deliver.Options{})
		time.Sleep(100 * time.Millisecond)
		store.wipe()
		time.Sleep(300 * time.Millisecond)
		p.deliver("c", c, deliver.Options{})
		p.want(time.Minute, "!")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The same, where the store is then out for a moment, and the node with the copy finds it back last. The new one, which
// does not look meanwhile, waits for that one once more.
func TestDeliverNewcomerBeforeAnOutage(t *testing.T) {
	testNewcomerBeforeAnOutage(t, 300*time.Millisecond, 2500*time.Millisecond)
}

// The same, where the node with the copy finds the store back as late as it may. It looks once a second, so that it
// begins to wait later still.
func TestDeliverNewcomerBeforeALongerOutage(t *testing.T) {
	testNewcomerBeforeAnOutage(t, 550*time.Millisecond, 2900*time.Millisecond)
}

func testNewcomerBeforeAnOutage(t *testing.T, newcomer, later time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		late, soon := presencetest.NewFaults(store), presencetest.NewFaults(store)
		a, b, c := start(t, store, quiet), start(t, late, quiet), start(t, soon, quiet)
		p := &program{t: t}
		stop := p.deliver("a", a, deliver.Options{})
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		page := openPage(t, c, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(begins, "+alice")
		stop()
		p.deliver("b", b, deliver.Options{})
		time.Sleep(100 * time.Millisecond)
		store.wipe()
		time.Sleep(newcomer)
		p.deliver("c", c, deliver.Options{})
		time.Sleep(1200 * time.Millisecond)
		late.Break(presencetest.Fault{Err: errDown})
		soon.Break(presencetest.Fault{Err: errDown})
		page.conn.Close()                  // so c finds that the store is out
		time.Sleep(500 * time.Millisecond) // c looks before that, and after it
		soon.Heal()
		time.Sleep(later)
		late.Heal()
		p.want(time.Minute, "!")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The leader ends, and the store begins with an old file. A node that begins just then reads the old record. The node that
// knows the newer one finds that out up to a second later, and its calls take a moment. It leads first all the same.
func TestDeliverOldRecordMeetsNewcomer(t *testing.T) {
	for _, takes := range []time.Duration{0, 5 * time.Millisecond, 100 * time.Millisecond} {
		bubble(t, takes.String(), func(t *testing.T) {
			store := newFilingStore()
			slow := presencetest.NewFaults(store)
			slow.Break(presencetest.Fault{Delay: takes}, presencetest.CallReadConsumer, presencetest.CallCommitConsumer, presencetest.CallClaimConsumer)
			a, b, c := start(t, store, quiet), start(t, slow, quiet), start(t, store, quiet)
			p := &program{t: t}
			stop := p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			time.Sleep(begins)
			file := store.file(t)
			openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			p.want(3*time.Second, "+alice")
			for looks := slow.Calls(presencetest.CallReadConsumer); slow.Calls(presencetest.CallReadConsumer) == looks; {
				time.Sleep(time.Millisecond) // b looks again in a second
			}
			time.Sleep(3*takes + 5*time.Millisecond)
			stop()
			store.records.Store(file)
			p.deliver("c", c, deliver.Options{})
			p.want(time.Minute, "")
			if !b.Stats().Deliveries["program"].Leads {
				t.Error("want b to lead")
			}
		})
	}
}

// The store begins with an old file, and a node begins, which reads that. Then the store begins with a still older one. The
// new node's copy is of an old file all the same.
func TestDeliverTwoOldFiles(t *testing.T) {
	for later := 100 * time.Millisecond; later < 3500*time.Millisecond; later += 600 * time.Millisecond {
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
			store.records.Store(old)
			time.Sleep(500 * time.Millisecond)
			p.deliver("c", c, deliver.Options{})
			time.Sleep(later)
			store.records.Store(older)
			p.want(time.Minute, "")
			if !b.Stats().Deliveries["program"].Leads {
				t.Error("want b to lead")
			}
		})
	}
}
