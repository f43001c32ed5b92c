package track_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// laggingStore is a store with a replica that takes over: what was done while it
// lagged is lost.
type laggingStore struct {
	*swapStore
	mu      sync.Mutex
	replica *memstore.Store
	lags    bool
}

func newLaggingStore() *laggingStore {
	return &laggingStore{swapStore: newSwapStore(), replica: memstore.New()}
}

func (s *laggingStore) Apply(ctx context.Context, b []backend.Batch) []backend.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lags {
		s.replica.Apply(ctx, b)
	}
	return s.swapStore.Apply(ctx, b)
}

func (s *laggingStore) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lags {
		_, _ = s.replica.Poll(ctx, p)
	}
	return s.swapStore.Poll(ctx, p)
}

func (s *laggingStore) lag() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lags = true
}

// failover lets the replica take over.
func (s *laggingStore) failover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.goOnAs(s.replica)
	s.lags, s.replica = false, memstore.New()
}

// A failover that loses leaves brings nobody back: the node where that was says so
// again, and where it cannot, readers know that the user left until the lease has
// expired. Who really comes back is seen at once.
func TestLeavesLostByAFailover(t *testing.T) {
	for _, away := range []bool{false, true} {
		bubble(t, fmt.Sprint("their node is away: ", away), func(t *testing.T) {
			store := newLaggingStore()
			faults := presencetest.NewFaults(store)
			a := start(t, store, track.Config{Node: "a"})
			b := start(t, faults, track.Config{Node: "b"})
			w := watch(t, a)
			connect(t, a, track.ConnectOptions{Visitor: visitor("stays")})
			a.Seen(presence.Site, user("closes"), presence.Device{}) // before the stream, which takes it along
			time.Sleep(100 * time.Millisecond)
			drops := connect(t, b, track.ConnectOptions{Visitor: visitor("drops")})
			closes := connect(t, b, track.ConnectOptions{Visitor: visitor("closes")})
			returns := connect(t, b, track.ConnectOptions{Visitor: visitor("returns")})
			w.skip()

			store.lag()
			drops.Drop()
			returns.Drop()
			w.want("diff + -drops,returns")
			closes.Close()
			time.Sleep(a.Config().Grace + time.Second)
			w.want("diff + -closes")
			if away {
				faults.Break(presencetest.Fault{Err: errDown})
			}
			unchanged := func() {
				t.Helper()
				for _, e := range w.read() {
					if e != "diff + -" {
						t.Errorf("got %s, want other versions alone", e)
					}
				}
			}
			store.failover()
			time.Sleep(3 * time.Second)
			unchanged() // other versions, and nobody left or came
			noError(t, store.Publish(t.Context(), keeps(t, store, "drops", presence.Busy)))
			time.Sleep(time.Second)
			unchanged() // who has left does not come back because a node learns what the user chose
			back := connect(t, a, track.ConnectOptions{Visitor: visitor("returns")})
			w.want("diff +returns -")
			time.Sleep(2 * time.Minute)
			unchanged() // now that it is certain, a version that all nodes know
			back.Drop()
			w.want("diff + -returns")
			faults.Heal()
			time.Sleep(2 * time.Minute)
			w.want()
			openPage(t, b, track.ConnectOptions{}).want("state stays")
		})
	}
}

// A failover takes the store back to before a user left and came. Readers know the later moment, so this node does
// not name its roster as other nodes name the one with the earlier moment.
func TestSinceAfterAFailover(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newLaggingStore()
		a := start(t, store, track.Config{Node: "a"})
		w := watch(t, a)
		first := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		time.Sleep(time.Minute)
		store.lag()
		first.Drop()
		w.want("diff + -alice")
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		store.failover()
		time.Sleep(3 * time.Second)
		w.want("diff + -")
		counts, err := store.Counts(t.Context(), presence.Site)
		noError(t, err)
		if got, _ := w.conn.Cursor().Version(presence.Site); got == counts[0].Head {
			t.Errorf("the roster is named %s, as the store's, which has alice since another moment", got)
		}
	})
}

// A server that starts again with an old copy of its data brings nobody back either, also where the
// nodes have no diff any more from when the user left: a wipe has ended their history since.
func TestOldCopyOfTheData(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newLaggingStore()
		faults := presencetest.NewFaults(store)
		a := start(t, store, track.Config{Node: "a"})
		b := start(t, faults, track.Config{Node: "b"})
		w := watch(t, a)
		connect(t, a, track.ConnectOptions{Visitor: visitor("stays")})
		connect(t, b, track.ConnectOptions{Visitor: visitor("missing")})
		left := connect(t, b, track.ConnectOptions{Visitor: visitor("left")})
		w.skip()
		store.lag()
		left.Drop()
		w.want("diff + -left")
		faults.Break(presencetest.Fault{Err: errDown})
		store.wipe()
		time.Sleep(20 * time.Second)
		w.want("diff + -", "diff + -missing")

		store.failover() // to the data of before that, whose leases have not all expired
		time.Sleep(2 * time.Minute)
		for _, e := range w.read() {
			if strings.Contains(e, "left") {
				t.Errorf("got %s of a user who left long ago", e)
			}
		}
	})
}

// A loglessStore has lost what is in its logs.
type loglessStore struct{ *laggingStore }

func (s loglessStore) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	if after == "" {
		return nil, nil
	}
	return s.laggingStore.Log(ctx, topic, after)
}

