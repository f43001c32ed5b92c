package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// A poll waits for no listener: neither for one that is busy, nor until it has heard a long log.
func TestPollBesideABusyListener(t *testing.T) {
	t.Parallel()
	const page = 250 // notices
	for name, free := range map[string]int{"busy": 0, "many notices": page} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client, store := server.Client(), storetest.New(t, server)
			heard, goOn := make(chan struct{}, 10*page), make(chan struct{})
			stop, err := store.Listen(t.Context(), func(backend.Notice) {
				if heard <- struct{}{}; len(heard) > free {
					<-goOn
				}
			})
			noError(t, err)
			defer stop()
			defer close(goOn)
			for range 3 * page { // no message tells of these
				noError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "presence:{~index}:notices", Values: []any{"n", `{"kind":"signed_out","user":"a","lasting":true}`, "v", "1"}}).Err())
			}
			if free == 0 {
				noError(t, store.Publish(t.Context(), backend.SignOutNotice("alice")))
				<-heard
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if p, err := store.Poll(ctx, backend.Poll{Process: "a", Term: time.Minute}); err != nil || p.Nodes != 1 {
				t.Errorf("got %+v, %v, want a lease", p, err)
			}
		})
	}
}

// A key of another type ends what it is about, and nothing else.
func TestPollWithAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"erasures:due", "changed"} {
		server := redistest.Start(t)
		store := storetest.New(t, server)
		noError(t, server.Client().Set(t.Context(), "presence:{~index}:"+key, "x", 0).Err())
		for _, alive := range []bool{false, true} {
			p, err := store.Poll(t.Context(), backend.Poll{Process: "a", Term: time.Minute})
			if err != nil || p.Alive != alive || !p.Changes.All || p.Erasures {
				t.Errorf("%s: got %+v, %v, want a lease, and that all may have changed", key, p, err)
			}
		}
	}
}
