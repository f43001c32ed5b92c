package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// checkStore examines the Redis of the site: version, commands, eviction and clock. It needs
// its URL.
func checkStore(ctx context.Context, s *site) verdict {
	if s.redis == "" {
		return unknown("Without -redis the store is not examined.")
	}
	client, err := redisstore.OpenClient(s.redis)
	if err != nil {
		return unknown("The value of -redis cannot be read: %s.", short(err.Error()))
	}
	defer client.Close()
	store := redisstore.New(client, redisstore.Config{Timeout: dialTime, MaxFailures: 100})
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	for range 3 {
		if err = store.Check(ctx); err == nil || errors.Is(err, redisstore.ErrUnfit) || !wait.For(ctx, time.Second) {
			break
		}
	}
	switch {
	case errors.Is(err, redisstore.ErrUnfit):
		says, cure, _ := strings.Cut(strings.TrimPrefix(err.Error(), redisstore.ErrUnfit.Error()+": "), "; ")
		return wrong(sentence(cure), "Presence cannot rely on this Redis: %s.", says)
	case err != nil:
		return unknown("The Redis of -redis cannot be examined from here: %s.", short(err.Error()))
	}
	asked := time.Now()
	theirs, err := client.Time(ctx).Result()
	if off, is := skewed(answer{sent: asked, took: time.Since(asked)}, theirs); err == nil && is {
		return wrong(runNTP, "The clock of Redis is %s this machine's: browsers show a wrong time since.", off)
	}
	return ok("Redis is new enough, knows the commands, and evicts nobody who is online.")
}

// sentence makes the end of an error a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
