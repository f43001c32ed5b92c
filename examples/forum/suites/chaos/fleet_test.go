package chaos_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/need"
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
const restTime = chaosTTL + chaosSweep + time.Second + forumtest.FindTime

// lossTime is that after the store has lost data. Whom it lost, and nobody restores, is shown until a roster is settled. The nodes
// give one another min(TTL, 7 s) to restore, and no less than the 3 s in which they publish what users chose and the 1.5 s in
// which they find out. 3 s later the names of earlier generations have lapsed, and a sweep has ended what hung on them.
const lossTime = restTime - chaosTTL + 7500*time.Millisecond

// A fleet is some forums, their Redis, and their users.
type fleet struct {
	t       *testing.T
	nodes   []*forumtest.Node
	front   string                    // address of the proxy that streams go through; empty: to any node
	proxies []*forumtest.HangingProxy // one a node; none with a cluster
	redis   *redistest.Server         // or
	cluster *redistest.Cluster        // that
	library *forumtest.Library
	client  *http.Client

	users   []*chaosUser
	readers []*chaosReader // those of users and of guests
	starts  atomic.Int64   // of nodes that were killed or stopped
	lost    bool           // the store has lost its data since all was well: a node that starts finds nobody
	apart   bool           // the store was out since all was well: nodes come back to it one after the other
	waited  waits
	hung    hangs
	waits   sync.WaitGroup // what is not over: nodes that come back, requests
}

// newFleet starts three nodes on one Redis or on a cluster of three masters, with
// further flags.
func newFleet(t *testing.T, clustered bool, flags ...string) *fleet {
	f := &fleet{t: t, library: forumtest.NewLibrary(), client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: -1}}}
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
			f.proxies = append(f.proxies, forumtest.NewHangingProxy(t, "unix", f.redis.Socket))
			url = f.proxies[i].URL()
		}
		n := &forumtest.Node{T: t, Addr: need.FreeAddr(t), Args: append([]string{"-redis", url, "-node", fmt.Sprint("n", i), "-age", chaosAge.String(),
			"-throttle", "1s", "-ttl", chaosTTL.String(), "-grace", chaosGrace.String(), "-sweep", chaosSweep.String()}, flags...)}
		n.Run()
		t.Cleanup(n.Kill)
		f.nodes = append(f.nodes, n)
	}
	return f
}
