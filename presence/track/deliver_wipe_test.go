package track_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
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

func (s *swapStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	return s.now().ClaimConsumer(ctx, consumer, claim)
}

func (s *swapStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	return s.now().CommitConsumer(ctx, consumer, step)
}

func (s *swapStore) ReadConsumer(ctx context.Context, consumer string, after backend.ConsumerVersion) (backend.ConsumerChanges, error) {
	return s.now().ReadConsumer(ctx, consumer, after)
}

// The store is wiped, and perhaps the node that leads dies with it: users who stayed are
// not told again, those who are gone leave, with the time since their real join.
func TestDeliverWipe(t *testing.T) {
	for _, tt := range []struct {
		name string
		dies time.Duration // how long before the wipe the leader dies; 0: it does not
	}{
		{"the leader makes the record again", 0},
		{"another node does, of a leader that died", 5 * time.Second},
		{"another node does, of a leader that just died", time.Millisecond},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			store := newSwapStore()
			faults := presencetest.NewFaults(store)
			a, b := start(t, faults, quiet), start(t, store, quiet)
			p := &program{t: t}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			var pages []*page
			for i := range 5 {
				pages = append(pages, openPage(t, b, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i))}))
			}
			p.want(10*time.Minute, "+u0 +u1 +u2 +u3 +u4")
			pages = append(pages, openPage(t, b, track.ConnectOptions{Visitor: visitor("late")}))
			time.Sleep(50 * time.Millisecond)
			late := p.all() // b has perhaps not read that it was told
			p.read()
			if tt.dies > 0 {
				faults.Break(presencetest.Fault{Err: errDown})
				time.Sleep(tt.dies)
			}
			wiped := time.Now()
			store.wipe()
			pages[0].conn.Close() // nobody restores u0
			time.Sleep(10 * time.Millisecond)
			openPage(t, b, track.ConnectOptions{Visitor: visitor("new")})
			time.Sleep(time.Minute)
			var got []string
			for _, d := range p.all() {
				switch {
				case slices.ContainsFunc(late, func(was deliver.Event) bool { return was.ID == d.ID }):
					continue // a repetition
				case d.Type == deliver.Gap:
					continue
				case d.User.ID == "u0" && (d.Seconds < 599 || d.Seconds > 620 || d.LastSeen.Sub(wiped).Abs() > 3*time.Second):
					t.Errorf("got %+v, want about ten minutes", d)
				}
				got = append(got, string(d.Type)+" "+string(d.User.ID))
			}
			slices.Sort(got)
			if want := []string{"join new", "leave u0"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			p.read()
			record, err := store.ReadConsumer(t.Context(), "program", "")
			told := 0
			for key := range record.Set {
				if strings.HasPrefix(key, "t/site/") {
					told++
				}
			}
			if err != nil || told != 6 || record.Set["begun"] == "" {
				t.Errorf("got a record with %d users, %v, want the six who are there", told, record.Set)
			}
			pages[1].conn.Close()
			time.Sleep(15 * time.Second)
			if all := p.all(); len(all) != 1 || all[0].User.ID != "u1" || all[0].Seconds < 659 || all[0].Seconds > 690 {
				t.Errorf("got %+v, want u1 to leave after eleven minutes", all)
			}
		})
	}
}

// The store loses the record while no node reaches it, and the leader dies meanwhile. A node that begins just after that
// has no copy, and knows of no outage. It does not lead before the node that has one.
func TestDeliverWipeNodeBeginsAfterOutage(t *testing.T) {
	for later := time.Duration(0); later < 4*time.Second; later += 250 * time.Millisecond {
		bubble(t, later.String(), func(t *testing.T) {
			store := newSwapStore()
			dies, stays := presencetest.NewFaults(store), presencetest.NewFaults(store)
			a, b := start(t, dies, quiet), start(t, stays, quiet)
			p := &program{t: t}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
			p.want(10*time.Second, "+alice")
			dies.Break(presencetest.Fault{Err: errDown})
			stays.Break(presencetest.Fault{Err: errDown})
			time.Sleep(time.Second)
			store.wipe()
			time.Sleep(4 * time.Second)
			stays.Heal()
			time.Sleep(later)
			p.deliver("c", start(t, store, quiet), deliver.Options{})
			p.want(time.Minute, "!")
			record, err := store.ReadConsumer(t.Context(), "program", "")
			if _, prepared := record.Set["new"]; err != nil || prepared {
				t.Errorf("got %v, %v, want a record that a node holds", record.Set, err)
			}
		})
	}
}

