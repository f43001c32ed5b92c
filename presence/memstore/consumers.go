package memstore

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// consumers are the records of rule 11.
type consumers struct {
	mu     sync.Mutex
	byName map[string]*consumer
}

// A consumer is one record.
type consumer struct {
	holder  string
	until   time.Time
	entries map[string]string
}

// ClaimConsumer implements [backend.Store].
func (cs *consumers) ClaimConsumer(ctx context.Context, name string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return backend.ConsumerClaimed{}, err
	}
	now := time.Now()
	c := cs.byName[name]
	switch {
	case c == nil && !claim.Create:
		return backend.ConsumerClaimed{State: backend.ConsumerMissing}, nil
	case c == nil:
		c = &consumer{holder: claim.Holder, entries: make(map[string]string)}
		cs.byName[name] = c
	case c.holder != claim.Holder && c.until.After(now):
		return backend.ConsumerClaimed{State: backend.ConsumerTaken}, nil
	}
	claimed := backend.ConsumerClaimed{State: backend.ConsumerHeld}
	if c.holder != claim.Holder {
		claimed.Idle = max(now.Sub(c.until), 1)
	}
	c.holder, c.until = claim.Holder, now.Add(claim.For)
	return claimed, nil
}

// CommitConsumer implements [backend.Store].
func (cs *consumers) CommitConsumer(ctx context.Context, name string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	c := cs.byName[name]
	switch {
	case c == nil:
		return backend.ConsumerMissing, nil
	case c.holder != step.Holder:
		return backend.ConsumerTaken, nil
	}
	for key, value := range step.Expect {
		if has, ok := c.entries[key]; !ok || has != value {
			return backend.ConsumerMissing, nil
		}
	}
	c.until = time.Now().Add(step.For)
	maps.Copy(c.entries, step.Set)
	for _, key := range step.Delete {
		delete(c.entries, key)
	}
	return backend.ConsumerHeld, nil
}

// ReadConsumer implements [backend.Store].
func (cs *consumers) ReadConsumer(ctx context.Context, name string) (map[string]string, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.byName[name]; c != nil {
		return maps.Clone(c.entries), ctx.Err()
	}
	return nil, ctx.Err()
}
