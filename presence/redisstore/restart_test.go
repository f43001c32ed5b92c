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

// A server that starts again with an old file is in doubt for a while: also where it starts again meanwhile, whichever
// node sweeps. One that is new, or was emptied, is swept at once.
func TestSweepAfterARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: patience})
	defer store.Close()
	apply := func(kind backend.OpKind, users int, d time.Duration) {
		t.Helper()
		noError(t, store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: ops(kind, 0, users, 0, d)}})[0].Err)
	}
	const doubt = 5 * time.Second
	sweep := func(what string, begins bool, leaves int) {
		t.Helper()
		time.Sleep(1100 * time.Millisecond) // a topic is looked at once a second
		swept, err := store.Sweep(t.Context(), backend.SweepOptions{Limit: 100, Doubt: doubt})
		if err != nil || swept.Doubt != begins || swept.Leaves != leaves {
			t.Errorf("%s: got %+v, %v, want %d leaves, and that a doubt begins: %v", what, swept, err, leaves, begins)
		}
	}
	restart := func() {
		server.Kill()
		server.Run()
	}
	apply(backend.OpJoin, 3, time.Second)
	sweep("a new server", false, 3)
	noError(t, server.Client().FlushAll(t.Context()).Err())
	apply(backend.OpJoin, 3, time.Second)
	sweep("after FLUSHALL", false, 3)

	claim := func(holder string) error {
		_, err := store.ClaimConsumer(t.Context(), "program", backend.ConsumerClaim{Holder: holder, For: time.Second, Create: true})
		return err
	}
	apply(backend.OpJoin, 3, time.Second)
	noError(t, claim("a"))
	noError(t, server.Client().Save(t.Context()).Err())
	restart()
	time.Sleep(time.Second)
	if err := claim("b"); !errors.Is(err, presence.ErrStoreOut) {
		t.Errorf("a record of another holder before any sweep: got %v, want %v", err, presence.ErrStoreOut)
	}
	sweep("the first sweep", true, 0)
	other := redisstore.New(server.Client(), redisstore.Config{Timeout: patience})
	defer other.Close()
	if swept, err := other.Sweep(t.Context(), backend.SweepOptions{Limit: 100, Doubt: doubt}); err != nil || swept.Doubt || swept.Leaves != 0 {
		t.Errorf("another node: got %+v, %v, want nothing", swept, err)
	}
	restart()
	sweep("started once more meanwhile", true, 0)
	apply(backend.OpJoin, 2, time.Minute)
	sweep("while nodes renew their leases", false, 0)
	if err := claim("b"); !errors.Is(err, presence.ErrStoreOut) {
		t.Errorf("a record of another holder in doubt: got %v, want %v", err, presence.ErrStoreOut)
	}
	time.Sleep(doubt)
	sweep("after all leases were renewed", false, 1)
	noError(t, claim("b"))
}
