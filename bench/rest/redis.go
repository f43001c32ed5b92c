package main

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/bench/internal/ownredis"
)

// A bus is the Redis of one run, which its nodes share.
type bus struct{ *ownredis.Server }

func startBus(ctx context.Context) (*bus, error) {
	server, err := ownredis.Start(ctx)
	if err != nil {
		return nil, err
	}
	return &bus{server}, nil
}

// messages counts the diffs and notices that are published from now on, until stop is called. It
// leaves out the empty messages by which a node asks itself whether it hears, and the second
// channel of each diff, which has the number of the database in its name.
func (b *bus) messages(ctx context.Context) (n *atomic.Int64, stop func(), err error) {
	sub := b.Client.PSubscribe(ctx, "*:diffs", "*{~index}*")
	for range 2 {
		if _, err := sub.Receive(ctx); err != nil { // that it is subscribed
			return nil, nil, err
		}
	}
	n = new(atomic.Int64)
	go func() {
		for m := range sub.Channel() {
			if m.Payload != "" {
				n.Add(1)
			}
		}
	}()
	return n, func() { sub.Close() }, nil
}

// A load is what Redis has done until a moment, by its own account.
type load struct {
	CPU     time.Duration
	In, Out int            // bytes
	Memory  int            // bytes in use, which is no sum
	Calls   map[string]int // by command, those that scripts call among them
}

// load reads INFO.
func (b *bus) load(ctx context.Context) (l load, err error) {
	l.Calls = make(map[string]int)
	text, err := b.Client.Info(ctx, "cpu", "stats", "memory", "commandstats").Result()
	if err != nil {
		return l, err
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		number := func() int { n, _ := strconv.Atoi(value); return n }
		switch name {
		case "used_cpu_user", "used_cpu_sys":
			seconds, _ := strconv.ParseFloat(value, 64)
			l.CPU += time.Duration(seconds * float64(time.Second))
		case "total_net_input_bytes":
			l.In = number()
		case "total_net_output_bytes":
			l.Out = number()
		case "used_memory":
			l.Memory = number()
		}
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			l.Calls[command], _ = strconv.Atoi(calls)
		}
	}
	return l, nil
}

// since returns what was done after another load.
func (l load) since(before load) load {
	l.CPU, l.In, l.Out = l.CPU-before.CPU, l.In-before.In, l.Out-before.Out
	calls := make(map[string]int)
	for name, n := range l.Calls {
		if n -= before.Calls[name]; n > 0 && name != "info" {
			calls[name] = n
		}
	}
	l.Calls = calls
	return l
}

// A counter counts the commands that a client sends. A script is one command, whatever it
// calls: INFO commandstats cannot tell them apart.
type counter struct{ n atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
