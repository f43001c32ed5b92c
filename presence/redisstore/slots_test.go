package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// countedTopics are as many topics as two scripts of figures, with another number of users each.
func countedTopics(t *testing.T, store *redisstore.Store) (topics []presence.Topic) {
	t.Helper()
	batches := make([]backend.Batch, 70)
	for i := range batches {
		topics = append(topics, presence.Topic(fmt.Sprint("thread:", i)))
		batches[i] = backend.Batch{Topic: topics[i], Ops: ops(backend.OpJoin, 0, i%4, 0, time.Hour)}
	}
	for i, r := range store.Apply(t.Context(), batches) {
		if r.Err != nil {
			t.Fatal(i, r.Err)
		}
	}
	return topics
}

func wantTotals(t *testing.T, store *redisstore.Store, topics []presence.Topic, unknown int) {
	t.Helper()
	counts, err := store.Counts(t.Context(), topics...)
	if err != nil || len(counts) != len(topics) {
		t.Fatalf("got figures of %d topics, %v, want %d", len(counts), err, len(topics))
	}
	for i, c := range counts {
		if i == unknown {
			if !c.Unknown {
				t.Errorf("%s: got %+v, want unknown figures", topics[i], c)
			}
		} else if c.Unknown || c.Total != i%4 || (c.Head == backend.Origin) != (c.Total == 0) {
			t.Errorf("%s: got %+v, want %d online", topics[i], c, i%4)
		}
	}
}

// The figures of up to 64 topics are one command. One whose key is of another type has no
// figures, and the others have theirs.
func TestFiguresOfManyTopicsAreOneCommand(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	topics := countedTopics(t, store)
	wantTotals(t, store, topics, -1)
	before := store.Stats().Commands
	wantTotals(t, store, topics, -1)
	if got := store.Stats().Commands - before; got != 2 {
		t.Errorf("got %d commands for the figures of %d topics, want 2", got, len(topics))
	}
	for _, name := range []string{"users", "head", "guests"} {
		key := "presence:{" + string(topics[5]) + "}:" + name
		client.Rename(t.Context(), key, "kept")
		client.ZAdd(t.Context(), key, redis.Z{Member: "another program's"})
		wantTotals(t, store, topics, 5)
		client.Del(t.Context(), key)
		client.Rename(t.Context(), "kept", key)
	}
	wantTotals(t, store, topics, -1)
}

// A client for one server may have a cluster behind it, which refuses commands about several
// slots. Then each slot gets its own.
func TestOneServerThatIsACluster(t *testing.T) {
	t.Parallel()
	client := oneServerCluster(t)
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	topics := countedTopics(t, store)
	wantTotals(t, store, topics, -1)
	before := store.Stats().Commands
	wantTotals(t, store, topics, -1)
	slots := make(map[int64]bool)
	for _, topic := range topics {
		slots[client.ClusterKeySlot(t.Context(), "{"+string(topic)+"}").Val()] = true
	}
	if got := store.Stats().Commands - before; got != uint64(len(slots)) {
		t.Errorf("got %d commands for %d slots", got, len(slots))
	}
}
