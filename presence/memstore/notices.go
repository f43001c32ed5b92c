package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
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
	chosen    chosenStatuses
	secret    []byte
}

// Publish implements [backend.Store]. It calls the listeners before it returns.
func (b *bus) Publish(ctx context.Context, n backend.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if status := n.Status(); status != "" {
		if n.Ago == 0 && n.Order < b.chosen[n.User].Order {
			return presence.ErrLaterChoice
		}
		n.Order = chosenOrder(n, time.Now())
		b.chosen.keep(n.User, backend.ChosenStatus{Status: status, Order: n.Order})
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

// trim forgets choices from before a moment, and all but the most latest ones.
func (b *bus) trim(before time.Time, most int) (forgotten int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.chosen.trim(before, most)
}

// forget forgets what a user chose.
func (b *bus) forget(user presence.UserID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.chosen, user)
}

// chosenStatuses are the statuses that users chose.
type chosenStatuses map[presence.UserID]backend.ChosenStatus

// chosenOrder returns the Order of a choice that is published now.
func chosenOrder(n backend.Notice, now time.Time) backend.Order {
	switch {
	case n.Ago == 0:
		return max(backend.OrderAt(now), n.Order+1)
	case n.Order != 0:
		return n.Order
	}
	return backend.OrderAt(now.Add(-n.Ago))
}

// keep stores a choice, unless a later one is stored already.
func (c chosenStatuses) keep(user presence.UserID, chosen backend.ChosenStatus) {
	if c[user].Order <= chosen.Order {
		c[user] = chosen
	}
}

// trim forgets choices from before a moment, and all but the most latest ones.
func (c chosenStatuses) trim(before time.Time, most int) (forgotten int) {
	type choice struct {
		user presence.UserID
		at   backend.Order
	}
	choices := make([]choice, 0, len(c))
	for user, status := range c {
		choices = append(choices, choice{user, status.Order})
	}
	slices.SortFunc(choices, func(a, b choice) int { return cmp.Compare(b.at, a.at) })
	for i, choice := range choices {
		if i >= most || choice.at < backend.OrderAt(before) {
			delete(c, choice.user)
			forgotten++
		}
	}
	return forgotten
}
