package sqlstore

import (
	"context"
	"sync"
	"time"
)

// A clock translates times of this node to those of the database and back, so that a fleet agrees on times
// although one node's clock is wrong.
//
// Differences up to clockTolerance are ignored. So nodes with correct clocks read exactly the times that
// other nodes wrote, and the same answer each time. If the offset followed each measurement, the times would
// vary by milliseconds.
type clock struct {
	now func() time.Time
	ask func(context.Context) (time.Time, error) // returns the database's time. Nil: the database uses this node's clock

	mu       sync.Mutex
	asked    time.Time     // when a measurement last began; zero: never
	measured bool          // offset is the result of a measurement
	offset   time.Duration // how far the database's clock is ahead
}

const (
	clockTolerance = 500 * time.Millisecond
	clockInterval  = time.Minute // between two measurements
)

// read returns how far the database's clock is ahead. It asks the database at the first call and then once a
// minute: one round trip.
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
			return offset, nil // the call itself will return the error
		}
		return 0, err
	}
	return c.learn(theirs.Sub(begin.Add(took/2).Round(0)), took), nil
}

// due returns the offset, whether it is known, and whether this call must measure it.
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

// learn stores a measurement, which is accurate to half of the time that it took.
func (c *clock) learn(measured, took time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.measured = true
	if (measured - c.offset).Abs() > took/2+clockTolerance {
		c.offset = measured
	}
	return c.offset
}

// Times are stored as Unix milliseconds, with 0 for never.

// latestTime is the last moment that is kept.
var latestTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// toDatabase returns a time of this node in the form of the database.
func toDatabase(t time.Time, offset time.Duration) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.After(latestTime):
		t = latestTime
	}
	return max(t.Add(offset).UnixMilli(), 1) // 0 would mean never
}

// fromDatabase is the inverse of toDatabase.
func fromDatabase(ms int64, offset time.Duration) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).Add(-offset).UTC()
}
