package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// slowReads is a hook that makes figures take long, as a server does that many ask.
type slowReads struct {
	redis.Hook
	take time.Duration
}

func (s slowReads) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (s slowReads) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (s slowReads) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if args := commands[0].Args(); len(args) > 3 && strings.HasSuffix(fmt.Sprint(args[3]), ":head") {
			select {
			case <-time.After(s.take):
			case <-ctx.Done():
				for _, c := range commands {
					c.SetErr(ctx.Err())
				}
				return ctx.Err()
			}
		}
		return next(ctx, commands)
	}
}

// Visitors make reads, as many as they like. Reads that crowd one another out fail
// and are counted, but say nothing about the server; and they never keep a heartbeat
// from being written, also where each of them takes too long.
func TestReadsLeaveWritesTheirs(t *testing.T) {
	const timeout, readers = 2 * time.Second, 400
	for name, tt := range map[string]struct {
		take   time.Duration
		opened bool
	}{
		"crowded":  {take: timeout / 2},
		"too slow": {take: 2 * timeout, opened: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.Start(t).Client()
			store := redisstore.New(client, redisstore.Config{Timeout: timeout})
			defer store.Close()
			if _, err := store.Counts(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Counts(t.Context(), presence.Site); err != nil { // a script that the server knows is one round trip
				t.Fatal(err)
			}
			client.AddHook(slowReads{take: tt.take})
			apply(t, store, ops(backend.OpJoin, 0, 1, 0, time.Hour)...)

			var all sync.WaitGroup
			for range readers {
				all.Go(func() {
					if _, err := store.Counts(t.Context(), presence.Site); err != nil && !errors.Is(err, presence.ErrStoreOut) {
						t.Errorf("got %v, want ErrStoreOut", err)
					}
				})
			}
			for began := time.Now(); time.Since(began) < timeout+timeout/2; time.Sleep(timeout / 20) {
				apply(t, store, ops(backend.OpHeartbeat, 0, 1, 0, time.Hour)...)
			}
			all.Wait()
			if got := store.Stats(); got.Congested < readers/2 || (got.Failed > 0) != tt.opened || got.BreakerOpen != tt.opened {
				t.Errorf("got %+v, want most reads congested, and failures and an open breaker: %v", got, tt.opened)
			}
		})
	}
}

// A server that is full, read-only or loading is out, also where the answer to a script says so
// in the words of Redis 6.2: then writes wait, and are not given up.
func TestVerdictOfScripts(t *testing.T) {
	const call, at = "ERR Error running script (call to f_b87326c4b72344df56f5646d6b498088ac8f3abc): ", "@user_script:1: @user_script: 1: "
	for _, why := range []string{"OOM command not allowed when used memory > 'maxmemory'.", "READONLY You can't write against a read only replica.", "MISCONF Redis is configured to save"} {
		for _, before := range []string{"", call + "-", call + "@user_script:12: -", call + at + "-", call + at} {
			if a := redisstore.Answer(before + why); !a.Out() {
				t.Errorf("%s: want the server to be out", a)
			}
		}
	}
	const wrong = "WRONGTYPE Operation against a key holding the wrong kind of value: OOM"
	for _, text := range []string{wrong, call + at + "-" + wrong, call + at + "script: OOM"} {
		if a := redisstore.Answer(text); a.Out() || !a.Refused() {
			t.Errorf("%s: want the call refused alone", a)
		}
	}
}
