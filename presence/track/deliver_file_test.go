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
	holder  atomic.Value // of the record, a string
}

func newFilingStore() *filingStore {
	s := &filingStore{noticingStore: &noticingStore{swapStore: newSwapStore()}}
	s.records.Store(memstore.New())
	return s
}

func (s *filingStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	return s.records.Load().ClaimConsumer(ctx, consumer, claim)
}

func (s *filingStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	state, err := s.records.Load().CommitConsumer(ctx, consumer, step)
	if state == backend.ConsumerHeld {
		s.holder.Store(step.Holder)
	}
	return state, err
}

func (s *filingStore) ReadConsumer(ctx context.Context, consumer string, after backend.ConsumerVersion) (backend.ConsumerChanges, error) {
	return s.records.Load().ReadConsumer(ctx, consumer, after)
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
