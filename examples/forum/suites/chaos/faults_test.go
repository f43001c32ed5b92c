package chaos_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// A disaster is one thing that breaks. It returns when it is over, but for what
// the fleet's waits wait for.
type disaster struct {
	name string
	do   func(f *fleet, rnd *rand.Rand)
}

// losses are the disasters by which the store loses data, or what was written last.
var losses = []string{"redis killed", "redis away", "master killed", "master restarted", "master hangs", "flushall"}

// Disasters of any fleet.
var nodeDisasters = []disaster{
	{"node killed", func(f *fleet, rnd *rand.Rand) {
		n, pause := f.nodes[rnd.IntN(len(f.nodes))], time.Duration(rnd.IntN(1000))*time.Millisecond
		n.Kill()
		f.forgets(n)
		f.starts.Add(1)
		f.waits.Go(func() { time.Sleep(pause); n.Run() })
	}},
	{"node deployed", func(f *fleet, rnd *rand.Rand) {
		n := f.nodes[rnd.IntN(len(f.nodes))]
		f.starts.Add(1)
		f.waits.Go(func() {
			n.Stop()
			f.starts.Add(1) // what it took until now, perhaps nobody else had heard
			n.Run()
		})
	}},
}

// Disasters of a single server.
var serverDisasters = []disaster{
	{"redis killed", func(f *fleet, rnd *rand.Rand) {
		f.wiped()
		f.redis.Kill()
		time.Sleep(time.Duration(rnd.IntN(1000)) * time.Millisecond)
		f.redis.Run()
	}},
	{"redis away", func(f *fleet, rnd *rand.Rand) { // for longer than the leases hold
		f.wiped()
		f.redis.Kill()
		time.Sleep(chaosTTL + time.Duration(rnd.IntN(2000))*time.Millisecond)
		f.redis.Run()
	}},
	{"flushall", func(f *fleet, _ *rand.Rand) { f.wiped(); f.command("FLUSHALL") }},
	{"pause", func(f *fleet, _ *rand.Rand) { f.command("CLIENT", "PAUSE", "700") }},
	{"pubsub cut", func(f *fleet, _ *rand.Rand) { f.command("CLIENT", "KILL", "TYPE", "pubsub") }},
	{"clients cut", func(f *fleet, _ *rand.Rand) { f.command("CLIENT", "KILL", "TYPE", "normal") }},
	{"hangs", func(f *fleet, rnd *rand.Rand) {
		f.hang(time.Duration(300+rnd.IntN(1200))*time.Millisecond, f.proxies...)
	}},
	{"hangs long", func(f *fleet, rnd *rand.Rand) {
		f.hang(chaosTTL+time.Duration(500+rnd.IntN(2500))*time.Millisecond, f.proxies...)
	}},
	{"hangs for a node", func(f *fleet, rnd *rand.Rand) {
		f.hang(time.Duration(200+rnd.IntN(600))*time.Millisecond, f.proxies[rnd.IntN(len(f.proxies))])
	}},
	{"lost to a node", func(f *fleet, rnd *rand.Rand) { // whose leases lapse: others may see its users leave
		f.waits.Wait()
		i := rnd.IntN(len(f.proxies))
		for _, u := range f.users {
			u.departures++
		}
		f.hang(chaosTTL+time.Second, f.proxies[i])
	}},
}

// Disasters of a cluster.
var clusterDisasters = []disaster{
	{"master killed", func(f *fleet, rnd *rand.Rand) { // and its replica takes over
		i := f.master(rnd)
		f.cluster.Servers[i].Kill()
		f.untilFailover(i)
		f.cluster.Servers[i].Run()
		f.cluster.Ready()
	}},
	{"master restarted", func(f *fleet, rnd *rand.Rand) { // empty, before anybody took over
		f.wiped()
		s := f.cluster.Servers[f.master(rnd)]
		s.Kill()
		s.Run()
		f.cluster.Ready()
	}},
	{"master hangs", func(f *fleet, rnd *rand.Rand) { // long enough for a failover, or not
		master := f.cluster.Servers[f.master(rnd)]
		master.Freeze()
		time.Sleep(time.Duration(500+rnd.IntN(3000)) * time.Millisecond)
		master.Thaw()
		f.cluster.Ready()
	}},
	{"failover", func(f *fleet, rnd *rand.Rand) {
		for i := range f.cluster.Servers {
			if !f.isMaster(i) && f.masterOf(i) == f.siteMaster() {
				_ = f.cluster.Servers[i].Client().Do(context.Background(), "CLUSTER", "FAILOVER").Err()
			}
		}
		time.Sleep(500 * time.Millisecond)
		f.cluster.Ready()
	}},
	{"flushall", func(f *fleet, _ *rand.Rand) { f.wiped(); f.command("FLUSHALL") }},
	{"pubsub cut", func(f *fleet, _ *rand.Rand) { f.command("CLIENT", "KILL", "TYPE", "pubsub") }},
	{"clients cut", func(f *fleet, _ *rand.Rand) { f.command("CLIENT", "KILL", "TYPE", "normal") }},
}

