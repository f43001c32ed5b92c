package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// checkTime bounds how long the start waits for Redis.
const checkTime = 5 * time.Second

// openStore returns the store that -redis names, and a function that closes it after the tracker. An
// unsuitable Redis is an error. An unreachable one is not: the forum starts, and presence begins when Redis is
// back.
func openStore(url string, log *slog.Logger) (backend.Store, func() error, error) {
	if url == "" {
		return memstore.New(), func() error { return nil }, nil
	}
	store, err := redisstore.Open(url, redisstore.Config{})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	err = store.Check(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = store.Check(ctx) // the first connection may take long, for example by TLS from a busy machine
	}
	switch {
	case errors.Is(err, presence.ErrStoreOut):
		log.Warn("Redis cannot be reached; pages go on, presence begins when it is back", "err", err)
	case err != nil:
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, store.Close, nil
}
