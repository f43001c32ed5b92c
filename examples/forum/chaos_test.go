package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/redisstore/redistest"
)

// The fleet's times: short, so that what they must heal is healed soon.
const (
	chaosTTL   = 3 * time.Second
	chaosGrace = time.Second
	chaosSweep = 200 * time.Millisecond
)

// TestChaos breaks a fleet of three forums on one Redis in every way that there
// is, while users come and go and everybody reads. At rest, every reader's
// roster must be the truth, and on the way nobody may have seen what cannot be.
//
// CHAOS_SEED picks another run, CHAOS_TIME (20s) another length, and CHAOS_USERS
// (60) another size.
func TestChaos(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64)
	length, err := time.ParseDuration(os.Getenv("CHAOS_TIME"))
	if err != nil {
		length = 20 * time.Second
	}
	users, err := strconv.Atoi(os.Getenv("CHAOS_USERS"))
	if err != nil {
		users = 60
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	f := newFleet(t, users)
	began := map[string]int{}
	for end := time.Now().Add(length); time.Now().Before(end); {
		for range 1 + users/20 {
			f.toggle(rnd.IntN(users))
		}
		name, breakIt := f.disaster(rnd)
		began[name]++
		breakIt()
		time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond)
	}
	f.waits.Wait() // every node and the server are back

	// Rest: the ttl, a sweep and a second, after the last one that came back has
	// had time to.
	time.Sleep(3*time.Second + chaosTTL + chaosSweep + time.Second)
	f.check(t)
	t.Logf("seed %d: %v; %d streams opened, %d states", seed, began, f.sum(func(r *fleetReader) int { return r.opened }),
		f.sum(func(r *fleetReader) int { return r.states }))
}

// A fleet is three forums, their Redis, and those who read them.
type fleet struct {
	t       *testing.T
	redis   *redistest.Server
	nodes   []*node
	users   []*chaosUser
	readers []*fleetReader
	waits   sync.WaitGroup // disasters that are not over
}

// A node is a forum process that comes back on the same address.
type node struct {
	t    *testing.T
	args []string
	url  string
	log  bytes.Buffer

	mu  sync.Mutex
	cmd *exec.Cmd
}

// A chaosUser is somebody with a page open, or not. The first third stay all the
// time.
type chaosUser struct {
	reader *fleetReader
	stays  bool
	leave  context.CancelFunc // nil: not there
	left   sync.WaitGroup
}

func newFleet(t *testing.T, users int) *fleet {
	f := &fleet{t: t, redis: redistest.Start(t)}
	var urls []string
	for i := range 3 {
		n := &node{t: t, args: []string{"-redis", f.redis.URL(), "-node", fmt.Sprint("n", i), "-age", "10s", "-throttle", "1s",
			"-ttl", chaosTTL.String(), "-grace", chaosGrace.String(), "-sweep", chaosSweep.String()}}
		n.run("127.0.0.1:0")
		t.Cleanup(n.kill)
		f.nodes, urls = append(f.nodes, n), append(urls, n.url)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: -1}}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	for range 10 { // guests, who watch all the time
		r := newFleetReader("", client, urls)
		f.readers = append(f.readers, r)
		watching.Go(func() { r.run(ctx) })
	}
	for i := range users {
		u := &chaosUser{reader: newFleetReader(fmt.Sprint("u", i), client, urls), stays: i < users/3}
		f.users, f.readers = append(f.users, u), append(f.readers, u.reader)
		f.toggle(i)
		t.Cleanup(func() {
			if u.leave != nil {
				u.leave()
			}
			u.left.Wait()
		})
	}
	time.Sleep(2 * time.Second)
	return f
}

// toggle lets a user come or go.
func (f *fleet) toggle(i int) {
	u := f.users[i]
	switch {
	case u.leave == nil:
		u.left.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		u.leave = cancel
		u.left.Go(func() { u.reader.run(ctx) })
	case !u.stays:
		u.leave()
		u.leave = nil
	}
}

// disaster picks one.
func (f *fleet) disaster(rnd *rand.Rand) (name string, do func()) {
	n := f.nodes[rnd.IntN(len(f.nodes))]
	pause := time.Duration(rnd.IntN(1000)) * time.Millisecond
	server := func(args ...any) func() {
		return func() { _ = f.redis.Client().Do(context.Background(), args...).Err() }
	}
	switch rnd.IntN(7) {
	case 0:
		return "node killed", func() {
			n.kill()
			f.waits.Go(func() { time.Sleep(pause); n.run(strings.TrimPrefix(n.url, "http://")) })
		}
	case 1:
		return "redis killed", func() {
			f.redis.Kill()
			time.Sleep(pause)
			f.redis.Run()
		}
	case 2:
		return "flushall", server("FLUSHALL")
	case 3:
		return "pause", server("CLIENT", "PAUSE", "700")
	case 4:
		return "pubsub cut", server("CLIENT", "KILL", "TYPE", "pubsub")
	case 5:
		return "all clients cut", server("CLIENT", "KILL", "TYPE", "normal")
	}
	return "nothing", func() {}
}

// run starts the process, and returns once it listens.
func (n *node) run(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		return
	}
	cmd := forumCommand(context.Background(), append([]string{"-addr", addr}, n.args...)...)
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
	line, _ := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		n.t.Errorf("got %q, want an address; it logged\n%s", line, &n.log)
	}
	n.cmd, n.url = cmd, url
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

// check holds everybody's roster against the truth.
func (f *fleet) check(t *testing.T) {
	var truth []string
	for _, u := range f.users {
		if u.leave != nil {
			truth = append(truth, u.reader.name)
		}
	}
	slices.Sort(truth)
	for i, r := range f.readers {
		if r.name != "" && f.users[i-10].leave == nil {
			continue // its page is closed
		}
		r.mu.Lock()
		if got := slices.Sorted(maps.Keys(r.roster)); !slices.Equal(got, truth) {
			t.Errorf("reader %d has a roster of %d, want the truth of %d\ntoo many: %v\nmissing: %v", i, len(got), len(truth), without(got, truth), without(truth, got))
		}
		for _, fault := range r.faults {
			t.Errorf("reader %d: %s", i, fault)
		}
		for _, u := range f.users {
			if n := r.leaves[u.reader.name]; u.stays && n > 0 {
				t.Errorf("reader %d saw %s leave %d times, who stayed all the time", i, u.reader.name, n)
			}
		}
		r.mu.Unlock()
	}
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

func (f *fleet) sum(figure func(*fleetReader) int) (total int) {
	for _, r := range f.readers {
		r.mu.Lock()
		total += figure(r)
		r.mu.Unlock()
	}
	return total
}
