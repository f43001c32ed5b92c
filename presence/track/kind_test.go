package track_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestKindHasTheConfigsDefaults(t *testing.T) {
	tracker := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{
		"edit": {TTL: 6 * time.Second, Grace: -1},
		"big":  {MaxRoster: 5, Grace: time.Minute},
	}})
	cfg := tracker.Config()
	for topic, want := range map[presence.Topic]presence.Kind{
		"site":      {TTL: 45 * time.Second, Grace: 10 * time.Second, MaxRoster: 10_000},
		"edit:1:2":  {TTL: 6 * time.Second, MaxRoster: 10_000},
		"big":       {TTL: 45 * time.Second, Grace: time.Minute, MaxRoster: 5},
		"bigger:1":  {TTL: 45 * time.Second, Grace: 10 * time.Second, MaxRoster: 10_000},
		"thread:42": {TTL: 45 * time.Second, Grace: 10 * time.Second, MaxRoster: 10_000},
	} {
		if got := cfg.Kind(topic); got != want {
			t.Errorf("%s: got %+v, want %+v", topic, got, want)
		}
	}
}

func TestInvalidKinds(t *testing.T) {
	_, err := track.New(memstore.New(), track.Config{Kinds: map[string]presence.Kind{
		"a":        {TTL: time.Millisecond},
		"b":        {Recent: -1},
		"c":        {Recent: 1_000_001},
		"d":        {PeakGuests: true},
		"thread:1": {},
		"":         {},
	}})
	if !errors.Is(err, presence.ErrInvalidConfig) {
		t.Fatalf("got %v, want ErrInvalidConfig", err)
	}
	for _, want := range []string{`"a"].TTL`, `"b"].Recent`, `"c"].Recent`, `"d"].PeakGuests`, `"thread:1"`, `""`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

// appliedStore remembers what was applied.
type appliedStore struct {
	backend.Store
	mu      sync.Mutex
	batches []backend.Batch
}

func (s *appliedStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	s.mu.Lock()
	for _, b := range batches {
		b.Ops = slices.Clone(b.Ops)
		s.batches = append(s.batches, b)
	}
	s.mu.Unlock()
	return s.Store.Apply(ctx, batches)
}

// of returns the operations of a kind in a topic, and forgets all.
func (s *appliedStore) of(topic presence.Topic, kind backend.OpKind) (ops []backend.Op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		for _, op := range b.Ops {
			if b.Topic == topic && op.Kind == kind {
				ops = append(ops, op)
			}
		}
	}
	return ops
}

func (s *appliedStore) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = nil
}

// shortAndLong are kinds with times of their own.
var shortAndLong = map[string]presence.Kind{
	"edit": {TTL: 6 * time.Second, Grace: 2 * time.Second},
	"room": {TTL: 2 * time.Minute, Grace: time.Minute},
}

// Every lease of a topic has the times of its kind: of a join, of the node's beats, of a
// page's beat at another node, of the end of a connection at this and at another node.
func TestLeasesHaveTheTimesOfTheirKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &appliedStore{Store: memstore.New()}
		cfg := track.Config{Kinds: shortAndLong}
		a, b := start(t, store, cfg), start(t, store, cfg)
		topics := []presence.Topic{presence.Site, "edit:1", "room:1"}
		ttls := []time.Duration{45 * time.Second, 6 * time.Second, 2 * time.Minute}
		leases := []time.Duration{3 * time.Minute, 24 * time.Second, 8 * time.Minute}
		graces := []time.Duration{10 * time.Second, 2 * time.Second, time.Minute}
		want := func(what string, kind backend.OpKind, times []time.Duration) {
			t.Helper()
			time.Sleep(100 * time.Millisecond)
			for i, topic := range topics {
				ops := store.of(topic, kind)
				if len(ops) == 0 {
					t.Errorf("%s: got no such operation in %s", what, topic)
				}
				for _, op := range ops {
					if op.For != times[i] {
						t.Errorf("%s: got %v in %s, want %v", what, op.For, topic, times[i])
					}
				}
			}
			store.forget()
		}
		c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: topics})
		want("join", backend.OpJoin, leases)
		time.Sleep(12 * time.Second)
		want("the node's beat", backend.OpHeartbeat, leases)
		if alive, err := b.Beat(t.Context(), c.Token(), visitor("alice"), track.Page{Joined: true}); !alive || err != nil {
			t.Errorf("got %v, %v of a beat at another node", alive, err)
		}
		want("a beat at another node", backend.OpKeep, ttls)
		c.Unsubscribe("edit:1")
		noError(t, c.Subscribe(t.Context(), "edit:1", ""))
		if err := b.Leave(t.Context(), c.Token(), visitor("alice")); err != nil {
			t.Error(err)
		}
		want("releases", backend.OpRelease, graces)
	})
}

