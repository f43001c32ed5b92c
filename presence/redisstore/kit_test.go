package redisstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/redistest"
)

// timed is a store with a clock of its own, which its peers share.
type timed struct {
	*redisstore.Store
	client redis.UniversalClient
	clock  *atomic.Int64 // Unix milliseconds
	prefix string
}

func (s timed) now() time.Time { return time.UnixMilli(s.clock.Load()) }

var stores atomic.Int64

// harness gives each store keys of its own on one server.
func harness(client redis.UniversalClient) presencetest.Harness {
	open := func(t *testing.T, clock *atomic.Int64, prefix string) timed {
		s := timed{client: client, clock: clock, prefix: prefix}
		s.Store = redisstore.New(client, redisstore.Config{Prefix: prefix, Clock: s.now, Timeout: 10 * time.Second})
		t.Cleanup(func() { s.Close() })
		return s
	}
	return presencetest.Harness{
		New: func(t *testing.T) presence.Store {
			clock := new(atomic.Int64)
			clock.Store(time.Now().UnixMilli())
			return open(t, clock, "kit"+time.Duration(stores.Add(1)).String())
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

func TestKit(t *testing.T) {
	presencetest.Run(t, harness(redistest.Start(t).Client()))
}
func TestModel(t *testing.T) {
	presencetest.Model(t, harness(redistest.Start(t).Client()))
}
