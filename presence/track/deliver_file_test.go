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
