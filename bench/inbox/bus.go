package main

import (
	"context"
	"os/exec"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/bench/internal/ownredis"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A bus is what the nodes of a site share beside the database: a Redis of this run, or where
// Redis is not installed a memory store.
type bus struct {
	name   string
	server *ownredis.Server
	memory *memstore.Store
}

func startBus(ctx context.Context) (*bus, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return &bus{name: "memory", memory: memstore.New()}, nil
	}
	server, err := ownredis.Start(ctx)
	return &bus{name: "Redis", server: server}, err
}

func (b *bus) stop() {
	if b.server != nil {
		b.server.Stop()
	}
}

// store returns a node's own way to the bus. Nodes of one site have the same prefix. Call
// done after the node's Tracker is closed.
func (b *bus) store(prefix string) (store backend.Store, done func()) {
	if b.memory != nil {
		return b.memory, func() {}
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: b.server.Socket})
	s := redisstore.New(client, redisstore.Config{Prefix: prefix})
	return s, func() { _ = s.Close(); _ = client.Close() }
}
