package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Publish implements [backend.Store]. It calls the listeners before it returns.
func (s *Store) Publish(ctx context.Context, n backend.Notice) error {
	s.notices.Lock()
	defer s.notices.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if status, _ := n.Status(); status != "" {
		if n.Ago == 0 && n.Order < s.chosen[n.User].Order {
			return presence.ErrLaterChoice
		}
		n.Order = chosenOrder(n, time.Now())
		s.chosen.keep(n.User, backend.ChosenStatus{Status: status, Order: n.Order})
	}
	for fn := range s.listeners {
		(*fn)(n)
	}
	return nil
}

// Listen implements [backend.Store].
func (s *Store) Listen(_ context.Context, fn func(backend.Notice)) (func(), error) {
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

// Hear implements [backend.Store]. Publish called the listeners already.
func (s *Store) Hear(context.Context) error { return nil }

// Secret implements [backend.Store].
func (s *Store) Secret(_ context.Context, offer []byte) ([]byte, error) {
	s.notices.Lock()
	defer s.notices.Unlock()
	if s.secret == nil {
		s.secret = bytes.Clone(offer)
	}
	return bytes.Clone(s.secret), nil
}

// Statuses implements [backend.Store].
func (s *Store) Statuses(_ context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	s.notices.Lock()
	defer s.notices.Unlock()
	statuses := make([]backend.ChosenStatus, len(users))
	for i, id := range users {
		statuses[i] = s.chosen[id]
	}
	return statuses, nil
}

// chosenStatuses are the statuses that users chose.
type chosenStatuses map[presence.UserID]backend.ChosenStatus

// chosenOrder returns the place of a choice that is published now.
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
