package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Config is how often each job runs: at least every 100 ms; negative switches
// the job off. The zero value is usable: each field's default stands at it.
type Config struct {
	// Sweep is how often expired leases are removed: a user who vanished is shown
	// as online that much longer. Default: 1 s.
	Sweep time.Duration
	// Age is how often the store is asked whether an age period is over; the
	// period itself is the tracker's. Default: a tenth of it, from 100 ms to 10 s.
	Age time.Duration
	// Trim is how often last seen and chosen statuses are trimmed, give or take a
	// tenth, so that the nodes of a fleet take turns. Default: 1 h.
	Trim time.Duration
}

func (c Config) withDefaults(age time.Duration) Config {
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	c.Age = cmp.Or(c.Age, max(least, min(age/10, 10*time.Second)))
	c.Trim = cmp.Or(c.Trim, time.Hour)
	return c
}

// least is the shortest time between two runs of a job.
const least = 100 * time.Millisecond

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Sweep", c.Sweep}, {"Age", c.Age}, {"Trim", c.Trim}} {
		if 0 <= d.value && d.value < least {
			errs = append(errs, fmt.Errorf("%w: %s is %v, and must be at least %v, or negative for never", presence.ErrInvalidConfig, d.field, d.value, least))
		}
	}
	return errors.Join(errs...)
}
