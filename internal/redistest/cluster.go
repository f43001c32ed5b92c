package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// Patient returns the arguments of a cluster that never fails over.
func Patient() []string { return []string{"--cluster-node-timeout", "60000"} }

// A Cluster is a running Redis Cluster on 127.0.0.1: the masters first, then
// their replicas in the same order.
type Cluster struct {
	t       testing.TB
	Servers []*Server
	Masters int
}

// StartCluster starts masters, and as many replicas of each, and returns when every node knows all others. A
// master that does not answer for a second is replaced by a replica. This may happen on a busy machine, so a
// test that kills no master passes further arguments, such as [Patient].
func StartCluster(t testing.TB, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, Masters: masters}
	for range masters * (1 + replicas) {
		c.Servers = append(c.Servers, StartTCP(t, append([]string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
			"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
		}, args...)...))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range masters {
		add := []any{"CLUSTER", "ADDSLOTS"} // Redis 6.2 has no ADDSLOTSRANGE
		for slot := i * slots / masters; slot < (i+1)*slots/masters; slot++ {
			add = append(add, slot)
		}
		c.do(ctx, i, add...)
	}
	for i := range c.Servers {
		c.do(ctx, i, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
	}
	for _, s := range c.Servers[1:] {
		host, port, _ := net.SplitHostPort(s.Addr)
		c.do(ctx, 0, "CLUSTER", "MEET", host, port)
	}
	c.until(ctx, "all nodes to meet", func() bool {
		for i := range c.Servers {
			if !strings.Contains(c.info(ctx, i), fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Servers))) {
				return false
			}
		}
		return true
	})
	for i := masters; i < len(c.Servers); i++ {
		id := fmt.Sprint(c.do(ctx, i%masters, "CLUSTER", "MYID"))
		c.until(ctx, "a replica to know its master", func() bool {
			cl := c.Servers[i].client()
			defer cl.Close()
			return cl.Do(ctx, "CLUSTER", "REPLICATE", id).Err() == nil
		})
	}
	c.Ready()
	return c
}

// Ready waits until every running node finds the cluster whole.
func (c *Cluster) Ready() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.until(ctx, "the cluster to be whole", func() bool {
		for i, s := range c.Servers {
			if s.cmd == nil {
				continue
			}
			if !strings.Contains(c.info(ctx, i), "cluster_state:ok") {
				return false
			}
			if i >= c.Masters {
				cl := s.client()
				repl := cl.Info(ctx, "replication").Val()
				cl.Close()
				if strings.Contains(repl, "role:slave") && !strings.Contains(repl, "master_link_status:up") {
					return false
				}
			}
		}
		return true
	})
}

func (c *Cluster) info(ctx context.Context, i int) string {
	cl := c.Servers[i].client()
	defer cl.Close()
	return cl.ClusterInfo(ctx).Val()
}

func (c *Cluster) do(ctx context.Context, i int, args ...any) any {
	c.t.Helper()
	cl := c.Servers[i].client()
	defer cl.Close()
	answer, err := cl.Do(ctx, args...).Result()
	if err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
	return answer
}

func (c *Cluster) until(ctx context.Context, what string, ok func() bool) {
	c.t.Helper()
	for !ok() {
		select {
		case <-ctx.Done():
			c.t.Fatalf("waited too long for %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Master returns the server that began as master of a key's slot.
func (c *Cluster) Master(key string) *Server {
	c.t.Helper()
	slot := c.do(context.Background(), 0, "CLUSTER", "KEYSLOT", key).(int64)
	for i := range c.Masters {
		if slot < int64((i+1)*slots/c.Masters) {
			return c.Servers[i]
		}
	}
	return nil
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		addrs[i] = s.Addr
	}
	return addrs
}

// Client returns a client of the cluster that is closed with the test.
func (c *Cluster) Client() *redis.ClusterClient {
	cl := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	c.t.Cleanup(func() { cl.Close() })
	return cl
}