func (f *fleet) disasters() []disaster {
	if f.cluster != nil {
		return append(nodeDisasters[:len(nodeDisasters):len(nodeDisasters)], clusterDisasters...)
	}
	return append(nodeDisasters[:len(nodeDisasters):len(nodeDisasters)], serverDisasters...)
}

// hang freezes proxies for a while.
func (f *fleet) hang(d time.Duration, proxies ...*forumtest.HangingProxy) {
	began := time.Now()
	for _, p := range proxies {
		p.Freeze()
	}
	time.Sleep(d)
	for _, p := range proxies {
		p.Thaw()
		f.hung.add(slices.Index(f.proxies, p), began)
	}
}

// A hangs notes when nodes did not reach the store.
type hangs struct {
	mu  sync.Mutex
	all []nodeHang
}

type nodeHang struct {
	node     int
	from, to time.Time
}

// add notes a time that is over.
func (h *hangs) add(node int, from time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, nodeHang{node, from, time.Now()})
}

// within returns for how long a node did not reach the store between two moments.
func (h *hangs) within(node int, from, to time.Time) (hung time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hang := range h.all {
		if hang.node != node {
			continue
		}
		if hang.from.Before(from) {
			hang.from = from
		}
		if hang.to.After(to) {
			hang.to = to
		}
		hung += max(0, hang.to.Sub(hang.from))
	}
	return hung
}

// command asks the server, or each of the cluster, for something.
func (f *fleet) command(args ...any) {
	if f.redis != nil {
		_ = f.redis.Client().Do(context.Background(), args...).Err()
		return
	}
	for _, s := range f.cluster.Servers {
		_ = s.Client().Do(context.Background(), args...).Err()
	}
}

// master picks a master, more often than not that of the topic.
func (f *fleet) master(rnd *rand.Rand) int {
	want := f.siteMaster()
	for i := range f.cluster.Servers {
		if f.isMaster(i) && (rnd.IntN(3) == 0 || f.id(i) == want) {
			return i
		}
	}
	return f.master(rnd)
}

// siteMaster is the id of the master that has the site's topic.
func (f *fleet) siteMaster() string {
	ctx := context.Background()
	slot := f.cluster.Servers[0].Client().ClusterKeySlot(ctx, "{site}").Val()
	shards, _ := f.cluster.Servers[0].Client().ClusterShards(ctx).Result()
	for _, shard := range shards {
		for _, s := range shard.Slots {
			for _, n := range shard.Nodes {
				if s.Start <= slot && slot <= s.End && n.Role == "master" && n.Health == "online" {
					return n.ID
				}
			}
		}
	}
	return ""
}

func (f *fleet) id(i int) string {
	id, _ := f.cluster.Servers[i].Client().Do(context.Background(), "CLUSTER", "MYID").Text()
	return id
}

func (f *fleet) isMaster(i int) bool {
	info := f.cluster.Servers[i].Client().Info(context.Background(), "replication").Val()
	return strings.Contains(info, "role:master") && strings.Contains(info, "state=online")
}

// masterOf is the id of a replica's master.
func (f *fleet) masterOf(i int) string {
	nodes := f.cluster.Servers[i].Client().ClusterNodes(context.Background()).Val()
	for line := range strings.Lines(nodes) {
		if fields := strings.Fields(line); len(fields) > 3 && strings.Contains(fields[2], "myself") {
			return fields[3]
		}
	}
	return ""
}

// untilFailover waits until the cluster is whole without a server.
func (f *fleet) untilFailover(without int) {
	for began := time.Now(); time.Since(began) < forumtest.Patience; time.Sleep(50 * time.Millisecond) {
		masters := 0
		for i := range f.cluster.Servers {
			if i == without {
				continue
			}
			info := f.cluster.Servers[i].Client().Info(context.Background(), "replication").Val()
			if strings.Contains(info, "role:master") {
				masters++
			}
		}
		if masters == f.cluster.Masters {
			return
		}
	}
	f.t.Error("no replica took over")
}
