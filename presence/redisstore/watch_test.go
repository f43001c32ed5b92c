package redisstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// cuts are what ends a subscription. It comes back by itself: the Tracker would
// find the gap in the end, but late.
func cuts() map[string]func(*testing.T, *redistest.Server) {
	return map[string]func(*testing.T, *redistest.Server){
		"CLIENT KILL TYPE pubsub": func(t *testing.T, s *redistest.Server) {
			if err := s.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
				t.Fatal(err)
			}
		},
		"a restart": func(_ *testing.T, s *redistest.Server) { s.Kill(); s.Run() },
		"silence": func(_ *testing.T, s *redistest.Server) {
			s.Freeze()
			time.Sleep(5 * time.Second)
			s.Thaw()
		},
	}
}

func watchThrough(t *testing.T, cut func(*testing.T, *redistest.Server)) {
	server := redistest.Start(t)
	heard := watch(t, newStore(t, server))
	heard("before")
	cut(t, server)
	heard("after")
}

// watch watches the site and returns what makes diffs until one arrives.
func watch(t *testing.T, store *redisstore.Store) (heard func(when string)) {
	t.Helper()
	var diffs atomic.Int64
	stop, err := store.Watch(t.Context(), presence.Site, func(presence.Diff) { diffs.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return func(when string) {
		t.Helper()
		had := diffs.Load()
		for end := time.Now().Add(patience); diffs.Load() == had; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: no diff was delivered within %v", when, patience)
			}
			for _, kind := range []presence.OpKind{presence.OpJoin, presence.OpDrop} {
				store.Apply(t.Context(), []presence.Batch{{Topic: presence.Site, Ops: []presence.Op{
					{Kind: kind, User: presence.User{ID: "passes"}, Holder: "w.1", For: time.Second},
				}}})
			}
		}
	}
}

// newStore returns a store of a server that is closed with the test.
func newStore(t testing.TB, server *redistest.Server) *redisstore.Store {
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: 5 * time.Second})
	t.Cleanup(func() { store.Close() })
	return store
}