// A kind's topic keeps its users for the kind's TTL and grace, beside a topic with the
// config's. A connection beats as often as the shortest TTL of its topics needs.
func TestKindTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Kinds: shortAndLong})
		topics := []presence.Topic{"edit:1", "room:1", presence.Site}
		pages := make(map[presence.Topic]*page)
		for _, topic := range topics {
			pages[topic] = openPage(t, tracker, track.ConnectOptions{Topics: []presence.Topic{topic}})
			pages[topic].want("state ")
		}
		closes := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: topics})
		sleeps := connect(t, tracker, track.ConnectOptions{Visitor: visitor("bob"), Topics: topics, Beat: true})
		for _, p := range pages {
			p.skip()
		}
		wantGone := func(user string, after map[presence.Topic]time.Duration) {
			t.Helper()
			began := time.Now()
			for _, topic := range slices.SortedFunc(maps.Keys(after), func(a, b presence.Topic) int { return cmp.Compare(after[a], after[b]) }) {
				time.Sleep(time.Until(began.Add(after[topic] - 2*time.Second)))
				pages[topic].want()
				time.Sleep(3 * time.Second)
				pages[topic].want("diff + -" + user)
			}
		}
		for range 2 {
			time.Sleep(1900 * time.Millisecond) // less than a third of 6 s
			sleeps.Beat()
		}
		slept := time.Now()
		time.Sleep(5 * time.Second)
		pages["edit:1"].want()
		time.Sleep(2 * time.Second)
		pages["edit:1"].want("diff + -bob")
		time.Sleep(time.Until(slept.Add(44 * time.Second)))
		pages[presence.Site].want()
		time.Sleep(2500 * time.Millisecond)
		pages[presence.Site].want("diff + -bob")
		time.Sleep(time.Until(slept.Add(119 * time.Second)))
		pages["room:1"].want()
		time.Sleep(2500 * time.Millisecond)
		pages["room:1"].want("diff + -bob")

		time.Sleep(10 * time.Minute)
		for _, p := range pages {
			p.want() // this node beats for alice's stream
		}
		closes.Close()
		wantGone("alice", map[presence.Topic]time.Duration{"edit:1": 2 * time.Second, presence.Site: 10 * time.Second, "room:1": time.Minute})
	})
}

func TestTimingOfAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := map[string]presence.Kind{
			"edit": {TTL: 6 * time.Second},
			"room": {TTL: 2 * time.Minute, Grace: time.Minute},
			"now":  {Grace: -1},
		}
		tracker := start(t, memstore.New(), track.Config{Kinds: kinds})
		for _, tc := range []struct {
			o                track.ConnectOptions
			heartbeat, grace time.Duration
		}{
			{track.ConnectOptions{Visitor: visitor("a")}, 15 * time.Second, 10 * time.Second},
			{track.ConnectOptions{Visitor: visitor("a"), Topics: []presence.Topic{"site", "edit:1", "room:1"}}, 2 * time.Second, 10 * time.Second},
			{track.ConnectOptions{Visitor: visitor("a"), Topics: []presence.Topic{"room:1"}}, 15 * time.Second, time.Minute},
			{track.ConnectOptions{Visitor: visitor("a"), Topics: []presence.Topic{"room:1", "now:1"}}, 15 * time.Second, 0},
			{track.ConnectOptions{Visitor: visitor("a"), Topics: []presence.Topic{"edit:1"}, Observe: true}, 15 * time.Second, 10 * time.Second},
			{track.ConnectOptions{Topics: []presence.Topic{"edit:1"}}, 15 * time.Second, 10 * time.Second},
		} {
			c := connect(t, tracker, tc.o)
			if heartbeat, grace := c.Timing(); heartbeat != tc.heartbeat || grace != tc.grace {
				t.Errorf("%v: got %v and %v, want %v and %v", tc.o.Topics, heartbeat, grace, tc.heartbeat, tc.grace)
			}
			c.Close()
		}
		c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("a")})
		noError(t, c.Subscribe(t.Context(), "edit:1", ""))
		if heartbeat, _ := c.Timing(); heartbeat != 2*time.Second {
			t.Errorf("got %v after a subscription, want 2s", heartbeat)
		}
	})
}

// MaxRoster by kind: totals beyond it, and diffs in a topic of another kind.
func TestMaxRosterOfAKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{"hall": {MaxRoster: 2}}})
		topics := []presence.Topic{"hall:1", presence.Site}
		watch := connect(t, tracker, track.ConnectOptions{Topics: topics})
		watch.Events(nil)
		for _, id := range []string{"a", "b", "c"} {
			for _, topic := range topics {
				tracker.Seen(topic, user(id), presence.Device{})
			}
			time.Sleep(2 * time.Second)
		}
		last := make(map[presence.Topic]presence.EventType)
		for _, e := range watch.Events(nil) {
			if e.Type != presence.EventHeartbeat {
				last[e.Topic] = e.Type
			}
		}
		if last["hall:1"] != presence.EventCount || last[presence.Site] != presence.EventDiff {
			t.Errorf("got %v, want a count in the hall and a diff in the site", last)
		}
	})
}

// Each batch says what the store keeps of its topic.
func TestBatchesSayWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &appliedStore{Store: memstore.New()}
		tracker := start(t, store, track.Config{Kinds: map[string]presence.Kind{
			"site": {Recent: 50, ForgetSignedOut: true, Active: true, Peak: true, PeakGuests: true, Bots: true, CountOnly: true},
		}})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		tracker.Seen("thread:1", user("alice"), presence.Device{})
		time.Sleep(time.Second)
		store.mu.Lock()
		defer store.mu.Unlock()
		kept := make(map[presence.Topic]presence.Keep)
		for _, b := range store.batches {
			kept[b.Topic] = b.Keep
		}
		if want := (presence.Keep{Names: 50, ForgetSignedOut: true, Active: true, Peak: true, PeakGuests: true}); kept[presence.Site] != want {
			t.Errorf("got %+v for the site, want %+v", kept[presence.Site], want)
		}
		if kept["thread:1"] != (presence.Keep{}) {
			t.Errorf("got %+v for a thread, want nothing", kept["thread:1"])
		}
	})
}
