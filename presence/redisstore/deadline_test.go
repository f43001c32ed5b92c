package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// Rule 4: a server that held up writes executes them when it goes on. Those whose callers have given
// them up change nothing.
func TestWritesThatComeLate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: patience})
	defer store.Close()
	stop, err := store.Listen(t.Context(), func(backend.Notice) {})
	noError(t, err)
	defer stop()
	pause := func(d time.Duration) {
		t.Helper()
		noError(t, server.Client().Do(t.Context(), "CLIENT", "PAUSE", d.Milliseconds(), "WRITE").Err())
	}
	write := func(user presence.UserID, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		join := backend.Op{Kind: backend.OpJoin, User: presence.User{ID: user}, Holder: "a.1", For: time.Minute}
		return store.Apply(ctx, []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{join}}})[0].Err
	}
	noError(t, write("alice", patience)) // the server knows the scripts, and the topic
	const held = time.Second
	pause(held)
	if err := write("bob", held/4); !errors.Is(err, presence.ErrStoreOut) {
		t.Errorf("got %v of a write that the server held up, want ErrStoreOut", err)
	}
	noError(t, write("carol", patience))
	time.Sleep(held / 4)
	snap, err := store.Snapshot(t.Context(), presence.Site)
	noError(t, err)
	if slices.ContainsFunc(snap.Members, func(m presence.Member) bool { return m.ID == "bob" }) || len(snap.Members) != 2 {
		t.Errorf("got %+v online, want alice and carol: bob's page gave up", snap.Members)
	}
}

// A clock that jumps ahead costs no call: the server's refusal tells its time, and the call is made once more.
func TestClockThatJumpsAhead(t *testing.T) {
	t.Parallel()
	store := redisstore.New(redistest.Start(t).Client(), redisstore.Config{Timeout: patience})
	defer store.Close()
	store.HearTime(time.Now().Add(-time.Hour)) // the server's clock is an hour ahead of what it was
	if _, err := store.Poll(t.Context(), backend.Poll{Process: "a.p", Term: time.Minute}); err != nil {
		t.Errorf("got %v after the server's clock jumped ahead by an hour", err)
	}
	if r, err := store.Poll(t.Context(), backend.Poll{Process: "a.p", Term: time.Minute}); err != nil || !r.Alive {
		t.Errorf("got %+v, %v of the next renewal, want true", r, err)
	}
}
