package track_test

import (
	"context"
	"fmt"
	"log/slog"
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

// choose sets a status that must be taken.
func choose(t *testing.T, tracker *track.Tracker, id presence.UserID, status presence.Status) {
	t.Helper()
	noError(t, tracker.SetStatus(t.Context(), id, status))
}

// Invisible stays chosen, whatever happens to the user's leases and to the nodes:
// nobody is told of the user again.
func TestInvisibleLasts(t *testing.T) {
	for name, happens := range map[string]func(t *testing.T, store backend.Store, a *track.Tracker){
		"signing out and in": func(t *testing.T, _ backend.Store, a *track.Tracker) {
			noError(t, a.SignOut(t.Context(), "alice"))
		},
		"eleven minutes away": func(t *testing.T, _ backend.Store, a *track.Tracker) {
			time.Sleep(11 * time.Minute)
		},
	} {
		bubble(t, name, func(t *testing.T) {
			store := memstore.New()
			a := start(t, store, track.Config{Node: "a"})
			w := openPage(t, a, track.ConnectOptions{})
			c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			w.skip()
			choose(t, a, "alice", presence.Invisible)
			w.want("diff + -alice")
			c.Drop()
			happens(t, store, a)
			started := start(t, store, track.Config{Node: "b"}) // knows nothing
			for _, node := range []*track.Tracker{a, started} {
				node.Seen(presence.Site, user("alice"), presence.Device{})
				connect(t, node, track.ConnectOptions{Visitor: visitor("alice")})
			}
			time.Sleep(30 * time.Second)
			w.want()
			choose(t, started, "alice", presence.Online)
			w.want("diff +alice -")
		})
	}
}

// While nobody can tell what a user chose, the user is not announced. That holds up neither pages nor the end of the node.
func TestNotAnnouncedUntilTheChoiceIsKnown(t *testing.T) {
	for name, fault := range map[string]presencetest.Fault{"error": {Err: errDown}, "hangs": {Hang: true}} {
		bubble(t, name, func(t *testing.T) {
			var log strings.Builder
			store := presencetest.NewFaults(memstore.New())
			a := start(t, store, track.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			choose(t, a, "carol", presence.Invisible)
			w := watch(t, a)
			store.Break(fault, presencetest.CallStatuses)
			began := time.Now()
			for _, id := range []presence.UserID{"alice", "carol"} {
				a.Seen(presence.Site, user(string(id)), presence.Device{})
			}
			if waited := time.Since(began); waited > 0 {
				t.Errorf("page views waited %v, want no wait", waited)
			}
			time.Sleep(20 * time.Second)
			w.want()
			if !strings.Contains(log.String(), "nobody can tell what users chose") {
				t.Errorf("got log %q, want a line about it", log.String())
			}
			store.Heal()
			time.Sleep(3 * time.Second)
			w.want("diff +alice -") // and never carol
		})
	}
}

// What waits for a choice keeps its order and its end: who signed out meanwhile is
// not announced, and a closed tab is not online for minutes.
func TestEndsBeforeTheChoiceIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		w := watch(t, a)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallStatuses)
		a.Seen(presence.Site, user("signs out"), presence.Device{})
		a.Seen(presence.Site, user("closes"), presence.Device{})
		a.Seen(presence.Site, user("stays"), presence.Device{})
		c := connect(t, a, track.ConnectOptions{Visitor: visitor("closes")})
		connect(t, a, track.ConnectOptions{Visitor: visitor("stays")})
		c.Close()
		noError(t, a.SignOut(t.Context(), "signs out"))
		time.Sleep(3 * time.Second)
		faults.Heal()
		time.Sleep(2 * time.Second)
		w.want("diff +stays -")
		time.Sleep(10 * time.Minute)
		w.want()
	})
}

