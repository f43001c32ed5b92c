package memstore

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// consumers are the records of rule 20. The zero value is empty.
type consumers struct {
	mu     sync.Mutex
	byName map[string]*consumer
}

// A consumer is one record.
type consumer struct {
	holder  string
	until   time.Time
	version int
	entries map[string]string
}

// ClaimConsumer implements [presence.Store].
func (s *Store) ClaimConsumer(_ context.Context, name string, claim presence.ConsumerClaim) (presence.ConsumerClaimed, error) {
	s.consumers.mu.Lock()
	defer s.consumers.mu.Unlock()
	now := time.Now()
	c := s.consumers.byName[name]
	switch {
	case c == nil && !claim.Create:
		return presence.ConsumerClaimed{State: presence.ConsumerMissing}, nil
	case c == nil:
		c = &consumer{holder: claim.Holder, entries: make(map[string]string)}
		if s.consumers.byName == nil {
			s.consumers.byName = make(map[string]*consumer)
		}
		s.consumers.byName[name] = c
	case c.holder != claim.Holder && c.until.After(now):
		return presence.ConsumerClaimed{State: presence.ConsumerTaken}, nil
	}
	claimed := presence.ConsumerClaimed{State: presence.ConsumerHeld}
	if c.holder != claim.Holder {
		claimed.Idle = max(now.Sub(c.until), 1)
	}
	c.holder, c.until = claim.Holder, now.Add(claim.For)
	return claimed, nil
}

// CommitConsumer implements [presence.Store].
func (s *Store) CommitConsumer(_ context.Context, name string, step presence.ConsumerStep) (presence.ConsumerState, error) {
	s.consumers.mu.Lock()
	defer s.consumers.mu.Unlock()
	c := s.consumers.byName[name]
	switch {
	case c == nil:
		return presence.ConsumerMissing, nil
	case c.holder != step.Holder:
		return presence.ConsumerTaken, nil
	}
	for key, value := range step.Expect {
		if has, ok := c.entries[key]; !ok || has != value {
			return presence.ConsumerMissing, nil
		}
	}
	c.until = time.Now().Add(step.For)
	if len(step.Set)+len(step.Delete) > 0 {
		c.version++
	}
	maps.Copy(c.entries, step.Set)
	for _, key := range step.Delete {
		delete(c.entries, key)
	}
	return presence.ConsumerHeld, nil
}

// ReadConsumer implements [presence.Store]. It returns the whole record after any change.
func (s *Store) ReadConsumer(_ context.Context, name string, after presence.ConsumerVersion) (presence.ConsumerChanges, error) {
	s.consumers.mu.Lock()
	defer s.consumers.mu.Unlock()
	c := s.consumers.byName[name]
	if c == nil {
		return presence.ConsumerChanges{Missing: true}, nil
	}
	version := presence.ConsumerVersion(s.epoch + "-" + strconv.Itoa(c.version))
	if version == after {
		return presence.ConsumerChanges{Version: version}, nil
	}
	return presence.ConsumerChanges{Version: version, Whole: true, Set: maps.Clone(c.entries)}, nil
}
