package outagetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// A server that is killed, and starts again at once with a file in which all leases have expired,
// makes nobody leave. Who left since the file was written does not come back.
func TestOldFile(t *testing.T) {
	need.Slow(t, "leases expire")
	const ttl = 12 * time.Second // some seconds are left to the next heartbeat
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprint("somebody leaves meanwhile: ", leaves), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			f := newFleetFor(t, ttl, func() redis.UniversalClient { return server.Client() })
			f.open(f.nodes[0], "stays")
			f.open(f.nodes[1], "stays-elsewhere")
			goes := f.open(f.nodes[1], "goes")
			f.wants("goes", "stays", "stays-elsewhere")
			if !leaves {
				goes.Close()
				f.wants("stays", "stays-elsewhere")
			}
			time.Sleep(7 * time.Second) // until then a node that has begun removes few leases
			noError(t, server.Client().Save(t.Context()).Err())
			goes.Close()
			f.wants("stays", "stays-elsewhere")
			time.Sleep(ttl + time.Second)

			server.Kill()
			server.Run()
			time.Sleep(ttl + 3*time.Second)
			f.wants("stays", "stays-elsewhere")
			f.stayed("stays", "stays-elsewhere")
			for i, n := range f.nodes {
				n.reader.mu.Lock()
				if left := n.reader.left["goes"]; left != 1 {
					t.Errorf("the reader of node %d saw a user leave %d times, who left once", i, left)
				}
				n.reader.mu.Unlock()
			}
		})
	}
}
