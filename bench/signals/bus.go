package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/bound"
)

// A bus is a Redis of this run, which the nodes of a peer share.
type bus struct {
	dir, socket string
	server      *exec.Cmd
	client      *redis.Client
}

// startBus starts a Redis with its socket in a folder of its own.
func startBus(ctx context.Context) (b *bus, err error) {
	b = &bus{}
	if b.dir, err = os.MkdirTemp("", "signals"); err != nil {
		return nil, err
	}
	b.socket = filepath.Join(b.dir, "redis.sock")
	b.server = bound.To(exec.Command("redis-server", "--port", "0", "--unixsocket", b.socket, "--save", "", "--appendonly", "no", "--dir", b.dir), syscall.SIGKILL)
	if err := b.server.Start(); err != nil {
		os.RemoveAll(b.dir)
		return nil, err
	}
	b.client = redis.NewClient(&redis.Options{Network: "unix", Addr: b.socket, MaxRetries: -1})
	for range 500 {
		if b.client.Ping(ctx).Err() == nil {
			return b, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.stop()
	return nil, errors.New("redis-server does not answer")
}

// path is the path of the socket; "" for no bus.
func (b *bus) path() string {
	if b == nil {
		return ""
	}
	return b.socket
}

// used returns the time of the processors that Redis has used.
func (b *bus) used() (time.Duration, error) {
	if b == nil {
		return 0, nil
	}
	return processorTime(b.server.Process.Pid)
}

func (b *bus) stop() {
	if b == nil {
		return
	}
	b.client.Close()
	_ = b.server.Process.Kill()
	_ = b.server.Wait()
	os.RemoveAll(b.dir)
}
