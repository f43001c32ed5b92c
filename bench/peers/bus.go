package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/ownredis"
)

// A bus is the Redis of a fleet, at an address that stays.
type bus struct {
	front   *proxy
	main    *ownredis.Server
	replica *ownredis.Server // nil: none
	link    *proxy           // from the replica to main
	stopped bool
}

func startBus(ctx context.Context) (b *bus, err error) {
	b = &bus{}
	if b.main, err = ownredis.Start(ctx); err != nil {
		return nil, err
	}
	if b.front, err = newProxy("unix", b.main.Socket); err != nil {
		b.main.Stop()
		return nil, err
	}
	return b, nil
}

func (b *bus) addr() string { return b.front.address() }

// pause stops the process: connections stay open, and nobody answers.
func (b *bus) pause() error {
	b.stopped = true
	return b.main.Process.Signal(syscall.SIGSTOP)
}

func (b *bus) resume() error {
	b.stopped = false
	return b.main.Process.Signal(syscall.SIGCONT)
}

// replicate starts a replica, and waits until it follows.
func (b *bus) replicate(ctx context.Context) (err error) {
	if b.replica, err = ownredis.Start(ctx); err != nil {
		return err
	}
	if b.link, err = newProxy("unix", b.main.Socket); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(b.link.address())
	if err != nil {
		return err
	}
	if err := b.main.Client.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err(); err != nil {
		return err
	}
	if err := b.replica.Client.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		return err
	}
	for range 200 {
		info, err := b.replica.Client.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the replica does not follow")
}

// lag cuts the replica off: it loses what comes from now on.
func (b *bus) lag() { b.link.lead("", "") }

// fail kills the main Redis.
func (b *bus) fail() {
	b.front.lead("", "")
	b.main.Process.Kill()
}

// promote makes the replica the one that answers.
func (b *bus) promote(ctx context.Context) error {
	if err := b.replica.Client.Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return err
	}
	b.front.lead("unix", b.replica.Socket)
	return nil
}

func (b *bus) close() {
	b.front.close()
	if b.link != nil {
		b.link.close()
	}
	if b.replica != nil {
		b.replica.Stop()
	}
	if b.stopped {
		b.resume()
	}
	b.main.Stop()
}
