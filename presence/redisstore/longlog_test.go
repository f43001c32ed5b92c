package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A node that starts while the log of notices is long listens at once. It hears what
// is told from then on, and Hear waits for all that was told before.
func TestListenToALongLog(t *testing.T) {
	const many = 60_000
	server := redistest.Start(t)
	client := server.Client()
	for from := 0; from < many; from += 10_000 {
		_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for i := range 10_000 {
				p.XAdd(t.Context(), &redis.XAddArgs{Stream: "presence:{~index}:notices", Values: []any{"n", fmt.Sprintf(`{"kind":"signed_out","user":"ghost%d","lasting":true}`, from+i), "v", "1"}})
			}
			return nil
		})
		noError(t, err)
	}
	store := redisstore.New(client, redisstore.Config{})
	defer store.Close()
	heard := make(chan presence.UserID, 100*many) // some more than there are: a try that fails may begin anew
	var stop func()
	for try := 0; stop == nil; try++ { // a busy machine may be slow; a whole log takes ten times as long
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		var err error
		if stop, err = store.Listen(ctx, func(n backend.Notice) { heard <- signedOut(n) }); err != nil && try > 20 {
			t.Fatalf("listen: %v", err)
		}
		cancel()
	}
	defer stop()
	noError(t, store.Publish(t.Context(), backend.SignOutNotice("last")))
	for try := 0; ; try++ {
		err := store.Hear(t.Context())
		if err == nil {
			break
		}
		if try > 20 {
			t.Fatalf("hear: %v", err)
		}
	}
	if got := len(heard); got < many+1 {
		t.Errorf("got %d notices when Hear returned, want %d", got, many+1)
	}
}
