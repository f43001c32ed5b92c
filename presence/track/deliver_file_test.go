package track_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A filingStore keeps the record of a consumer apart from its topics. So both can begin again with an old file,
// at moments of their own.
type filingStore struct {
	*noticingStore
	records atomic.Pointer[memstore.Store]
	holder  atomic.Value                  // of the record, a string
	stalled atomic.Pointer[chan struct{}] // closed once calls for records wait no longer; nil: they do not wait
	reads   atomic.Bool                   // reads of records do not wait
}

func newFilingStore() *filingStore {
	s := &filingStore{noticingStore: &noticingStore{swapStore: newSwapStore()}}
	s.records.Store(memstore.New())
	return s
}

func (s *filingStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	s.waits(ctx)
	return s.records.Load().ClaimConsumer(ctx, consumer, claim)
}

func (s *filingStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	s.waits(ctx)
	state, err := s.records.Load().CommitConsumer(ctx, consumer, step)
	if state == backend.ConsumerHeld {
		s.holder.Store(step.Holder)
	}
	return state, err
}

func (s *filingStore) ReadConsumer(ctx context.Context, consumer string, after backend.ConsumerVersion) (backend.ConsumerChanges, error) {
	if !s.reads.Load() {
		s.waits(ctx)
	}
	return s.records.Load().ReadConsumer(ctx, consumer, after)
}

// waits waits until the records are stalled no longer.
func (s *filingStore) waits(ctx context.Context) {
	if stalled := s.stalled.Load(); stalled != nil {
		select {
		case <-*stalled:
		case <-ctx.Done():
		}
	}
}

// stall makes calls for records wait for a while.
func (s *filingStore) stall(d time.Duration) {
	stalled := make(chan struct{})
	s.stalled.Store(&stalled)
	time.Sleep(d)
	close(stalled)
}

// file returns a store that has the record as it is now, with its holder.
func (s *filingStore) file(t *testing.T) *memstore.Store {
	t.Helper()
	has, err := s.ReadConsumer(t.Context(), "program", "")
	noError(t, err)
	old, holder := memstore.New(), s.holder.Load().(string)
	_, err = old.ClaimConsumer(t.Context(), "program", backend.ConsumerClaim{Holder: holder, For: time.Second, Create: true})
	noError(t, err)
	_, err = old.CommitConsumer(t.Context(), "program", backend.ConsumerStep{Holder: holder, For: time.Second, Set: has.Set})
	noError(t, err)
	return old
}

// A node led, and was cut off until after its time. The store began again with a file in which it still leads. The
// node that took over goes first, since it knows who was told meanwhile.
func TestDeliverFileNamesAnEarlierLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		time.Sleep(2 * begins)
		file := store.file(t)
		faults.Break(presencetest.Fault{Hang: true})
		openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(9*time.Second, "+alice")
		store.records.Store(file)
		faults.Heal()
		p.want(time.Minute, "")
		if !b.Stats().Deliveries["program"].Leads {
			t.Error("want b to lead")
		}
	})
}

// The leader could not look at the topics while a user came and left, or it died. The store then lost that, and its
// log shows nothing of it. So there is a gap.
func TestDeliverGapOfABlindLeader(t *testing.T) {
	const topic = presence.Topic("thread:1")
	for name, tt := range map[string]struct {
		of   presence.Topic
		dies bool
		want string
	}{
		"a topic, and the leader is cut off": {topic, false, "!@thread:1"},
		"a topic, and the leader dies":       {topic, true, "!@thread:1"},
		"a kind, and the leader is cut off":  {deliver.AllOf("thread"), false, "!@thread:*"},
		"a kind, and the leader dies":        {deliver.AllOf("thread"), true, "!@thread:*"},
	} {
		bubble(t, name, func(t *testing.T) {
			store := newFilingStore()
			faults := presencetest.NewFaults(store)
			a, b, c := start(t, faults, quiet), start(t, store, quiet), start(t, store, quiet)
			p := &program{t: t, of: []presence.Topic{tt.of}}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			faults.Break(presencetest.Fault{Err: errDown})
			faults.Disturb(presencetest.Disturbance{Lose: 100})
			in(t, b, "alice", topic).goes(b, "alice")
			time.Sleep(4 * time.Second)
			store.wipe()
			store.missed()
			if tt.dies {
				p.deliver("c", c, deliver.Options{})
			} else {
				faults.Disturb(presencetest.Disturbance{})
				faults.Heal()
			}
			p.want(time.Minute, tt.want)
		})
	}
}

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

// The store goes back to when a user was there whose leave was told, and does so once more before the lease has
// expired. The user is not told as new before the nodes had time to restore what was lost then: nobody sweeps.
func TestDeliverRevivedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, replica := newFilingStore(), memstore.New()
		tracker := start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", tracker, deliver.Options{})
		time.Sleep(begins)
		ghost := func(store backend.Store, kind backend.OpKind, lasts time.Duration) {
			noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: kind, User: user("ghost"), Holder: "x.1", For: lasts},
			}}})[0].Err)
		}
		ghost(store, backend.OpJoin, time.Minute)
		ghost(replica, backend.OpJoin, time.Minute)
		p.want(time.Second, "+ghost")
		ghost(store, backend.OpDrop, 0)
		p.want(time.Second, "-ghost")
		store.goOnAs(replica)
		p.want(50*time.Second, "!")
		ghost(store, backend.OpHeartbeat, 30*time.Second) // as the older file has it
		store.missed()
		p.want(2*time.Minute, "")
	})
}

