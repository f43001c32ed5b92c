package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// batches returns a batch of operations for the site, of all users, and one for each thread,
// of each thread's users.
func batches(kind backend.OpKind, users, threads int, length time.Duration) []backend.Batch {
	all := []backend.Batch{{Topic: presence.Site, Ops: ops(kind, 0, users, 0, length)}}
	for i := range threads {
		thread := presence.Topic(fmt.Sprint("thread:", i))
		all = append(all, backend.Batch{Topic: thread, Ops: ops(kind, i*users/threads, (i+1)*users/threads, 0, length)})
	}
	return all
}

func applyAll(t testing.TB, store backend.Store, all []backend.Batch) {
	t.Helper()
	for i, r := range store.Apply(t.Context(), all) {
		if r.Err != nil || len(r.Unknown) > 0 {
			t.Fatalf("%s: %v, unknown %v", all[i].Topic, r.Err, r.Unknown)
		}
	}
}

// The heartbeats of all topics are one command. Each batch hears which of its own leases are
// gone, and a topic whose key is of another type is refused alone.
func TestHeartbeatsOfAllTopicsAreOneCommand(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	applyAll(t, store, batches(backend.OpJoin, 40, 8, time.Hour))
	beats := batches(backend.OpHeartbeat, 40, 8, 2*time.Hour)
	applyAll(t, store, beats)
	before := store.Stats().Commands
	applyAll(t, store, beats)
	if got := store.Stats().Commands - before; got != 1 {
		t.Errorf("got %d commands for the heartbeats of %d topics, want 1", got, len(beats))
	}
	for _, topic := range []presence.Topic{presence.Site, "thread:0", "thread:7"} {
		if left := client.ZRangeWithScores(t.Context(), "presence:{"+string(topic)+"}:leases", 0, 0).Val(); len(left) == 0 || time.Until(time.UnixMilli(int64(left[0].Score))) < 90*time.Minute {
			t.Errorf("%s: got %v, want leases for two hours", topic, left)
		}
	}

	// Leases that are gone: the third of thread:2, both ends of thread:5.
	gone := map[presence.Topic][]int{"thread:2": {2}, "thread:5": {0, 4}}
	for topic, indexes := range gone {
		for _, i := range indexes {
			op := beats[slices.IndexFunc(beats, func(b backend.Batch) bool { return b.Topic == topic })].Ops[i]
			op.Kind, op.For = backend.OpRelease, 0
			applyAll(t, store, []backend.Batch{{Topic: topic, Ops: []backend.Op{op}}})
		}
	}
	client.Rename(t.Context(), "presence:{thread:3}:leases", "kept")
	client.Set(t.Context(), "presence:{thread:3}:leases", "another program's", 0)
	for i, r := range store.Apply(t.Context(), beats) {
		switch topic := beats[i].Topic; {
		case topic == "thread:3":
			if !errors.Is(r.Err, presence.ErrRefused) {
				t.Errorf("%s: got %v, want ErrRefused", topic, r.Err)
			}
		case r.Err != nil || !slices.Equal(r.Unknown, gone[topic]):
			t.Errorf("%s: got %v, unknown %v, want %v", topic, r.Err, r.Unknown, gone[topic])
		}
	}
}

// Behind a client for one server there may be a cluster, whose slots get a script each.
func TestHeartbeatsOnOneServerThatIsACluster(t *testing.T) {
	t.Parallel()
	client := oneServerCluster(t)
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	applyAll(t, store, batches(backend.OpJoin, 40, 8, time.Hour))
	applyAll(t, store, batches(backend.OpHeartbeat, 40, 8, 2*time.Hour))
	before := store.Stats().Commands
	applyAll(t, store, batches(backend.OpHeartbeat, 40, 8, 2*time.Hour))
	if got := store.Stats().Commands - before; got != 9 {
		t.Errorf("got %d commands for the heartbeats of 9 slots", got)
	}
}

// Heartbeats of many topics stay within what one round trip may weigh, and all are renewed.
func TestManyTopicsAreSeveralScripts(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	applyAll(t, store, batches(backend.OpJoin, 1000, 500, time.Hour))
	applyAll(t, store, batches(backend.OpHeartbeat, 1000, 500, 2*time.Hour))
	before := store.Stats().Commands
	applyAll(t, store, batches(backend.OpHeartbeat, 1000, 500, 2*time.Hour))
	if got := store.Stats().Commands - before; got < 5 || got > 9 {
		t.Errorf("got %d commands for 2,000 heartbeats in 501 topics, want 5 to 9", got)
	}
	for i := range 500 {
		left := client.ZRangeWithScores(t.Context(), fmt.Sprintf("presence:{thread:%d}:leases", i), 0, 0).Val()
		if len(left) == 0 || time.Until(time.UnixMilli(int64(left[0].Score))) < 90*time.Minute {
			t.Fatalf("thread:%d: got %v, want leases for two hours", i, left)
		}
	}
}

// costOfPages is that of heartbeats of 1,000 users, each in the site and in one of 200 threads.
func costOfPages(b *testing.B, m *meter) cost {
	const users, threads = 1000, 200
	applyAll(b, m.store, batches(backend.OpJoin, users, threads, time.Hour))
	return m.measure(b, 2*users, func() {}, func() {
		applyAll(b, m.store, batches(backend.OpHeartbeat, users, threads, time.Hour))
	})
}

// oneServerCluster returns a client for one server that has all slots of a cluster.
func oneServerCluster(t *testing.T) *redis.Client {
	t.Helper()
	client := redistest.StartTCP(t, "--cluster-enabled", "yes").Client()
	noError(t, client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	for deadline := time.Now().Add(patience); client.Set(t.Context(), "ready", 1, 0).Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not come up")
		}
	}
	return client
}
