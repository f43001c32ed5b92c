// Package storetest is shared by the tests of the Redis store. They are in several packages so that none
// takes long.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// Patience is how long a test waits for something that should happen at once. Machines may be busy.
const Patience = time.Minute

// Quiet is a logger for the Redis client that logs nothing, because tests provoke failures.
type Quiet struct{}

func (Quiet) Printf(context.Context, string, ...any) {}

// New returns a store on a server. It is closed with the test.
func New(t testing.TB, server *redistest.Server) *redisstore.Store {
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: 5 * time.Second})
	t.Cleanup(func() { store.Close() })
	return store
}

// Watch watches the site. It returns a function that makes diffs until one arrives.
func Watch(t *testing.T, store *redisstore.Store) (heard func(when string)) {
	t.Helper()
	var diffs atomic.Int64
	stop, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(backend.Diff) { diffs.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return func(when string) {
		t.Helper()
		had := diffs.Load()
		for end := time.Now().Add(Patience); diffs.Load() == had; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: no diff was delivered within %v", when, Patience)
			}
			for _, op := range []backend.Op{{Kind: backend.OpJoin, For: time.Second}, {Kind: backend.OpRelease}} {
				op.User.ID, op.Holder = "passes", "w.1"
				store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{op}}})
			}
		}
	}
}

// Check returns the error of a store's Check at a server.
func Check(t *testing.T, client redis.UniversalClient) error {
	s := redisstore.New(client, redisstore.Config{Timeout: Patience})
	defer s.Close()
	return s.Check(t.Context())
}

// WantUnfit fails the test unless an error is ErrUnfit and contains a text.
func WantUnfit(t *testing.T, server string, err error, says string) {
	t.Helper()
	if !errors.Is(err, redisstore.ErrUnfit) || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("%s: got %v, want ErrUnfit that says %q", server, err, says)
	}
}
