package storetest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

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
		s.Store = redisstore.New(storeclock.Client{UniversalClient: client, Now: s.now}, redisstore.Config{Prefix: prefix, Timeout: Patience})
		t.Cleanup(func() { s.Close() })
		return s
	}
	return presencetest.Harness{
		New: func(t *testing.T) backend.Store {
			clock := new(atomic.Int64)
			clock.Store(time.Now().UnixMilli())
			return open(t, clock, fmt.Sprint("kit", stores.Add(1)))
		},
		Peer: func(t *testing.T, store backend.Store) backend.Store {
			s := store.(timed)
			return open(t, s.clock, s.prefix)
		},
		Advance: func(store backend.Store, d time.Duration) {
			store.(timed).clock.Add(d.Milliseconds())
		},
	}
}

func memory() presencetest.Harness {
	return presencetest.Harness{
		New:     func(*testing.T) backend.Store { return memstore.New() },
		Advance: func(_ backend.Store, d time.Duration) { time.Sleep(d) },
		Wrap:    synctest.Test,
	}
}

// Kit runs presencetest's rules against each kind of server. It also plays random games of two kinds: many
// short ones, which a failure shortens further, and a long one beside the memory store. Both check each move
// against the same oracle. So only a single Redis plays both, and the other servers play 300 moves of the
// long one. If PRESENCE_LONG is set, all servers play both, and 100,000 moves, which takes ten minutes.
//
// A single Valkey runs the same scripts and commands as a single Redis. So it only plays the game, which
// makes every kind of call. It checks the rules too if PRESENCE_REQUIRE names it, as the hosted CI does, or
// if PRESENCE_LONG is set.
func Kit(t *testing.T, kinds ...ServerKind) {
	long := os.Getenv("PRESENCE_LONG") != ""
	for _, kind := range kinds {
		single := kind.Name == Standalone.Name
		moves := 300
		switch {
		case long:
			moves = 100_000
		case single:
			moves = 1000
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			if !single {
				need.Slow(t, "the whole kit on another kind of server")
			}
			client := kind.Start(t)
			if err := Check(t, client); err != nil {
				t.Fatal(err)
			}
			if kind.Name != Valkey.Name || long || need.Required("valkey") {
				t.Run("rules", func(t *testing.T) { presencetest.Run(t, harness(client)) })
			}
			if single || long { // the other servers play the game below
				t.Run("model", func(t *testing.T) { presencetest.Model(t, harness(client)) })
			}
			t.Run("as in memory", func(t *testing.T) { presencetest.Compare(t, memory(), harness(client), moves, 1) })
		})
	}
}
