package redisstore_test

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// What many users took, in Redis and in a node that shows them, comes back when
// they left: every round brings others. Where PRESENCE_LONG is set, 100,000 come
// and go ten times, which takes some minutes.
func TestMemoryComesBack(t *testing.T) {
	need.Slow(t, "it fills and empties a Redis")
	users, rounds := 3000, 10
	if os.Getenv("PRESENCE_LONG") != "" {
		users, rounds = 100_000, 10
	}
	client := redistest.Start(t).Client()
	store := redisstore.New(client, redisstore.Config{LogSize: 16, Timeout: patience})
	store.KeepLogs(time.Second)
	defer store.Close()
	tracker, err := track.New(store, track.Config{
		TTL: 2 * time.Second, Grace: 100 * time.Millisecond, Age: 300 * time.Millisecond, LastSeenKeep: time.Millisecond, LogSize: 16,
		Logger: slog.New(slog.DiscardHandler),
	})
	noError(t, err)
	defer tracker.Close(context.Background())
	reader, err := tracker.Connect(t.Context(), track.ConnectOptions{Topics: []presence.Topic{presence.Site}})
	noError(t, err)
	defer reader.Close()

	node, server := make([]int, rounds), make([]int, rounds)
	for round := range rounds {
		comeAndGo(t, tracker, users, round)
		drain(t, tracker, store)
		node[round], server[round] = heap(), used(t, client)
		t.Logf("round %d: node %d KB, Redis %d KB", round, node[round]>>10, server[round]>>10)
	}
	left := func() []string { return slices.DeleteFunc(client.Keys(t.Context(), "*").Val(), ownKey) }
	for end := time.Now().Add(patience); len(left()) > 0; time.Sleep(100 * time.Millisecond) { // the log stays for a while, and what is remembered
		drain(t, tracker, store)
		if time.Now().After(end) {
			t.Fatalf("%q are left over", left())
		}
	}
	// From round 2 on every buffer has its size. How much the latest frames hold, which
	// readers may still want, depends on how busy the machine is. So the least of the later
	// rounds counts: what is never given back is in all of them.
	const settled = 2
	later := rounds - 4
	const (
		known  = 200  // bytes that a node remembers of a user who left: a choice of status, up to its bound of users
		framed = 1000 // bytes of a user in the latest frames, who joined and left
	)
	slack := 1<<20 + framed*users + known*users*(later-settled)
	if grown := slices.Min(node[later:]) - node[settled]; grown > slack {
		t.Errorf("the node grew by %d KB since round %d", grown>>10, settled)
	}
	if grown := slices.Min(server[later:]) - server[settled]; grown > slack {
		t.Errorf("Redis grew by %d KB since round %d", grown>>10, settled)
	}
}

// comeAndGo lets users view a page, half of them in a connection, and all go.
func comeAndGo(t *testing.T, tracker *track.Tracker, users, round int) {
	var all sync.WaitGroup
	for part := range slices.Chunk(slices.Collect(counting(users)), max(1, users/64)) {
		all.Go(func() {
			for _, i := range part {
				u := presence.User{ID: presence.UserID("r" + strconv.Itoa(round) + "-" + strconv.Itoa(i)), Name: strings.Repeat("name", 15)}
				tracker.Seen(presence.Site, u, presence.Device{})
				if i%100 == 0 {
					c, err := tracker.Connect(t.Context(), track.ConnectOptions{Topics: []presence.Topic{presence.Site}, Visitor: presence.Visitor{User: u}})
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
				}
			}
		})
	}
	all.Wait()
}

// counting yields 0 to n-1.
func counting(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// drain waits until everybody has left, and forgets when.
func drain(t *testing.T, tracker *track.Tracker, store *redisstore.Store) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := tracker.Sweep(t.Context())
		_, err2 := tracker.Age(t.Context())
		_, err3 := tracker.Trim(t.Context())
		counts, err4 := store.Counts(t.Context(), presence.Site)
		for _, err := range []error{err, err2, err3, err4} {
			noError(t, err)
		}
		if counts[0].Total == 0 && counts[0].Recent == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("long after all left: %+v", counts)
		}
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func used(t *testing.T, client *redis.Client) int {
	t.Helper()
	for line := range strings.Lines(client.Info(t.Context(), "memory").Val()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	t.Fatal("INFO says nothing of memory")
	return 0
}

// ownKey reports whether a key is the store's own, and of no topic.
func ownKey(key string) bool {
	for _, tag := range []string{"{~index}", "{~index}"} {
		if strings.HasPrefix(key, "presence:"+tag+":") {
			return true
		}
	}
	return false
}