// A browser that remembers Invisible hides its user where nobody knows better, and
// only there.
func TestVeiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{})
		w := watch(t, a)
		veiled := user("alice")
		veiled.Veiled = true
		a.Seen(presence.Site, veiled, presence.Device{})
		connect(t, a, track.ConnectOptions{Visitor: presence.Visitor{User: veiled}})
		w.want()
		choose(t, a, "alice", presence.Away)
		w.want("diff +alice -")
		connect(t, a, track.ConnectOptions{Visitor: presence.Visitor{User: veiled}}).Close()
		w.want()
	})
}

// To others idle and away are the same: turning from one to the other is no diff.
func TestFromIdleToAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{})
		w := openPage(t, a, track.ConnectOptions{})
		c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		w.settle()
		time.Sleep(6 * time.Minute)
		if _, err := a.Beat(t.Context(), c.Token(), visitor("alice"), idlePage(true)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		w.read()
		if m, _ := view(t, a).Member("alice"); m.Status != presence.Idle {
			t.Fatalf("got status %q, want idle", m.Status)
		}
		choose(t, a, "alice", presence.Away)
		w.want()
		if m, _ := view(t, a).Member("alice"); m.Status != presence.Away {
			t.Errorf("got status %q, want away", m.Status)
		}
		choose(t, a, "alice", presence.Busy)
		w.want("diff +alice -")
	})
}

func view(t *testing.T, tracker *track.Tracker) *track.View {
	t.Helper()
	v, err := tracker.View(t.Context(), presence.Site)
	noError(t, err)
	return v
}

// updates counts the status changes that one node writes, by topic.
type updates struct {
	backend.Store
	mu      sync.Mutex
	written map[presence.Topic]int
}

func (s *updates) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range batches {
		for _, op := range b.Ops {
			if op.Kind == backend.OpUpdate {
				s.written[b.Topic]++
			}
		}
	}
	return s.Store.Apply(ctx, batches)
}

// A status is written once by each node that holds the user or took the status, and by no other.
func TestStatusIsWrittenByFewNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		var stores [5]*updates
		var nodes [5]*track.Tracker
		for i := range nodes {
			stores[i] = &updates{Store: memory, written: make(map[presence.Topic]int)}
			nodes[i] = start(t, stores[i], track.Config{Node: fmt.Sprint("n", i)})
			openPage(t, nodes[i], track.ConnectOptions{}).want("state ")
		}
		connect(t, nodes[0], track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, nodes[1], track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}})
		time.Sleep(10 * time.Second)
		choose(t, nodes[0], "alice", presence.Busy)
		time.Sleep(10 * time.Second)
		for _, s := range stores {
			s.mu.Lock()
			defer s.mu.Unlock()
		}
		if got := fmt.Sprint(stores[0].written, stores[1].written); got != "map[site:1] map[site:1 thread:1:1]" {
			t.Errorf("got %s written, want the topics that each node holds", got)
		}
		for i := 2; i < len(stores); i++ {
			if len(stores[i].written) > 0 {
				t.Errorf("node %d, which does not have alice, wrote %v", i, stores[i].written)
			}
		}
		for i := range nodes {
			if m, ok := view(t, nodes[i]).Member("alice"); !ok || m.Status != presence.Busy {
				t.Errorf("node %d shows %v %v, want busy", i, ok, m.Status)
			}
		}
	})
}

// Who hides and signs out changes no number that others see, also where the topic has forgotten that the user hides.
func TestSignOutOfWhoHidesChangesNoNumber(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Age: time.Minute})
		a.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(50 * time.Second)
		choose(t, a, "alice", presence.Invisible)
		time.Sleep(30 * time.Second) // the page view holds her no longer, and she is in the old set
		recent := func() int {
			t.Helper()
			_, _ = a.Sweep(t.Context())
			counts, err := a.Counts(t.Context(), presence.Site)
			noError(t, err)
			return counts[0].Recent
		}
		before := recent()
		noError(t, a.SignOut(t.Context(), "alice"))
		time.Sleep(2 * time.Second)
		if after := recent(); before != 1 || after != 1 {
			t.Errorf("%d users came lately, and after she signed out %d, want 1 and 1", before, after)
		}
	})
}
