package redisstore_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// Four sweepers and four agers at once: each ghost leaves once, and the sets turn
// once a period.
func TestManySweepersAndAgers(t *testing.T) {
	const ghosts, period = 10_000, 400 * time.Millisecond
	server := redistest.Start(t)
	first := storetest.New(t, server)
	apply(t, first, ops(presence.OpJoin, 0, ghosts, 0, 50*time.Millisecond)...)
	apply(t, first, presence.Op{Kind: presence.OpGuest, Guest: "g", For: period})
	began := time.Now()

	var leaves, turns atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { // until the ghosts are gone, and the sets have turned some times
		for (leaves.Load() < ghosts || turns.Load() < 4) && ctx.Err() == nil {
			time.Sleep(period / 10)
		}
		cancel()
	}()
	var all sync.WaitGroup
	for range 4 {
		store := storetest.New(t, server)
		all.Go(func() {
			for ctx.Err() == nil {
				swept, err := store.Sweep(context.Background(), presence.SweepOptions{Limit: 1000})
				if err != nil {
					t.Error(err)
				}
				leaves.Add(int64(swept.Leaves))
			}
		})
		all.Go(func() {
			for ctx.Err() == nil {
				turned, err := store.Age(context.Background(), period)
				if err != nil {
					t.Error(err)
				}
				turns.Add(int64(turned))
				apply(t, store, presence.Op{Kind: presence.OpGuest, Guest: "g", For: period})
			}
		})
	}
	all.Wait()
	if got := leaves.Load(); got != ghosts {
		t.Errorf("the sweeps say %d leaves, want %d", got, ghosts)
	}
	if got, most := turns.Load(), int64(time.Since(began)/period); got < 4 || got > most {
		t.Errorf("the sets turned %d times in %d periods, want 4 or more, and once a period", got, most)
	}
	diffs, err := first.Log(t.Context(), presence.Site, presence.Origin)
	if err != nil {
		t.Fatal(err)
	}
	left := make(map[presence.UserID]int)
	for _, d := range diffs {
		for _, l := range d.Leaves {
			left[l.ID]++
		}
	}
	for id, n := range left {
		if n != 1 {
			t.Errorf("%s left %d times", id, n)
		}
	}
	if len(left) != ghosts {
		t.Errorf("the log has leaves of %d users, want %d", len(left), ghosts)
	}
}

// The topics of a node that died are found by a sweeper that never heard of them.
// What they leave behind is last seen.
func TestSweepFindsTopicsOfADeadNode(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	config := redisstore.Config{Keep: 50 * time.Millisecond, Timeout: patience}
	dead := redisstore.New(client, config)
	const brief = 100 * time.Millisecond
	person := func(id presence.UserID) presence.User { return presence.User{ID: id} }
	left := map[presence.Topic][]presence.Op{
		"joined":    {{Kind: presence.OpJoin, User: person("u"), Holder: "n.1", For: brief}},
		"viewed":    {{Kind: presence.OpSeen, User: person("u"), For: brief}},
		"guests":    {{Kind: presence.OpGuest, Guest: "g", For: brief}},
		"invisible": {{Kind: presence.OpJoin, User: presence.User{ID: "u", Status: presence.Invisible}, Holder: "n.1", For: brief}},
		"released": {
			{Kind: presence.OpJoin, User: person("u"), Holder: "n.1", For: brief},
			{Kind: presence.OpRelease, User: person("u"), Holder: "n.1", For: brief},
		},
	}
	const leaving = 3
	for topic, ops := range left {
		if err := dead.Apply(t.Context(), []presence.Batch{{Topic: topic, Ops: ops}})[0].Err; err != nil {
			t.Fatal(err)
		}
	}
	dead.Close()

	other := redisstore.New(client, config)
	defer other.Close()
	leaves := 0
	for end := time.Now().Add(patience); time.Now().Before(end) && leaves < leaving; time.Sleep(50 * time.Millisecond) {
		swept, err := other.Sweep(t.Context(), presence.SweepOptions{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		leaves += swept.Leaves
	}
	if leaves != leaving {
		t.Fatalf("got %d leaves, want %d", leaves, leaving)
	}
	var keys []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := other.Age(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		keys = keys[:0]
		for _, key := range client.Keys(t.Context(), "*").Val() {
			if !ownKey(key) && !strings.HasSuffix(key, "}:seen") {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			return
		}
	}
	t.Errorf("got keys %q left over, want none but last seen", keys)
}
