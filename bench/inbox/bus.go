package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A bus is what the nodes of a site share beside the database: a Redis of this run, or where
// Redis is not installed a memory store.
type bus struct {
	name   string
	socket string
	server *exec.Cmd
	memory *memstore.Store
}

// startBus starts a Redis with its socket in a folder.
func startBus(ctx context.Context, dir string) (*bus, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return &bus{name: "memory", memory: memstore.New()}, nil
	}
	b := &bus{name: "Redis", socket: filepath.Join(dir, "redis.sock")}
	b.server = bound.To(exec.Command(program, "--port", "0", "--unixsocket", b.socket, "--save", "", "--appendonly", "no", "--dir", dir), syscall.SIGKILL)
	if err := b.server.Start(); err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: b.socket, MaxRetries: -1})
	defer client.Close()
	for range 500 {
		if client.Ping(ctx).Err() == nil {
			return b, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.stop()
	return nil, errors.New("redis-server does not answer")
}

func (b *bus) stop() {
	if b.server == nil {
		return
	}
	_ = b.server.Process.Kill()
	_ = b.server.Wait()
}

// store returns a node's own way to the bus. Nodes of one site have the same prefix. Call
// done after the node's Tracker is closed.
func (b *bus) store(prefix string) (store presence.Store, done func()) {
	if b.memory != nil {
		return b.memory, func() {}
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: b.socket})
	s := redisstore.New(client, redisstore.Config{Prefix: prefix})
	return s, func() { _ = s.Close(); _ = client.Close() }
}
