package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Publish implements [presence.Store]. It calls the listeners before it returns.
func (s *Store) Publish(_ context.Context, n presence.Notice) error {
	s.notices.Lock()
	defer s.notices.Unlock()
	if status, _ := n.Status(); status != "" {
		s.chosen.keep(n.User, status, time.Now().Add(-n.Ago))
	}
	for fn := range s.listeners {
		(*fn)(n)
	}
	return nil
}

// Listen implements [presence.Store].
func (s *Store) Listen(_ context.Context, fn func(presence.Notice)) (func(), error) {
	s.notices.Lock()
	defer s.notices.Unlock()
	key := &fn
	s.listeners[key] = struct{}{}
	return func() {
		s.notices.Lock()
		defer s.notices.Unlock()
		delete(s.listeners, key)
	}, nil
}

// Hear implements [presence.Store]. Publish called the listeners already.
func (s *Store) Hear(context.Context) error { return nil }

// Secret implements [presence.Store].
func (s *Store) Secret(_ context.Context, offer []byte) ([]byte, error) {
	s.notices.Lock()
	defer s.notices.Unlock()
	if s.secret == nil {
		s.secret = bytes.Clone(offer)
	}
	return bytes.Clone(s.secret), nil
}

// Statuses implements [presence.Store].
func (s *Store) Statuses(_ context.Context, users ...presence.UserID) ([]presence.Status, error) {
	s.notices.Lock()
	defer s.notices.Unlock()
	statuses := make([]presence.Status, len(users))
	for i, id := range users {
		statuses[i] = s.chosen[id].Status
	}
	return statuses, nil
}

// chosenStatuses are the statuses that users chose.
type chosenStatuses map[presence.UserID]chosenStatus

type chosenStatus struct {
	presence.Status
	at time.Time
}

// keep stores a choice, unless a later one is stored already.
func (c chosenStatuses) keep(user presence.UserID, status presence.Status, at time.Time) {
	if !c[user].at.After(at) {
		c[user] = chosenStatus{status, at}
	}
}

// trim forgets choices from before a moment, and all but the most latest ones.
func (c chosenStatuses) trim(before time.Time, most int) (forgotten int) {
	type choice struct {
		user presence.UserID
		at   time.Time
	}
	choices := make([]choice, 0, len(c))
	for user, status := range c {
		choices = append(choices, choice{user, status.at})
	}
	slices.SortFunc(choices, func(a, b choice) int { return b.at.Compare(a.at) })
	for i, choice := range choices {
		if i >= most || choice.at.Before(before) {
			delete(c, choice.user)
			forgotten++
		}
	}
	return forgotten
}
