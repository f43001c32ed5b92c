package outagetest_test

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// Whatever befalls Redis: pages never wait, what is written meanwhile lands when
// it is over, and nobody who stayed is seen to leave.
func TestOutages(t *testing.T) {
	need.Slow(t, "clusters fail over")
	do := func(t *testing.T, s *redistest.Server, args ...any) {
		t.Helper()
		if err := s.Client().Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	at := func(name string, test func(*testing.T)) { // all at once: they wait most of the time
		all.Go(func() { t.Run(name, test) })
	}
	at("a failover that loses writes", failover)
	at("a Sentinel's failover", sentinelFailover)
	for name, cut := range cuts() {
		at("a subscription through "+name, func(t *testing.T) { watchThrough(t, cut) })
	}
	for _, outage := range []struct {
		name  string
		lasts time.Duration
		begin func(*testing.T, *redistest.Server)
		end   func(*testing.T, *redistest.Server)
	}{
		{name: "FLUSHALL", begin: func(t *testing.T, s *redistest.Server) { do(t, s, "FLUSHALL") }},
		{name: "CLIENT KILL TYPE pubsub", begin: func(t *testing.T, s *redistest.Server) { do(t, s, "CLIENT", "KILL", "TYPE", "pubsub") }},
		{name: "CLIENT KILL TYPE normal", begin: func(t *testing.T, s *redistest.Server) { do(t, s, "CLIENT", "KILL", "TYPE", "normal") }},
		{name: "CLIENT PAUSE", lasts: time.Second, begin: func(t *testing.T, s *redistest.Server) { do(t, s, "CLIENT", "PAUSE", 1000) }},
		{
			name: "killed and started empty", lasts: time.Second,
			begin: func(_ *testing.T, s *redistest.Server) { s.Kill() },
			end:   func(_ *testing.T, s *redistest.Server) { s.Run() },
		},
		{
			name: "hangs for longer than a lease", lasts: fleetTTL + time.Second,
			begin: func(_ *testing.T, s *redistest.Server) { s.Freeze() },
			end:   func(_ *testing.T, s *redistest.Server) { s.Thaw() },
		},
		{
			name: "read-only", lasts: time.Second,
			begin: func(t *testing.T, s *redistest.Server) { do(t, s, "REPLICAOF", "127.0.0.1", 1) },
			end:   func(t *testing.T, s *redistest.Server) { do(t, s, "REPLICAOF", "NO", "ONE") },
		},
		{
			name: "full", lasts: time.Second,
			begin: func(t *testing.T, s *redistest.Server) { do(t, s, "CONFIG", "SET", "maxmemory", 1) },
			end:   func(t *testing.T, s *redistest.Server) { do(t, s, "CONFIG", "SET", "maxmemory", 0) },
		},
	} {
		at(outage.name, func(t *testing.T) {
			server := redistest.Start(t)
			f := newFleet(t, func() redis.UniversalClient { return server.Client() })
			f.open(f.nodes[0], "stays")
			f.open(f.nodes[1], "stays-elsewhere")
			goes := f.open(f.nodes[1], "goes")
			f.wants("goes", "stays", "stays-elsewhere")

			outage.begin(t, server)
			began := time.Now()
			took := f.pages(1000)
			goes.Close()
			// That none waits at all is tested where no other work shows: presence.TestOutage.
			if half := took[len(took)/2]; half > 10*time.Millisecond {
				t.Errorf("a page took %v, want it not to wait for Redis", half)
			}
			time.Sleep(outage.lasts - time.Since(began))
			if outage.end != nil {
				outage.end(t, server)
			}
			f.open(f.nodes[0], "late")

			f.wants("late", "stays", "stays-elsewhere", "views")
			time.Sleep(fleetTTL) // whoever does not beat would be gone
			f.wants("late", "stays", "stays-elsewhere", "views")
			f.stayed("stays", "stays-elsewhere")
			c, err := f.nodes[0].store.Counts(t.Context(), presence.Site)
			for range 10 { // on a busy machine a call may take longer than it has
				if err == nil {
					break
				}
				c, err = f.nodes[0].store.Counts(t.Context(), presence.Site)
			}
			if err != nil || c[0].Guests != 10 {
				t.Errorf("got %+v, %v, want the 10 guests who came meanwhile", c, err)
			}
		})
	}
}

// pages views pages of both nodes, and returns how long each took, the shortest
// first.
func (f *fleet) pages(n int) []time.Duration {
	f.t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		f.nodes[0].Seen(presence.Site, presence.User{ID: "views"}, presence.Device{})
		f.nodes[1].SeenGuest(presence.Site, strconv.Itoa(i%10))
		if _, err := f.nodes[i%2].View(f.t.Context(), presence.Site); err != nil {
			f.t.Fatalf("a page has no roster: %v", err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took
}

// failover lets a cluster promote a replica that had not heard of the last writes:
// who came is put back, who went goes again, and nobody who stayed is seen to
// leave.
func failover(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, 1, "--cluster-node-timeout", "3000")
	f := newFleet(t, func() redis.UniversalClient { return cluster.Client() })
	f.open(f.nodes[0], "stays")
	goes := f.open(f.nodes[1], "goes")
	f.wants("goes", "stays")
	heard := storetest.Watch(t, f.nodes[0].store)

	master := cluster.Master("{" + string(presence.Site) + "}")
	for _, args := range [][]any{
		{"WAIT", 1, 5000},
		{"ACL", "SETUSER", "default", "-psync", "-sync"}, // so that it does not come back
		{"CLIENT", "KILL", "TYPE", "replica"},
	} {
		if err := master.Client().Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	goes.Close()
	f.open(f.nodes[0], "late")
	f.wants("late", "stays")
	before, err := f.nodes[0].store.Log(t.Context(), presence.Site, "")
	if err != nil || len(before) == 0 {
		t.Fatalf("got a log of %d, %v, want some diffs", len(before), err)
	}
	master.Kill()
	cluster.Ready()

	f.wants("late", "stays")
	time.Sleep(fleetTTL)
	f.wants("late", "stays")
	f.stayed("stays")
	heard("after the failover")
	after, err := f.nodes[0].store.Log(t.Context(), presence.Site, "")
	noError(t, err)
	if lost := before[len(before)-1].ID; len(after) == 0 || contains(after, lost) {
		t.Errorf("got a log of %d that holds %s, want the failover to have lost that diff", len(after), lost)
	}
}

// sentinelFailover is the same where a Sentinel promotes the replica, with nothing
// lost. A Sentinel itself is refused: it keeps no data.
func sentinelFailover(t *testing.T) {
	master := redistest.StartTCP(t)
	host, port, _ := net.SplitHostPort(master.Addr)
	redistest.StartTCP(t, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	sentinel := redistest.StartSentinel(t, master)
	storetest.WantUnfit(t, "a Sentinel", storetest.Check(t, sentinel.Client()), "it is a Sentinel")
	known := func() string { // the Sentinel asks its master every ten seconds
		return sentinel.Client().Info(t.Context(), "sentinel").Val()
	}
	for end := time.Now().Add(patience); !strings.Contains(known(), "slaves=1"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the Sentinel knows no replica: %s", known())
		}
	}
	f := newFleet(t, func() redis.UniversalClient {
		c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redistest.SentinelMaster, SentinelAddrs: []string{sentinel.Addr}})
		t.Cleanup(func() { c.Close() })
		return c
	})
	f.open(f.nodes[0], "stays")
	goes := f.open(f.nodes[1], "goes")
	f.wants("goes", "stays")
	if err := f.nodes[0].store.Check(t.Context()); err != nil {
		t.Errorf("got %v, want a server that will do", err)
	}
	heard := storetest.Watch(t, f.nodes[0].store)

	master.Kill()
	goes.Close()
	f.wants("stays")
	time.Sleep(fleetTTL)
	f.wants("stays")
	f.stayed("stays")
	heard("after the failover")
}

func contains(log []backend.Diff, id presence.DiffID) bool {
	for _, d := range log {
		if d.ID == id {
			return true
		}
	}
	return false
}
