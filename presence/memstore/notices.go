package memstore

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A bus carries notices, and keeps what users chose and the secret. Its mutex may be taken while
// that of the Store is held.
type bus struct {
	mu        sync.Mutex
	listeners map[*func(backend.Notice)]struct{}
	chosen    map[presence.UserID]backend.ChosenStatus // the latest choice of each user
	secret    []byte
}

// Publish implements [backend.Store]. It calls the listeners before it returns.
func (b *bus) Publish(ctx context.Context, n backend.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for fn := range b.listeners {
		(*fn)(n)
	}
	return nil
}

// Listen implements [backend.Store].
func (b *bus) Listen(_ context.Context, fn func(backend.Notice)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := &fn
	b.listeners[key] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, key)
	}, nil
}

// Hear implements [backend.Store]. It is a no-op, because Publish calls the listeners itself.
func (b *bus) Hear(context.Context) error { return nil }

// Secret implements [backend.Store].
func (b *bus) Secret(_ context.Context, offer []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.secret == nil {
		b.secret = bytes.Clone(offer)
	}
	return bytes.Clone(b.secret), nil
}

// Statuses implements [backend.Store].
func (b *bus) Statuses(_ context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	statuses := make([]backend.ChosenStatus, len(users))
	for i, id := range users {
		statuses[i] = b.chosen[id]
	}
	return statuses, nil
}

// PutStatus implements [backend.Store].
func (b *bus) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (rev int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.chosen[user].Rev
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case was >= c.Rev && again:
		return was, nil
	case was > c.Rev:
		return 0, presence.ErrLaterChoice
	case !again:
		c.Rev = max(time.Now().UnixMicro(), c.Rev+1)
	}
	b.chosen[user] = c
	return c.Rev, nil
}

// trim forgets choices from before a moment, and all but the most latest ones.
func (b *bus) trim(before time.Time, most int) (forgotten int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return trim(b.chosen, backend.ChosenStatus.At, before, most)
}

// forget forgets what a user chose.
func (b *bus) forget(user presence.UserID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.chosen, user)
}