// The leader dies, and the store is wiped just after another node has begun, which has a copy that may be of an old file.
// A third node begins, and has none. It lets the second one go first.
func TestDeliverWipeNodesJustBegan(t *testing.T) {
	for later := time.Duration(0); later < time.Second; later += 100 * time.Millisecond {
		bubble(t, later.String(), func(t *testing.T) {
			store := newSwapStore()
			dies := presencetest.NewFaults(store)
			a := start(t, dies, quiet)
			p := &program{t: t}
			p.deliver("a", a, deliver.Options{})
			openPage(t, start(t, store, quiet), track.ConnectOptions{Visitor: visitor("alice")})
			p.want(10*time.Second, "+alice")
			dies.Break(presencetest.Fault{Err: errDown})
			p.deliver("b", start(t, store, quiet), deliver.Options{})
			time.Sleep(100 * time.Millisecond)
			store.wipe()
			time.Sleep(later)
			p.deliver("c", start(t, store, quiet), deliver.Options{})
			p.want(time.Minute, "!")
		})
	}
}

// A frozenStore answers no writes while it is frozen, and then does what waited.
type frozenStore struct {
	*swapStore
	thaws atomic.Pointer[chan struct{}]
}

func (s *frozenStore) freeze() (thaw func()) {
	c := make(chan struct{})
	s.thaws.Store(&c)
	return func() {
		s.thaws.Store(nil)
		close(c)
	}
}

func (s *frozenStore) wait(ctx context.Context) error {
	if c := s.thaws.Load(); c != nil {
		select {
		case <-*c:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (s *frozenStore) Apply(ctx context.Context, b []backend.Batch) []backend.Result {
	_ = s.wait(ctx)
	return s.swapStore.Apply(ctx, b)
}

func (s *frozenStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	if err := s.wait(ctx); err != nil {
		return backend.ConsumerClaimed{}, err
	}
	return s.swapStore.ClaimConsumer(ctx, consumer, claim)
}

func (s *frozenStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	return s.swapStore.CommitConsumer(ctx, consumer, step)
}

// The store is wiped, and holds up writes for a while. A node that stands by, whose copy lacks the latest events, reads
// meanwhile that there is no record. The node that led makes it again all the same.
func TestDeliverWipeWhileWritesHang(t *testing.T) {
	for at := time.Duration(0); at < time.Second; at += 100 * time.Millisecond {
		bubble(t, at.String(), func(t *testing.T) {
			store := &frozenStore{swapStore: newSwapStore()}
			cfg := quiet
			cfg.TTL, cfg.Grace = 3*time.Second, time.Second
			a, b := start(t, store, cfg), start(t, store, cfg)
			p := &program{t: t, of: []presence.Topic{deliver.AllOf("thread")}}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			openPage(t, b, track.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{"thread:1"}})
			p.want(10*time.Second+at, "+bob@thread:1")
			openPage(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}})
			time.Sleep(150 * time.Millisecond)
			thaw := store.freeze()
			store.wipe()
			time.Sleep(4600 * time.Millisecond)
			thaw()
			time.Sleep(30 * time.Second)
			joins := make(map[string]bool)
			for _, d := range p.all() {
				if d.Type == deliver.Join && d.User.ID == "alice" {
					joins[d.ID] = true
				}
			}
			if len(joins) != 1 {
				t.Errorf("got %d joins of alice, want one", len(joins))
			}
		})
	}
}

// With a short TTL too, a wipe makes nobody leave who stays: not for a program, and not on a
// page.
func TestDeliverWipeShortTTL(t *testing.T) {
	for _, ttl := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		bubble(t, ttl.String(), func(t *testing.T) {
			store := &noticingStore{swapStore: newSwapStore()}
			cfg := quiet
			cfg.TTL, cfg.Grace = ttl, time.Second
			a, b := start(t, store, cfg), start(t, store, cfg)
			p := &program{t: t}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			openPage(t, b, track.ConnectOptions{Visitor: visitor("bob")})
			reader := connect(t, a, track.ConnectOptions{Observe: true})
			p.want(10*time.Second, "+alice +bob")
			reader.Events(nil)
			for i := range 5 {
				store.wipe()
				store.missed()
				p.want(20*time.Second+time.Duration(i)*170*time.Millisecond, "!")
				for _, e := range reader.Events(nil) {
					var d payload
					noError(t, json.Unmarshal(e.Data, &d))
					if len(d.Leaves) > 0 {
						t.Errorf("got %s, want that nobody leaves", e.Data)
					}
				}
			}
		})
	}
}

// A noticingStore tells its listeners, as one of Redis does, that it lost notices.
type noticingStore struct {
	*swapStore
	mu        sync.Mutex
	listeners []func(backend.Notice)
}

func (s *noticingStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	s.mu.Lock()
	s.listeners = append(s.listeners, fn)
	s.mu.Unlock()
	return s.swapStore.Listen(ctx, fn)
}

func (s *noticingStore) missed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fn := range s.listeners {
		fn(backend.Notice{Missed: time.Second})
	}
}

