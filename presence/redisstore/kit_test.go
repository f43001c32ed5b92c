package redisstore_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// patience is how long a test waits for what should come at once, on a machine
// that has much else to do.
const patience = time.Minute

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	leak.VerifyTestMain(m)
}

// quiet is the client's logger: what is broken here is broken on purpose.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// timed is a store with a clock of its own, which its peers share.
type timed struct {
	*redisstore.Store
	clock  *atomic.Int64 // Unix milliseconds
	prefix string
}

func (s timed) now() time.Time { return time.UnixMilli(s.clock.Load()) }

var stores atomic.Int64

// harness gives each store keys of its own on one server or cluster.
func harness(client redis.UniversalClient) presencetest.Harness {
	open := func(t *testing.T, clock *atomic.Int64, prefix string) timed {
		s := timed{clock: clock, prefix: prefix}
		s.Store = redisstore.New(client, redisstore.Config{Prefix: prefix, Clock: s.now, Timeout: patience})
		t.Cleanup(func() { s.Close() })
		return s
	}
	return presencetest.Harness{
		New: func(t *testing.T) presence.Store {
			clock := new(atomic.Int64)
			clock.Store(time.Now().UnixMilli())
			return open(t, clock, fmt.Sprint("kit", stores.Add(1)))
		},
		Peer: func(t *testing.T, store presence.Store) presence.Store {
			s := store.(timed)
			return open(t, s.clock, s.prefix)
		},
		Advance: func(store presence.Store, d time.Duration) {
			store.(timed).clock.Add(d.Milliseconds())
		},
	}
}

func memory() presencetest.Harness {
	return presencetest.Harness{
		New:     func(*testing.T) presence.Store { return memstore.New() },
		Advance: func(_ presence.Store, d time.Duration) { time.Sleep(d) },
		Wrap:    synctest.Test,
	}
}

// servers are what the store must work on.
var servers = []struct {
	name  string
	start func(t *testing.T) redis.UniversalClient
}{
	{"standalone", func(t *testing.T) redis.UniversalClient { return redistest.Start(t).Client() }},
	{"valkey", func(t *testing.T) redis.UniversalClient { return startValkey(t).Client() }},
	{"one-node cluster", func(t *testing.T) redis.UniversalClient {
		return redistest.StartCluster(t, 1, 0, redistest.Patient()...).Client()
	}},
	{"three masters and replicas", func(t *testing.T) redis.UniversalClient {
		return redistest.StartCluster(t, 3, 1, redistest.Patient()...).Client()
	}},
}

// startValkey skips where there is no Valkey. Debian 13 has a package of it, and
// Debian 12 one in its backports, which .ci/test installs.
func startValkey(t *testing.T) *redistest.Server {
	return redistest.StartProgram(t, need.Program(t, "valkey", "valkey-server"))
}

// TestStore plays random games of two kinds: many short ones, which a failure
// makes shorter still, and a long one beside the memory store. Both hold each move
// against the same oracle, so that a single Redis plays both, and the other servers
// only 300 moves of the long one. Where PRESENCE_LONG is set all servers play both,
// and 100,000 moves, which takes ten minutes.
func TestStore(t *testing.T) {
	long := os.Getenv("PRESENCE_LONG") != ""
	for i, server := range servers {
		first := i == 0
		moves := 300
		switch {
		case long:
			moves = 100_000
		case first:
			moves = 1000
		}
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !first {
				t.Skip("slow: the whole kit on another kind of server; without -short it runs")
			}
			client := server.start(t)
			s := redisstore.New(client, redisstore.Config{Timeout: patience})
			if err := s.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Close()
			t.Run("rules", func(t *testing.T) { presencetest.Run(t, harness(client)) })
			if first || long { // the others play the game below
				t.Run("model", func(t *testing.T) { presencetest.Model(t, harness(client)) })
			}
			t.Run("as in memory", func(t *testing.T) { presencetest.Compare(t, memory(), harness(client), moves, 1) })
		})
	}
}