// A node that starts later knows that a user has left, also where the log does not say so any more.
func TestOldCopyWhereTheLogWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLaggingStore()
		faults := presencetest.NewFaults(store)
		a := start(t, faults, track.Config{Node: "a"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("stays")})
		time.Sleep(time.Second)
		left := connect(t, a, track.ConnectOptions{Visitor: visitor("left")})
		time.Sleep(time.Second)
		store.lag()
		left.Drop()
		time.Sleep(20 * time.Second)
		w := openPage(t, start(t, loglessStore{store}, track.Config{Node: "b"}), track.ConnectOptions{})
		w.want("state stays")
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errDown}) // the node that knows
		store.failover()
		time.Sleep(time.Minute)
		for _, e := range w.read() {
			if strings.Contains(e, "left") {
				t.Errorf("got %s of a user who left before this node began", e)
			}
		}
	})
}

// The log is short, and no longer has Bob's leave when a node begins. The store then goes back to before he left. He is
// not brought back there either.
func TestLeaveBeforeTheNodeBegan(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		store := newLaggingStore()
		a := start(t, store, track.Config{Node: "a", LogSize: 3})
		connect(t, a, track.ConnectOptions{Visitor: visitor("carol")})
		apply := func(op backend.Op) {
			noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{op}}})[0].Err)
		}
		time.Sleep(time.Second)
		apply(backend.Op{Kind: backend.OpJoin, User: user("bob"), Holder: "x.1", For: 5 * time.Minute})
		_, err := store.Poll(t.Context(), backend.Poll{Process: "x", Term: 10 * time.Second})
		noError(t, err)
		time.Sleep(time.Second)
		store.lag()
		apply(backend.Op{Kind: backend.OpRelease, User: user("bob"), Holder: "x.1"})
		for i := range 10 {
			noError(t, a.SetStatus(t.Context(), "carol", []presence.Status{presence.Busy, presence.Online}[i%2]))
			time.Sleep(time.Second)
		}
		b := start(t, store, track.Config{Node: "b", LogSize: 3})
		page := connect(t, b, track.ConnectOptions{Observe: true})
		time.Sleep(20 * time.Second)
		store.failover()
		time.Sleep(20 * time.Second)
		for _, e := range page.Events(nil) {
			if strings.Contains(string(e.Data), "bob") {
				t.Errorf("got %s of a user who left before the node began", e.Data)
			}
		}
	})
}

// A failover takes back that Alice signed out, and she comes again. So her session has begun before she signed out. The
// store is wiped then, and a node tells the sign-out again. Nobody sees her leave: that sign-out is over.
func TestOldSignOutIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, replica := newSwapStore(), memstore.New()
		here := start(t, store, track.Config{TTL: 3 * time.Second})
		w := watch(t, here)
		alice := func(store backend.Store, kind backend.OpKind) {
			noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: kind, User: user("alice"), Holder: "away.1", For: time.Minute},
			}}})[0].Err)
		}
		alice(store, backend.OpJoin)
		alice(replica, backend.OpJoin)
		w.want("diff +alice -")
		out := backend.SignOutNotice("alice")
		out.ID = "1"
		here.Hear(out)
		alice(store, backend.OpSignOut)
		w.want("diff + -alice")
		at := time.Now()
		store.goOnAs(replica)
		alice(store, backend.OpJoin)
		time.Sleep(20 * time.Second)
		w.want("diff + -", "diff +alice -")
		store.wipe()
		out.Ago = time.Since(at)
		here.Hear(out)
		time.Sleep(4 * time.Second)
		alice(store, backend.OpJoin)
		time.Sleep(20 * time.Second)
		if lines := w.read(); slices.Contains(lines, "diff + -alice") {
			t.Errorf("got %q, and alice has stayed", lines)
		}
	})
}

// A failover loses Alice's sign-out before any node has a diff of it. She comes again, and goes on with her session.
// When the store is wiped much later, nobody sees her leave.
func TestSignOutLostBeforeItsDiff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		here := start(t, store, track.Config{TTL: 3 * time.Second})
		w := watch(t, here)
		join := func() {
			noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: backend.OpJoin, User: user("alice"), Holder: "away.1", For: time.Hour},
			}}})[0].Err)
		}
		join()
		w.want("diff +alice -")
		here.Hear(backend.SignOutNotice("alice"))
		time.Sleep(time.Minute)
		store.wipe()
		time.Sleep(4 * time.Second)
		join()
		time.Sleep(20 * time.Second)
		if lines := w.read(); slices.Contains(lines, "diff + -alice") {
			t.Errorf("got %q, and alice has stayed", lines)
		}
	})
}

// A node ends Alice's first page once more, because a failover may have brought it back. Meanwhile the store hangs, and
// starts again with a file in which that page is her only one. Nobody sees her leave.
func TestEndIsRepeatedAsTheStoreStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLaggingStore()
		faults := presencetest.NewFaults(store)
		a := start(t, faults, track.Config{Node: "a", Grace: time.Second})
		left := false
		stop, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(d backend.Diff) {
			left = left || slices.ContainsFunc(d.Leaves, func(l backend.Departure) bool { return l.ID == "alice" })
		}})
		noError(t, err)
		defer stop()
		connect(t, a, track.ConnectOptions{Visitor: visitor("stays")})
		first := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		a.Hear(backend.Notice{Kind: backend.NoticeLost, Ago: time.Millisecond})
		time.Sleep(3 * time.Second)
		store.lag()
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		first.Close()
		time.Sleep(3500 * time.Millisecond)
		faults.Break(presencetest.Fault{Delay: time.Second, Times: 1}, presencetest.CallApply)
		a.Seen(presence.Site, user("stays"), presence.Device{})
		time.Sleep(700 * time.Millisecond) // the node ends the first page, 7 s after the notice
		faults.Break(presencetest.Fault{Err: errDown})
		store.failover()
		time.Sleep(600 * time.Millisecond)
		faults.Heal()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if left {
			t.Error("alice left, who stayed")
		}
	})
}