// A topic of a kind is empty, and the store is wiped. Then it goes on with an older file, whose log of the topic has a
// user of whom all was told. There is a gap, and the user is not told once more.
func TestDeliverKindOldLog(t *testing.T) {
	const topic = presence.Topic("thread:1")
	synctest.Test(t, func(t *testing.T) {
		store, replica := newFilingStore(), memstore.New()
		p := &program{t: t, of: []presence.Topic{deliver.AllOf("thread")}}
		p.deliver("a", start(t, store, quiet), deliver.Options{})
		time.Sleep(begins)
		for _, kind := range []backend.OpKind{backend.OpJoin, backend.OpDrop} {
			for _, store := range []backend.Store{store, replica} {
				noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: []backend.Op{
					{Kind: kind, User: user("goes"), Holder: "x.1", For: time.Minute},
				}}})[0].Err)
			}
			time.Sleep(2 * time.Second)
		}
		p.want(0, "+goes@thread:1 -goes@thread:1")
		store.wipe()
		p.want(5*time.Second, "")
		store.goOnAs(replica)
		p.want(time.Minute, "!@thread:1")
	})
}

// The store is wiped, and goes on with an older file whose log has the leave of a user who has come back since. The user
// is still there.
func TestDeliverOldLogOfAnEarlierSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, replica := newFilingStore(), memstore.New()
		p := &program{t: t}
		p.deliver("a", start(t, store, quiet), deliver.Options{})
		time.Sleep(begins)
		does := func(kind backend.OpKind, stores ...backend.Store) {
			for _, store := range stores {
				noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
					{Kind: kind, User: user("alice"), Holder: "x.1", For: 10 * time.Minute},
				}}})[0].Err)
			}
			time.Sleep(2 * time.Second)
		}
		does(backend.OpJoin, store, replica)
		does(backend.OpDrop, store, replica)
		does(backend.OpJoin, store)
		p.want(0, "+alice -alice +alice")
		store.wipe()
		p.want(3*time.Second, "!")
		store.goOnAs(replica)
		p.want(2*time.Second, "")
		does(backend.OpJoin, store)
		p.want(2*time.Minute, "")
	})
}

// The one node with a consumer is cut off for longer than a log stays, and then leads once more. What happened
// meanwhile may be missing, so there is a gap.
func TestDeliverGapOfALeaderThatIsBack(t *testing.T) {
	const topic = presence.Topic("thread:1")
	for _, of := range []presence.Topic{topic, deliver.AllOf("thread")} {
		bubble(t, string(of), func(t *testing.T) {
			store := memstore.New()
			faults := presencetest.NewFaults(store)
			a, b := start(t, faults, quiet), start(t, store, quiet)
			p := &program{t: t, of: []presence.Topic{of}}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			faults.Break(presencetest.Fault{Err: errDown})
			faults.Disturb(presencetest.Disturbance{Lose: 100})
			in(t, b, "alice", topic).goes(b, "alice")
			time.Sleep(time.Hour)
			faults.Heal()
			p.want(time.Minute, "!@"+string(of))
		})
	}
}

// The node that led is cut off until after its time. Once it is back it stands by for a while, since others may know
// more. A user comes and leaves then, and the store loses that. Nobody had looked, so there is a gap.
func TestDeliverGapOfALeaderThatStandsBy(t *testing.T) {
	const topic = presence.Topic("thread:1")
	for _, of := range []presence.Topic{topic, deliver.AllOf("thread")} {
		bubble(t, string(of), func(t *testing.T) {
			store := newFilingStore()
			faults := presencetest.NewFaults(store)
			a, b := start(t, faults, quiet), start(t, store, quiet)
			p := &program{t: t, of: []presence.Topic{of}}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			faults.Break(presencetest.Fault{Err: errDown})
			time.Sleep(13 * time.Second)
			faults.Heal()
			faults.Disturb(presencetest.Disturbance{Lose: 100})
			time.Sleep(3 * time.Second)
			in(t, b, "alice", topic).goes(b, "alice")
			time.Sleep(500 * time.Millisecond)
			if a.Stats().Deliveries["program"].Leads {
				t.Error("want a to stand by")
			}
			faults.Disturb(presencetest.Disturbance{})
			store.wipe()
			store.missed()
			p.want(time.Minute, "!@"+string(of))
		})
	}
}

// The store goes back to an older record, and the leader's claim has no answer. The leader makes the record again all
// the same, without a user of the older one whose leave was told.
func TestDeliverOldRecordIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFilingStore()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		alice := openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(begins, "+alice")
		file := store.file(t)
		alice.goes(b, "alice")
		p.want(time.Second, "-alice")
		faults.Break(presencetest.Fault{Err: errDown, Landed: true, Times: 1}, presencetest.CallClaimConsumer)
		store.records.Store(file)
		p.want(3*time.Second, "")
		if got := record(t, store, "t/"); len(got) > 0 {
			t.Errorf("got %v in the record, want nobody", got)
		}
	})
}
