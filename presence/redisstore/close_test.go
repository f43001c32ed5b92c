package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A call whose caller gave up uses the client until the server answers. Close waits for it.
func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: patience})
	noError(t, server.Client().Do(t.Context(), "CLIENT", "PAUSE", 300, "WRITE").Err())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	join := backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "alice"}, Holder: "a.1", For: time.Minute}
	store.Apply(ctx, []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{join}}})
	if store.UnderWay() == 0 {
		t.Fatal("the call ended with its caller, so this tests nothing")
	}
	noError(t, store.Close())
	if n := store.UnderWay(); n != 0 {
		t.Errorf("%d calls are under way after Close, want none", n)
	}
}
