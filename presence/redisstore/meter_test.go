package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A meter is a Redis of its own and what it does.
type meter struct {
	testing.TB
	client *redis.Client
	store  *redisstore.Store
	server *redistest.Server
	heard  func() int64 // messages until now, of the site and of the naive way
	keep   presence.Keep
}

func newMeter(t testing.TB) *meter {
	server := redistest.Start(t)
	client := server.Client()
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	store.KeepLogs(50 * time.Millisecond)
	t.Cleanup(func() { store.Close() })
	m := &meter{TB: t, client: client, store: store, server: server}
	m.listen()
	return m
}

// A cost is what some work cost Redis.
type cost struct {
	cpu      time.Duration // in all
	users    int           // whom the work was about
	stall    time.Duration // the longest answer to a PING meanwhile
	messages int64
}

func (c cost) String() string {
	return fmt.Sprintf("%6.2f µs %6.1f ms %6d", float64(c.cpu.Nanoseconds())/1e3/float64(c.users), float64(c.stall.Microseconds())/1e3, c.messages)
}

// measure does work, which needs setup before it, in rounds of two: one for the
// processor time, one with a PING going on. It returns the least time, since
// noise only ever adds, and the median stall, since a PING may miss the worst.
func (m *meter) measure(b *testing.B, users int, setup, work func()) cost {
	c := cost{cpu: time.Hour, users: users}
	var stalls []time.Duration
	for b.Loop() {
		setup()
		used := m.cpu()
		work()
		c.cpu = min(c.cpu, m.cpu()-used)
		setup()
		longest, before := m.ping(), m.heard()
		work()
		stalls, c.messages = append(stalls, longest()), m.heard()-before
	}
	slices.Sort(stalls)
	c.stall = stalls[len(stalls)/2]
	b.ReportMetric(0, "ns/op") // the node's, not Redis's
	b.ReportMetric(float64(c.cpu.Nanoseconds())/1e3/float64(users), "redis-µs/user")
	b.ReportMetric(float64(c.stall.Microseconds())/1e3, "stall-ms")
	b.ReportMetric(float64(c.messages), "messages")
	return c
}

// figure returns a number from INFO.
func (m *meter) figure(section, name string) float64 {
	m.Helper()
	for line := range strings.Lines(m.client.Info(context.Background(), section).Val()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				m.Fatal(err)
			}
			return n
		}
	}
	m.Fatalf("INFO %s has no %s", section, name)
	return 0
}

// cpu is the processor time of the server until now.
func (m *meter) cpu() time.Duration {
	m.Helper()
	return time.Duration((m.figure("cpu", "used_cpu_user") + m.figure("cpu", "used_cpu_sys")) * 1e9)
}

// memory is what the server's data and buffers take, once they are at rest.
func (m *meter) memory() int {
	time.Sleep(500 * time.Millisecond)
	return int(m.figure("memory", "used_memory"))
}

// listen counts messages.
func (m *meter) listen() {
	m.Helper()
	pubsub := m.client.PSubscribe(context.Background(), "*diffs*", "naive")
	if _, err := pubsub.Receive(context.Background()); err != nil {
		m.Fatal(err)
	}
	var n atomic.Int64
	var reader sync.WaitGroup
	reader.Go(func() {
		for range pubsub.Channel(redis.WithChannelSize(1 << 16)) {
			n.Add(1)
		}
	})
	m.Cleanup(func() {
		pubsub.Close()
		reader.Wait()
	})
	m.heard = func() int64 {
		for was := int64(-1); was != n.Load(); time.Sleep(20 * time.Millisecond) {
			was = n.Load()
		}
		return n.Load()
	}
}

// ping pings on a connection of its own, and returns what ends that and tells the
// longest answer.
func (m *meter) ping() (longest func() time.Duration) {
	m.Helper()
	conn, err := net.Dial("unix", m.server.Socket)
	if err != nil {
		m.Fatal(err)
	}
	var most time.Duration
	var pinger sync.WaitGroup
	end := make(chan struct{})
	pinger.Go(func() {
		for r := bufio.NewReader(conn); ; time.Sleep(200 * time.Microsecond) {
			select {
			case <-end:
				return
			default:
			}
			began := time.Now()
			fmt.Fprint(conn, "PING\r\n")
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			most = max(most, time.Since(began))
		}
	})
	return func() time.Duration {
		close(end)
		pinger.Wait()
		conn.Close()
		return most
	}
}

// apply writes one batch to the site.
func (m *meter) apply(ops ...backend.Op) {
	m.Helper()
	applyKeeping(m, m.store, m.keep, ops...)
}

// apply writes one batch to the site.
func apply(t testing.TB, store backend.Store, ops ...backend.Op) {
	t.Helper()
	applyKeeping(t, store, presence.Keep{}, ops...)
}

func applyKeeping(t testing.TB, store backend.Store, keep presence.Keep, ops ...backend.Op) {
	t.Helper()
	if r := store.Apply(context.Background(), []backend.Batch{{Topic: presence.Site, Ops: ops, Keep: keep}})[0]; r.Err != nil || len(r.Unknown) > 0 {
		t.Fatalf("apply: %v, unknown %v", r.Err, r.Unknown)
	}
}

// member is a user with a profile of about 60 bytes.
func member(i int) presence.User {
	return presence.User{ID: presence.UserID(fmt.Sprintf("user-%06d", i)), Name: fmt.Sprintf("User Number %06d", i), URL: fmt.Sprintf("/users/%06d", i)}
}

// ops returns an operation for each of some users, by their k-th tab.
func ops(kind backend.OpKind, from, to, k int, length time.Duration) []backend.Op {
	all := make([]backend.Op, 0, to-from)
	for i := from; i < to; i++ {
		u := member(i)
		if kind != backend.OpJoin && kind != backend.OpSeen {
			u = presence.User{ID: u.ID}
		}
		all = append(all, backend.Op{Kind: kind, User: u, Holder: presence.Holder(fmt.Sprintf("node%d.%x", k, i)), For: length})
	}
	return all
}

// lengthOf is how long an operation of a test holds its user.
func lengthOf(kind backend.OpKind) time.Duration {
	if kind == backend.OpRelease {
		return 0
	}
	return time.Hour
}

// each does something for each of some users, one by one, with so many
// goroutines: the naive way.
func (m *meter) each(goroutines, from, to int, do func(context.Context, *redis.Client, string)) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := from + g; i < to; i += goroutines {
				do(context.Background(), m.client, string(member(i).ID))
			}
		})
	}
	all.Wait()
}
