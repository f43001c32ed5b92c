package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
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
}

func (c Config) withDefaults(age time.Duration) Config {
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	c.Age = cmp.Or(c.Age, max(minInterval, min(age/10, 10*time.Second)))
	c.Trim = cmp.Or(c.Trim, time.Hour)
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
	}{{"Sweep", c.Sweep}, {"Age", c.Age}, {"Trim", c.Trim}} {
		if 0 <= d.value && d.value < minInterval {
			errs = append(errs, fmt.Errorf("%w: %s is %v, and must be at least %v, or negative for never", presence.ErrInvalidConfig, d.field, d.value, minInterval))
		}
	}
	return errors.Join(errs...)
}
