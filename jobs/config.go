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

// Config says how often each job runs: at most once in 100 ms; negative: never. The zero
// value is usable; each field states its default.
type Config struct {
	// Sweep is how often expired leases are removed. A user who vanished is shown as
	// online for up to that much longer. Default: 1 s.
	Sweep time.Duration
	// Age is how often the store is asked whether an age period is over. The period is
	// the tracker's Age. Default: a tenth of that, at least 100 ms and at most 10 s.
	Age time.Duration
	// Trim is how often old last-seen times and statuses are removed, give or take a
	// tenth, so that the nodes of a fleet do not do it at the same time. Default: 1 h.
	Trim time.Duration

	// Feeds keeps inboxes and rooms. With it the jobs relay and trim_feeds run too; the
	// latter as often as Trim says. Default: none.
	Feeds *feed.Keeper
	// Relay is how long a message may wait in the outbox: messages are moved to feeds so often,
	// or up to a quarter more often, so that the nodes of a fleet do not do it at the same time.
	// A message that was sent, or followed by a Kick, does not wait for it. Default: 1 s.
	Relay time.Duration
	// Mail sends a digest: see [feed.Keeper.Digest]. Where several sites share the fleet, the
	// digest's Tenant says which one's user it is for. It needs Feeds, and runs in one goroutine
	// a node. Several processes on one database need one presence store too, such as a Redis:
	// else each mails users who are at pages of another. Default: none; there are no digests.
	Mail func(context.Context, feed.Digest) error
	// Digest is how often is looked for digests that are due, give or take a quarter. A user
	// gets one up to that much later than feed.Config.MailAfter says. Default: 30 s.
	Digest time.Duration
}

func (c Config) withDefaults(age time.Duration) Config {
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	c.Age = cmp.Or(c.Age, max(minInterval, min(age/10, 10*time.Second)))
	c.Trim = cmp.Or(c.Trim, time.Hour)
	c.Relay = cmp.Or(c.Relay, time.Second)
	c.Digest = cmp.Or(c.Digest, 30*time.Second)
	return c
}

// minInterval is the shortest time between two runs of a job.
const minInterval = 100 * time.Millisecond

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Sweep", c.Sweep}, {"Age", c.Age}, {"Trim", c.Trim}, {"Relay", c.Relay}, {"Digest", c.Digest}} {
		if 0 <= d.value && d.value < minInterval {
			errs = append(errs, fmt.Errorf("%w: %s is %v, and must be at least %v, or negative for never", presence.ErrInvalidConfig, d.field, d.value, minInterval))
		}
	}
	if c.Mail != nil && c.Feeds == nil {
		errs = append(errs, fmt.Errorf("%w: Mail needs Feeds", presence.ErrInvalidConfig))
	}
	return errors.Join(errs...)
}
