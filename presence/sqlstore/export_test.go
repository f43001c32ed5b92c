package sqlstore

import (
	"context"
	"time"
)

// SetNow gives the node another clock.
func (s *Store) SetNow(now func() time.Time) { s.clock.now = now }

// NewClock returns the read of a clock.
func NewClock(ask func(context.Context) (time.Time, error)) func(context.Context) (time.Duration, error) {
	c := &clock{now: time.Now, ask: ask}
	return c.read
}
