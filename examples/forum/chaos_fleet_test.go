package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
)

// The fleet's times: short, so that what they must heal is healed soon.
const (
	chaosTTL   = 3 * time.Second
	chaosGrace = time.Second
	chaosSweep = 200 * time.Millisecond
	chaosAge   = 6 * time.Second
)

// restTime is within which all must be well after the last fault: what a site is
// promised, and findTime, which is as long with a TTL of 45 s and is hidden in it
// there.
const restTime = chaosTTL + chaosSweep + time.Second + findTime

// findTime is what nodes need to find out that Redis is back (2 s), and, where it
// lost its data, to put theirs back before they read it (1.5 s).
const findTime = 3500 * time.Millisecond

// A fleet is some forums, their Redis, and those who use them.
type fleet struct {
	t       *testing.T
	nodes   []*node
	front   string             // address of the proxy that streams go through; empty: to any node
	proxies []*hangingProxy    // one a node; none with a cluster
	redis   *redistest.Server  // or
	cluster *redistest.Cluster // that
	library *library
	client  *http.Client

	users   []*chaosUser
	readers []*chaosReader // those of users and of guests
	starts  atomic.Int64   // of nodes that were killed or stopped
	lost    bool           // the store has lost its data since all was well: a node that starts finds nobody
	waits   sync.WaitGroup // what is not over: nodes that come back, requests
}

// A node is a forum process that comes back on the same address.
type node struct {
	t    *testing.T
	args []string
	addr string

	mu  sync.Mutex
	cmd *exec.Cmd
	log bytes.Buffer
}

// newFleet starts three nodes on one Redis or on a cluster of three masters, with
// further flags.
func newFleet(t *testing.T, clustered bool, flags ...string) *fleet {
	f := &fleet{t: t, library: newLibrary(), client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: -1}}}
	if clustered {
		f.cluster = redistest.StartCluster(t, 3, 1)
	} else {
		f.redis = redistest.Start(t)
	}
	for i := range 3 {
		url := ""
		if clustered {
			url = strings.Join(f.cluster.Addrs()[:3], ",")
		} else {
			f.proxies = append(f.proxies, newHangingProxy(t, "unix", f.redis.Socket))
			url = f.proxies[i].url()
		}
		n := &node{t: t, addr: redistest.FreeAddr(t), args: append([]string{"-redis", url, "-node", fmt.Sprint("n", i), "-age", chaosAge.String(),
			"-throttle", "1s", "-ttl", chaosTTL.String(), "-grace", chaosGrace.String(), "-sweep", chaosSweep.String()}, flags...)}
		n.run()
		t.Cleanup(n.kill)
		f.nodes = append(f.nodes, n)
	}
	return f
}

// run starts the process, and returns once it listens.
func (n *node) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		return
	}
	cmd := forumCommand(context.Background(), append([]string{"-addr", n.addr}, n.args...)...)
	cmd.Stderr = &n.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.t.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		n.t.Error(err)
		return
	}
	n.cmd = cmd
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "listening on http://"+n.addr+"\n" {
		n.t.Errorf("got %q, want the address %s", line, n.addr)
	}
}

// kill ends the process at once.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}

// stop asks the process to end, as a deploy does, and waits.
func (n *node) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { _ = n.cmd.Process.Kill() })
	defer late.Stop()
	if err := n.cmd.Wait(); err != nil {
		n.t.Errorf("after SIGTERM: got %v, want exit code 0", err)
	}
	n.cmd = nil
}

// url of a page on a node.
func (n *node) url(path string) string { return "http://" + n.addr + path }

// logged is what the process wrote to standard error.
func (n *node) logged() string {
	n.kill()
	return n.log.String()
}
