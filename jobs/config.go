package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// Config says which jobs run. The zero value is usable; each field states its default.
type Config struct {
	// Sweep is how often expired leases are removed. A user who vanished is shown as
	// online for up to that much longer. Default: 1 s; at least 100 ms; negative: never.
	Sweep time.Duration

	// Feeds keeps inboxes and rooms. With it the jobs relay and trim_feeds run too.
	// Default: none.
	Feeds *feed.Keeper
	// Mail sends a digest: see [feed.Keeper.Digest]. Where several sites share the fleet, the
	// digest's Tenant says which one's user it is for. It needs Feeds, and is called for
	// up to eight digests at once, for half a minute each. Several processes on one database need one presence store too, such as a Redis:
	// else each mails users who are at pages of another. Default: none; there are no digests.
	Mail func(context.Context, feed.Digest) error
}

func (c Config) withDefaults() Config {
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	return c
}

// minInterval is the shortest time between two runs of a job.
const minInterval = 100 * time.Millisecond

// How often the other jobs run. Those with a jitter run earlier or later by so much at most, so
// that the nodes of a fleet do not do it at the same time.
const (
	ageMost     = 10 * time.Second // or a tenth of the tracker's Age, if that is shorter
	trimEvery   = time.Hour
	trimJitter  = trimEvery / 10
	relayEvery  = 875 * time.Millisecond
	relayJitter = 125 * time.Millisecond
	digestMost  = 30 * time.Second // or half of the Keeper's MailAfter, if that is shorter
)

// ageEvery returns how often the store is asked whether a period of age is over.
func ageEvery(age time.Duration) time.Duration { return max(minInterval, min(age/10, ageMost)) }

// digestEvery returns how often is looked for digests that are due. A digest is late by that
// much, and a quarter of it, at most.
func digestEvery(mailAfter time.Duration) time.Duration {
	return max(minInterval, min(mailAfter/2, digestMost))
}

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	if 0 <= c.Sweep && c.Sweep < minInterval {
		errs = append(errs, fmt.Errorf("%w: Sweep is %v, and must be at least %v, or negative for never", presence.ErrInvalidConfig, c.Sweep, minInterval))
	}
	if c.Mail != nil && c.Feeds == nil {
		errs = append(errs, fmt.Errorf("%w: Mail needs Feeds", presence.ErrInvalidConfig))
	}
	return errors.Join(errs...)
}
