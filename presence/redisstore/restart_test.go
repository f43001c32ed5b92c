package redisstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A server that starts again with an old file is not swept before its leases were renewed: also
// where it starts again meanwhile. One that is new, or was emptied, is swept at once.
func TestSweepAfterARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: patience})
	defer store.Close()
	apply := func(kind backend.OpKind, users int, d time.Duration) {
		t.Helper()
		noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: ops(kind, 0, users, 0, d)}})[0].Err)
	}
	sweep := func(what string, opts backend.SweepOptions, want error, leaves int) {
		t.Helper()
		opts.Limit = 100
		time.Sleep(1100 * time.Millisecond) // a topic is looked at once a second
		if swept, err := store.Sweep(t.Context(), opts); !errors.Is(err, want) || swept.Leaves != leaves {
			t.Errorf("%s: got %+v, %v, want %d leaves, %v", what, swept, err, leaves, want)
		}
	}
	restart := func() {
		server.Kill()
		server.Run()
	}
	apply(backend.OpJoin, 3, time.Second)
	sweep("a new server", backend.SweepOptions{}, nil, 3)
	noError(t, server.Client().FlushAll(t.Context()).Err())
	apply(backend.OpJoin, 3, time.Second)
	sweep("after FLUSHALL", backend.SweepOptions{}, nil, 3)

	apply(backend.OpJoin, 3, time.Second)
	noError(t, server.Client().Save(t.Context()).Err())
	restart()
	again := backend.SweepOptions{Restarted: true}
	sweep("the first sweep", again, presence.ErrRestarted, 0)
	sweep("a node that has not heard of it", backend.SweepOptions{}, presence.ErrRestarted, 0)
	sweep("nodes renew their leases", backend.SweepOptions{Look: true}, nil, 0)
	restart()
	sweep("started once more meanwhile", again, presence.ErrRestarted, 0)
	apply(backend.OpJoin, 2, time.Minute)
	sweep("after all leases were renewed", again, nil, 1)
	sweep("and then", backend.SweepOptions{}, nil, 0)
}
