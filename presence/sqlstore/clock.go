package sqlstore

import (
	"context"
	"sync"
	"time"
)

// A clock translates times of this node to those of the database and back, so that a
// fleet agrees on times although one node's clock is wrong.
//
// Differences up to clockTolerance are left alone. Nodes whose clocks are kept in order
// then read the very times that another node wrote, and the same answer every time:
// an offset that followed each measurement would move an answer's times by milliseconds.
type clock struct {
	now func() time.Time
	ask func(context.Context) (time.Time, error) // the database's time. Nil: it has this node's clock

	mu       sync.Mutex
	asked    time.Time     // when a measurement last began; zero: never
	measured bool          // offset comes from a measurement
	offset   time.Duration // what the database's clock is ahead
}

const (
	clockTolerance = 500 * time.Millisecond
	clockInterval  = time.Minute // between two measurements
)

// read returns by how much the database's clock is ahead. It asks the database at the
// first call and then once a minute: one round trip.
func (c *clock) read(ctx context.Context) (time.Duration, error) {
	if c.ask == nil {
		return 0, nil
	}
	offset, known, due := c.due()
	if !due {
		return offset, nil
	}
	begin := c.now()
	theirs, err := c.ask(ctx)
	took := c.now().Sub(begin)
	if err != nil {
		if known {
			return offset, nil // the call itself will say what is wrong
		}
		return 0, err
	}
	return c.learn(theirs.Sub(begin.Add(took/2).Round(0)), took), nil
}

// due returns the offset, whether one is known, and whether this call has to measure it.
func (c *clock) due() (offset time.Duration, known, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	due = !c.measured || now.Sub(c.asked) >= clockInterval
	if due {
		c.asked = now
	}
	return c.offset, c.measured, due
}

// learn takes a measurement, which is right to half of what it took.
func (c *clock) learn(measured, took time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.measured = true
	if (measured - c.offset).Abs() > took/2+clockTolerance {
		c.offset = measured
	}
	return c.offset
}

// Times are kept as Unix milliseconds, with 0 for never.

// latestTime is the last moment that is kept.
var latestTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// toDatabase returns a time of this node as the database keeps it.
func toDatabase(t time.Time, offset time.Duration) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.After(latestTime):
		t = latestTime
	}
	return max(t.Add(offset).UnixMilli(), 1) // what is long over is not never
}

// fromDatabase is the other way round.
func fromDatabase(ms int64, offset time.Duration) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).Add(-offset).UTC()
}
