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
	// Mail sends a digest: see [feed.Keeper.Digest]. If several sites share the fleet, the digest's Tenant
	// names the user's site. Mail needs Feeds. It is called for up to eight digests at once, and for 30 s at
	// most each. Processes that share a database must also share a presence store, such as a Redis: otherwise
	// each one mails users who are online at another one. Default: none; there are no digests.
	Mail func(context.Context, feed.Digest) error
}

func (c Config) withDefaults() Config {
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	return c
}

// minInterval is the shortest time between two runs of a job.
const minInterval = 100 * time.Millisecond

// How often the other jobs run. A job with a jitter runs earlier or later by a random part of it, so that the
// nodes of a fleet do not run the job at the same time.
const (
	ageMost     = 10 * time.Second // or a tenth of the tracker's Age, if that is shorter
	trimEvery   = time.Hour
	trimJitter  = trimEvery / 10
	relayEvery  = 875 * time.Millisecond
	relayJitter = 125 * time.Millisecond
	digestMost  = 30 * time.Second // or half of the Keeper's MailAfter, if that is shorter
)

// ageEvery returns how often the job age asks the store whether a period is over.
func ageEvery(age time.Duration) time.Duration { return max(minInterval, min(age/10, ageMost)) }

// digestEvery returns how often the job digest looks for due digests. A digest is late by at most that time
// and a quarter of it.
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
