package track_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// saidStore keeps the operations that say something of attention, in their order.
type saidStore struct {
	backend.Store
	mu   sync.Mutex
	said []string
}

func (s *saidStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	for _, b := range batches {
		for _, op := range b.Ops {
			if op.Kind == backend.OpKeep {
				s.said = append(s.said, fmt.Sprint(op.Idle))
			}
		}
	}
	s.mu.Unlock()
	return s.Store.Apply(ctx, batches)
}

func (s *saidStore) take() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	said := fmt.Sprint(s.said)
	s.said = nil
	return said
}

// beatAt sends a beat for a connection to a node.
func beatAt(t *testing.T, node *track.Tracker, c *track.Connection, idle bool) {
	t.Helper()
	if alive, err := node.Beat(t.Context(), c.Token(), visitor("alice"), idlePage(idle)); !alive || err != nil {
		t.Fatalf("a beat: got alive %v, %v", alive, err)
	}
}

// wantStatus checks what a node shows of alice in a topic.
func wantStatus(t *testing.T, what string, node *track.Tracker, topic presence.Topic, want presence.Status) {
	t.Helper()
	synctest.Wait()
	view, err := node.View(t.Context(), topic)
	noError(t, err)
	if m, _ := view.Member("alice"); m.Status != want {
		t.Errorf("%s: %s shows %q, want %q", what, topic, m.Status, want)
	}
}

// The beats of a page may come to any node, and each node that heard one lately holds the user. So the user is back at once
// wherever the page says so, and away once each of these nodes knows, or has not heard the page for a TTL.
func TestIdleByBeatsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &saidStore{Store: memstore.New()}
		a, b, c := start(t, store, track.Config{}), start(t, store, track.Config{}), start(t, store, track.Config{})
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		for _, node := range []*track.Tracker{a, b, c} {
			openPage(t, node, track.ConnectOptions{})
		}
		beats := func(idle bool, nodes ...*track.Tracker) {
			for _, node := range nodes {
				time.Sleep(15 * time.Second)
				beatAt(t, node, page, idle)
			}
			time.Sleep(1100 * time.Millisecond)
		}
		beats(true, b, b)
		wantStatus(t, "its own node does not know", a, presence.Site, presence.Online)
		beats(true, b)
		wantStatus(t, "its own node has not heard of it for 45 s", a, presence.Site, presence.Idle)
		beats(false, c)
		wantStatus(t, "by c", a, presence.Site, presence.Online)
		beats(true, c)
		wantStatus(t, "by c again", b, presence.Site, presence.Idle)
		beats(false, a)
		wantStatus(t, "by its own node", c, presence.Site, presence.Online)
		beats(true, a, b, c)
		wantStatus(t, "all know", c, presence.Site, presence.Idle)
		store.take()
		beats(true, b, b, b, b, b, b, b, b)
		if got := store.take(); got != "[]" {
			t.Errorf("in two minutes it was said %s, want nothing new", got)
		}
	})
}

// A page that changes its word with every beat, as fast as beats are taken, turns its user at
// most once a second, at whatever node it beats. What it said last is what counts.
func TestIdleTurnsAtMostOnceASecond(t *testing.T) {
	for name, at := range map[string]int{"at its own node": 0, "at another node": 1} {
		for _, last := range []bool{true, false} {
			bubble(t, fmt.Sprintf("%s, at last %v", name, last), func(t *testing.T) {
				store := memstore.New()
				nodes := []*track.Tracker{start(t, store, track.Config{}), start(t, store, track.Config{})}
				page := connect(t, nodes[0], track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
				time.Sleep(time.Second)
				var updates atomic.Int64
				stop, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(d backend.Diff) { updates.Add(int64(len(d.Updates))) }})
				noError(t, err)
				defer stop()
				for i := range 200 {
					beatAt(t, nodes[at], page, (i%2 == 1) == last)
					time.Sleep(50 * time.Millisecond)
				}
				for range 3 {
					time.Sleep(15 * time.Second)
					beatAt(t, nodes[at], page, last)
				}
				time.Sleep(2 * time.Second)
				if got := updates.Load(); got > 12 {
					t.Errorf("10 s of beats made %d updates, want at most one a second", got)
				}
				want := map[bool]presence.Status{true: presence.Idle, false: presence.Online}[last]
				wantStatus(t, "the last word", nodes[0], presence.Site, want)
			})
		}
	}
}

