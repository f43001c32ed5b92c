package track

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxRecent bounds Kind.Recent: a store keeps as many names for each topic of the kind.
const maxRecent = 1_000_000

// Kind returns the settings of a topic. Where its Kind has no TTL, Grace or MaxRoster they
// are those of c. The Grace is zero or more.
func (c *Config) Kind(t presence.Topic) presence.Kind {
	k := c.given(t)
	k.TTL = cmp.Or(k.TTL, c.TTL)
	k.Grace = max(cmp.Or(k.Grace, c.Grace), 0)
	k.MaxRoster = cmp.Or(k.MaxRoster, c.MaxRoster)
	if t == backend.DevicesTopic {
		k.MaxRoster = -1 // what a viewer sees of it depends on the viewer
	}
	return k
}

// given returns the settings of a topic as the site gave them. Nothing else looks a topic up in Kinds.
func (c *Config) given(t presence.Topic) presence.Kind { return c.Kinds[t.Kind()] }

// ttl returns how long a lease in a topic lasts without being renewed.
func (c *Config) ttl(t presence.Topic) time.Duration {
	if len(c.Kinds) == 0 {
		return c.TTL
	}
	return cmp.Or(c.given(t).TTL, c.TTL)
}

// grace returns how long a user stays in a topic after a connection closed.
func (c *Config) grace(t presence.Topic) time.Duration {
	if len(c.Kinds) == 0 {
		return c.Grace
	}
	return max(cmp.Or(c.given(t).Grace, c.Grace), 0)
}

// heartbeatFor returns how often a page beats that holds a lease with a TTL.
func heartbeatFor(ttl time.Duration) time.Duration { return min(15*time.Second, ttl/3) }

// leaseFor returns how long a lease of this node's connections lasts in the store, in topics with a TTL. It is the last net: a page
// that is silent for the TTL is ended by its node, and what a dead process held ends with the lease of the process (rule 7). So
// it is long, because renewals are most of what a store does while nothing happens.
func leaseFor(ttl time.Duration) time.Duration { return 4 * ttl }

// renewEvery returns how often such a lease is renewed. In a shorter outage it does not expire.
func renewEvery(ttl time.Duration) time.Duration { return leaseFor(ttl) / 2 }

// soonest returns the least time from an operation to the end of a lease that it makes or shortens. It is at
// most maxSweepRest, since operations that waited while the store was out end leases sooner.
func (c *Config) soonest() time.Duration {
	soonest := min(c.shortestTTL(), max(c.Grace, 0), maxSweepRest)
	for _, k := range c.Kinds {
		soonest = min(soonest, max(cmp.Or(k.Grace, c.Grace), 0))
	}
	return soonest
}

// shortestTTL returns the least TTL of any topic, longestTTL the greatest.
func (c *Config) shortestTTL() time.Duration {
	ttl := c.TTL
	for _, k := range c.Kinds {
		ttl = min(ttl, cmp.Or(k.TTL, ttl))
	}
	return ttl
}

func (c *Config) longestTTL() time.Duration {
	ttl := c.TTL
	for _, k := range c.Kinds {
		ttl = max(ttl, k.TTL)
	}
	return ttl
}

// longestGrace returns the greatest grace of any topic.
func (c *Config) longestGrace() time.Duration {
	grace := c.Grace
	for _, k := range c.Kinds {
		grace = max(grace, k.Grace)
	}
	return grace
}

// shortestGrace returns the least grace of any topic that has one; 0: none has.
func (c *Config) shortestGrace() time.Duration {
	grace := max(c.Grace, 0)
	for _, k := range c.Kinds {
		if k.Grace > 0 && (grace == 0 || k.Grace < grace) {
			grace = k.Grace
		}
	}
	return grace
}

// keepOf returns what a store keeps of topics of the kind.
func keepOf(k presence.Kind) presence.Keep {
	return presence.Keep{Names: k.Recent, ForgetSignedOut: k.ForgetSignedOut, Active: k.Active, Peak: k.Peak, PeakGuests: k.PeakGuests}
}

// validateKind returns every problem of a kind with a name.
func validateKind(k presence.Kind, name string) error {
	var errs []error
	bad := func(field, why string) {
		errs = append(errs, fmt.Errorf("%w: Kinds[%q].%s %s", presence.ErrInvalidConfig, name, field, why))
	}
	if _, err := presence.ParseTopic(name); err != nil || presence.Topic(name).Kind() != name {
		errs = append(errs, fmt.Errorf("%w: Kinds has %q, which is no kind of topic: it must be what stands before the first colon", presence.ErrInvalidConfig, name))
	}
	if k.TTL != 0 && k.TTL < 100*time.Millisecond {
		bad("TTL", fmt.Sprintf("is %v, and must be at least 100ms", k.TTL))
	}
	if k.Recent < 0 || k.Recent > maxRecent {
		bad("Recent", fmt.Sprintf("is %d, and must be 0 to %d", k.Recent, maxRecent))
	}
	if k.PeakGuests && !k.Peak {
		bad("PeakGuests", "needs Peak")
	}
	return errors.Join(errs...)
}

// renewals returns each interval in which nodes renew leases of some topic, once.
func (c *Config) renewals() []time.Duration {
	all := []time.Duration{renewEvery(c.TTL)}
	for _, k := range c.Kinds {
		if k.TTL != 0 {
			all = append(all, renewEvery(k.TTL))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