// The node that leads dies, and the store is wiped before another one leads: what happened
// in between is told all the same, since the nodes that stood by saw it.
func TestDeliverNobodyLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		openPage(t, b, track.ConnectOptions{Visitor: visitor("stays")})
		goes := openPage(t, b, track.ConnectOptions{Visitor: visitor("goes")})
		p.want(30*time.Second, "+stays +goes")
		faults.Break(presencetest.Fault{Err: errDown})
		stay := func(name string) {
			page := openPage(t, b, track.ConnectOptions{Visitor: visitor(name)})
			time.Sleep(500 * time.Millisecond)
			page.conn.Close()
			noError(t, b.SignOut(t.Context(), presence.UserID(name)))
		}
		stay("before")
		goes.conn.Close()
		noError(t, b.SignOut(t.Context(), "goes"))
		time.Sleep(100 * time.Millisecond)
		store.wipe()
		stay("after")
		p.want(time.Minute, "+before -before -goes ! +after -after")
	})
}

// The store fails over to a copy in which users are still there whose leave was told. They
// are not told as new, and who really stays is.
func TestDeliverRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, replica := newSwapStore(), memstore.New()
		tracker := start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", tracker, deliver.Options{})
		time.Sleep(begins)
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

// A second wipe while the record is made again, and wipes one after another.
func TestDeliverWipes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := start(t, store, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		p.deliver("b", b, deliver.Options{})
		openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		openPage(t, b, track.ConnectOptions{Visitor: visitor("bob")})
		p.want(2*begins, "+alice +bob")
		for range 20 {
			store.wipe()
			time.Sleep(700 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if got := strings.ReplaceAll(p.read(), "!", ""); strings.TrimSpace(got) != "" {
			t.Errorf("got %q, want nothing but gaps", got)
		}
	})
}

// A node that comes just after a wipe takes the consumer for a new one, and prepares its record.
// The node that leads puts what it knows in its place.
func TestDeliverWipeMeetsNewcomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := start(t, store, quiet), start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		goes := openPage(t, a, track.ConnectOptions{Visitor: visitor("goes")})
		p.want(10*time.Second, "+alice +goes")
		store.wipe()
		goes.conn.Close()
		noError(t, a.SignOut(t.Context(), "goes"))
		openPage(t, b, track.ConnectOptions{Visitor: visitor("new")})
		time.Sleep(20 * time.Millisecond)
		p.deliver("b", b, deliver.Options{})
		time.Sleep(time.Minute)
		if got := strings.Fields(p.read()); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"!", "+new", "-goes"}) {
			t.Errorf("got %q, want a gap, that one left, and one joined", got)
		}
		openPage(t, a, track.ConnectOptions{Visitor: visitor("goes")})
		p.want(time.Second, "+goes")
	})
}

// A node that led until another one took over remembers who was told, also before it has read
// the record of its successor. So nobody joins twice if the store is wiped then, and the
// successor dies.
func TestDeliverWipeAfterHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		faultsA, faultsB := presencetest.NewFaults(store), presencetest.NewFaults(store)
		a, b := start(t, faultsA, quiet), start(t, faultsB, quiet)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(begins)
		p.deliver("b", b, deliver.Options{})
		openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		p.want(10*time.Second, "+alice")
		down := presencetest.Fault{Err: errDown}
		faultsA.Break(down, presencetest.CallCommitConsumer)
		time.Sleep(8 * time.Second) // b takes over
		faultsA.Heal()
		faultsA.Break(down, presencetest.CallReadConsumer)
		time.Sleep(2 * time.Second) // a notices, and reads nothing yet
		store.wipe()
		faultsB.Break(down)
		faultsA.Heal()
		p.want(time.Minute, "!")
	})
}

// A user who came after a wipe, and whom the next wipe took, was last seen at the next.
func TestDeliverLostByTheNextWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		tracker := start(t, store, quiet)
		p := &program{t: t}
		p.deliver("a", tracker, deliver.Options{})
		time.Sleep(begins)
		openPage(t, tracker, track.ConnectOptions{Visitor: visitor("stays")})
		time.Sleep(time.Minute)
		store.wipe()
		time.Sleep(3 * time.Second) // the topic is in doubt for longer
		page := openPage(t, tracker, track.ConnectOptions{Visitor: visitor("eve")})
		time.Sleep(2 * time.Second)
		wiped := time.Now()
		store.wipe()
		page.conn.Close() // nobody restores eve
		time.Sleep(2 * time.Minute)
		for _, d := range p.all() {
			if d.User.ID == "eve" && d.Type == deliver.Leave {
				if d.LastSeen.Sub(wiped).Abs() > 2*time.Second {
					t.Errorf("got %+v, want her last seen at %v", d, wiped)
				}
				return
			}
		}
		t.Error("eve's leave was not told")
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
		p.want(time.Minute, "-lost")
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