// Whatever a node asks the store about a member, it says who is idle.
func TestIdleAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		time.Sleep(time.Second)
		for what, got := range track.StatusesAsked(t.Context(), a, "alice") {
			if got != presence.Idle {
				t.Errorf("%s: got status %q, want idle", what, got)
			}
		}
	})
}

// Who goes from one page to the next, or from one device to another, is not seen to turn idle.
func TestIdleTakesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{}), start(t, store, track.Config{})
		w := openPage(t, b, track.ConnectOptions{Visitor: visitor("bob")})
		desk := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		phone := connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		time.Sleep(time.Minute)
		w.skip()
		for range 3 {
			beatAt(t, a, desk, true)
			time.Sleep(900 * time.Millisecond)
			beatAt(t, b, phone, false)
			time.Sleep(time.Minute)
			beatAt(t, b, phone, true)
			time.Sleep(900 * time.Millisecond)
			beatAt(t, a, desk, false)
			time.Sleep(time.Minute)
			desk.Close()
			time.Sleep(900 * time.Millisecond)
			desk = connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			time.Sleep(time.Minute)
		}
		w.want()
		beatAt(t, a, desk, true)
		time.Sleep(1100 * time.Millisecond)
		w.want("diff +alice -")
	})
}

// A page view at a node that has no page of the user is somebody in its topic. The stream of
// that page then speaks for it.
func TestIdleByAViewElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{}), start(t, store, track.Config{})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		time.Sleep(time.Minute)
		wantStatus(t, "at first", b, presence.Site, presence.Idle)
		b.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Minute)
		wantStatus(t, "viewed a page", a, presence.Site, presence.Online)
		page := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		wantStatus(t, "its stream", a, presence.Site, presence.Online)
		beatAt(t, b, page, true)
		time.Sleep(2 * time.Second)
		wantStatus(t, "nobody is there", a, presence.Site, presence.Idle)
		b.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(time.Second)
		wantStatus(t, "viewed another", a, presence.Site, presence.Online)
		page.Close()
		time.Sleep(6 * time.Minute)
		wantStatus(t, "long ago", a, presence.Site, presence.Idle)
	})
}

// A store that lost its data has it back from the nodes: also who is idle.
func TestIdleAfterAWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a := start(t, store, track.Config{})
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		time.Sleep(time.Minute)
		for _, idle := range []bool{true, false, true} {
			beatAt(t, a, one, idle)
			time.Sleep(10 * time.Second)
			store.wipe()
			time.Sleep(time.Minute)
			want := map[bool]presence.Status{true: presence.Idle, false: presence.Online}[idle]
			wantStatus(t, "after a wipe", a, presence.Site, want)
		}
	})
}

// A kind of topics with a short TTL, in which the user is not, is nothing to the user's pages: one
// that beats every 20 s is awake.
func TestIdleBesideAShortKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{"chat": {TTL: 10 * time.Second}}})
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		two := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		for _, idle := range []bool{true, false, true} {
			beatAt(t, a, two, true)
			time.Sleep(19 * time.Second)
			beatAt(t, a, one, idle)
			time.Sleep(2 * time.Second)
			want := map[bool]presence.Status{true: presence.Idle, false: presence.Online}[idle]
			wantStatus(t, fmt.Sprintf("nobody is there: %v", idle), a, presence.Site, want)
		}
	})
}

// What is said of a page is no proof that it is alive: its lease in each topic ends a TTL of the
// topic after the last beat.
func TestIdleHoldsInNoTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{"chat": {TTL: 30 * time.Second}}})
		c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true, Topics: []presence.Topic{presence.Site, "chat:1"}})
		other := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true, Topics: []presence.Topic{"thread:1"}})
		beatAt(t, a, c, true)
		time.Sleep(20 * time.Second)
		beatAt(t, a, other, true) // both are said to be idle
		time.Sleep(2 * time.Second)
		for _, topic := range []presence.Topic{presence.Site, "chat:1"} {
			wantStatus(t, "nobody is there", a, topic, presence.Idle)
		}
		time.Sleep(11 * time.Second)
		wantStatus(t, "33 s after its beat", a, "chat:1", "")
		wantStatus(t, "33 s after its beat", a, presence.Site, presence.Idle)
		time.Sleep(15 * time.Second)
		wantStatus(t, "48 s after its beat", a, presence.Site, "")
	})
}
