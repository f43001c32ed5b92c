package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/peers"
	"github.com/rollcall-go/rollcall/bench/internal/readers"
)

const (
	stalledReaders = 100
	stalledPadding = 3500 // so that the sockets of the one who stopped are full soon
	stalledRate    = 500  // changes a second
	stalledFill    = 4 * time.Second
)

var stalled = &scenario{
	name:  "stalled",
	title: "One reader stopped reading",
	unit:  "% of the changes that the others did not get within their time",
	about: "100 others get 500 changes a second, of which half have 3.5 KB. The table shows what the others lost, their p99 once the stalled reader's sockets are full, their p99 before, and what the kernel keeps for the stalled reader",
	once:  true,
	peers: func(p peers.Peer) bool { return !p.Users && !strings.HasSuffix(p.Name, "(limit)") },
	columns: []column{
		{key: "lost", head: "% lost", format: "%.1f"},
		{key: "after", head: "p99 ms", format: "%.1f"},
		{key: "before", head: "p99 ms without", format: "%.1f"},
		{key: "kernel", head: "kernel KB", format: "%.0f"},
	},
	run: func(cfg *config, p peers.Peer) (values, error) {
		b, err := start(p, peers.Options{Padding: stalledPadding})
		if err != nil {
			return nil, err
		}
		defer b.stop()
		if err := b.dial(stalledReaders, nil); err != nil {
			return nil, err
		}
		load := Load{Rate: stalledRate, For: cfg.For}
		if _, err := b.measure(Load{Rate: stalledRate, For: warmUp}); err != nil {
			return nil, err
		}
		before, err := b.measure(load)
		if err != nil {
			return nil, err
		}
		if err := b.dial(1, func(d *readers.Dial) { d.Stalled, d.Receive = true, 4<<10 }); err != nil {
			return nil, err
		}
		fill := load
		fill.For = stalledFill
		after, err := b.measure(fill)
		if err == nil && after.Stuck {
			after.Report, err = b.watch(load.For) // the publisher waits for the one who stopped
		} else if err == nil {
			after, err = b.measure(load)
		}
		if err != nil {
			return nil, err
		}
		expected := stalledReaders * stalledRate * load.For.Seconds() // who was cut lost all
		v := values{
			"before": ms(before.Lag.Quantile(0.99)),
			"lost":   max(0, 100*(expected-float64(after.Delivered))/expected),
			"kernel": float64(sendQueue(b.addr)) / 1024,
		}
		if after.Lag.N > 0 {
			v["after"] = ms(after.Lag.Quantile(0.99))
		}
		return v, nil
	},
}

// sendQueue returns how many bytes the fullest connection of a server keeps for
// its reader.
func sendQueue(addr string) (most int) {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	local := fmt.Sprintf(":%04X", n)
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && strings.HasSuffix(fields[1], local) {
			if queue, err := strconv.ParseInt(strings.Split(fields[4], ":")[0], 16, 64); err == nil {
				most = max(most, int(queue))
			}
		}
	}
	return most
}
