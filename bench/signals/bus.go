package main

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/ownredis"
)

// A bus is a Redis of this run, which the nodes of a peer share. A nil *bus means no Redis.
type bus struct{ *ownredis.Server }

func startBus(ctx context.Context) (*bus, error) {
	server, err := ownredis.Start(ctx)
	if err != nil {
		return nil, err
	}
	return &bus{server}, nil
}

// path is the path of the socket; "" for no bus.
func (b *bus) path() string {
	if b == nil {
		return ""
	}
	return b.Socket
}

// used returns the time of the processors that Redis has used.
func (b *bus) used() (time.Duration, error) {
	if b == nil {
		return 0, nil
	}
	return processorTime(b.Process.Pid)
}

func (b *bus) stop() {
	if b != nil {
		b.Stop()
	}
}
