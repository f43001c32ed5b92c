package track_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

func (s *swapStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	return s.now().ClaimConsumer(ctx, consumer, claim)
}

func (s *swapStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	return s.now().CommitConsumer(ctx, consumer, step)
}

func (s *swapStore) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	return s.now().ReadConsumer(ctx, consumer)
}

// After a wipe a gap is told, and then who came and who is gone. Users who stayed are not told again, unless the node
// that led dies with the data: then everybody who is there joins once more.
func TestDeliverWipe(t *testing.T) {
	for _, tt := range []struct {
		name string
		dies bool
		want string
	}{
		{"the leader goes on", false, "! +new _u0"},
		{"the leader dies with the data", true, "! +new +u1 +u2"},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			store := newSwapStore()
			p := newTwin(t, store)
			var pages []*page
			for i := range 3 {
				pages = append(pages, in(t, p.b, fmt.Sprint("u", i)))
				time.Sleep(time.Second)
			}
			p.want(10*time.Minute, "+u0 +u1 +u2")
			if tt.dies {
				p.dies()
			}
			store.wipe()
			pages[0].conn.Close() // nobody restores u0
			time.Sleep(10 * time.Millisecond)
			in(t, p.b, "new")
			time.Sleep(time.Minute)
			if got := strings.Join(slices.Sorted(strings.FieldsSeq(p.read())), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got, want := strings.Join(record(t, store, "t/"), " "), "t/site/new t/site/u1 t/site/u2"; got != want {
				t.Errorf("got the record %s, want %s", got, want)
			}
			pages[1].conn.Close()
			p.want(15*time.Second, "-u1")
		})
	}
}

// The store is away for longer than a node holds the record, and begins with an old file of it. The node that led goes
// first, also if the file names another one, and writes what it knows.
func TestDeliverOldFile(t *testing.T) {
	for _, holder := range []string{"", "another"} {
		bubble(t, "held by "+holder, func(t *testing.T) {
			store, file := newSwapStore(), memstore.New()
			faults := [2]*presencetest.Faults{presencetest.NewFaults(store), presencetest.NewFaults(store)}
			a, b := start(t, faults[0], quiet), start(t, faults[1], quiet)
			p := &program{t: t}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			in(t, a, "alice")
			p.want(10*time.Second, "+alice")
			old, err := store.ReadConsumer(t.Context(), "program")
			noError(t, err)
			in(t, b, "bob")
			p.want(10*time.Second, "+bob")
			for _, f := range faults {
				f.Break(presencetest.Fault{Err: errDown})
			}
			time.Sleep(20 * time.Second)
			step := backend.ConsumerStep{Holder: "of the file", Set: old}
			if holder != "" {
				step.For = 5 * time.Second
			}
			_, err = file.ClaimConsumer(t.Context(), "program", backend.ConsumerClaim{Holder: step.Holder, For: time.Second, Create: true})
			noError(t, err)
			_, err = file.CommitConsumer(t.Context(), "program", step)
			noError(t, err)
			store.goOnAs(file)
			for _, f := range slices.Backward(faults[:]) { // the node that led finds the store back last
				f.Heal()
				time.Sleep(2 * time.Second)
			}
			p.want(time.Minute, "!")
			if !a.Stats().Deliveries["program"].Leads {
				t.Error("want the node that led to go on")
			}
		})
	}
}

// The store fails over to a copy in which users are still there whose leave was told. They
// are not told as new, and who really stays is.
func TestDeliverRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, replica := newSwapStore(), memstore.New()
		p, _ := newProgram(t, store)
		apply := func(store backend.Store, kind backend.OpKind, name string, lasts time.Duration) {
			store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: kind, User: user(name), Holder: "x.1", For: lasts},
			}}})
		}
		for name, lasts := range map[string]time.Duration{"ghost": 40 * time.Second, "stays": time.Hour, "returns": time.Hour} {
			apply(store, backend.OpJoin, name, lasts)
			apply(replica, backend.OpJoin, name, lasts)
		}
		time.Sleep(time.Second)
		p.read()
		apply(store, backend.OpDrop, "ghost", 0)
		apply(store, backend.OpDrop, "returns", 0) // and somebody goes on to renew the lease in the copy
		time.Sleep(time.Second)
		p.read()
		store.goOnAs(replica)
		p.want(50*time.Second, "!")
		p.want(time.Minute, "+returns")
	})
}

// A store that lost a user, and not its log, announces no leave of that user.
func TestDeliverLostUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lossy := &lossyStore{Store: memstore.New()}
		tracker := start(t, lossy, quiet)
		for _, name := range []string{"lost", "stays"} {
			lossy.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: backend.OpJoin, User: user(name), Holder: "x.1", For: time.Hour},
			}}})
			time.Sleep(time.Millisecond) // the earlier one is told first
		}
		p := &program{t: t}
		p.deliver("a", tracker, deliver.Options{})
		p.want(begins, "+lost +stays")
		lossy.lost.Store(true)
		p.want(time.Minute, "! _lost")
	})
}

// lossyStore is a store that has lost the user "lost".
type lossyStore struct {
	*memstore.Store
	lost atomic.Bool
}

func (s *lossyStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx, topic)
	snap.Members = slices.DeleteFunc(snap.Members, func(m presence.Member) bool { return m.ID == "lost" && s.lost.Load() })
	return snap, err
}

func (s *lossyStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	counts, err := s.Store.Counts(ctx, topics...)
	if s.lost.Load() {
		counts[0].Total--
	}
	return counts, err
}
