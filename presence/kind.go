package presence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Kind is the settings of all topics of one kind: see [Config].Kinds. With the zero value
// a topic has the times of Config, and only who is online is kept.
type Kind struct {
	TTL       time.Duration // instead of Config.TTL. Zero: that one
	Grace     time.Duration // instead of Config.Grace. Zero: that one; negative: no grace
	MaxRoster int           // instead of Config.MaxRoster. Zero: that one; negative: no limit

	// CountOnly keeps names from visitors: every reader of the topic gets figures alone. Go
	// programs still get names, by [Tracker.Changes], [Tracker.Deliver] and
	// [Tracker.Inspect], and so do webhooks and the page for staff.
	CountOnly bool

	// Recent is how many users the store remembers by name: the latest active ones, also
	// after they left. See [Tracker.Recent]. A user takes about 300 bytes.
	// Default: 0; at most 1,000,000.
	Recent int
	// ForgetSignedOut removes users from the recent ones when they sign out. Without it they
	// stay there, as those do who close their pages.
	ForgetSignedOut bool

	// Active adds to each user of the roster the minute of the user's latest page view: see
	// [Member]. A user who views pages then causes a diff once a minute.
	Active bool

	// Peak remembers the most users who were ever online at one time, and when.
	Peak bool
	// PeakGuests counts guests as well as users for the peak. It needs Peak.
	PeakGuests bool

	// Bots counts crawlers that say who they are, by name.
	Bots bool
}

// maxRecent bounds Kind.Recent: a store keeps as many names for each topic of the kind.
const maxRecent = 1_000_000

// Kind returns the settings of a topic. Where its Kind has no TTL, Grace or MaxRoster they
// are those of c. The Grace is zero or more.
func (c *Config) Kind(t Topic) Kind {
	k := c.Kinds[t.Kind()]
	k.TTL = cmp.Or(k.TTL, c.TTL)
	k.Grace = max(cmp.Or(k.Grace, c.Grace), 0)
	k.MaxRoster = cmp.Or(k.MaxRoster, c.MaxRoster)
	if t == devicesTopic {
		k.MaxRoster = -1 // what everybody sees of it is decided for each viewer
	}
	return k
}

// ttl returns how long a lease in a topic lasts without being renewed.
func (c *Config) ttl(t Topic) time.Duration {
	if len(c.Kinds) == 0 {
		return c.TTL
	}
	return cmp.Or(c.Kinds[t.Kind()].TTL, c.TTL)
}

// grace returns how long a user stays in a topic after a connection closed.
func (c *Config) grace(t Topic) time.Duration {
	if len(c.Kinds) == 0 {
		return c.Grace
	}
	return max(cmp.Or(c.Kinds[t.Kind()].Grace, c.Grace), 0)
}

// heartbeatFor returns how often a lease with a TTL is renewed.
func heartbeatFor(ttl time.Duration) time.Duration { return min(15*time.Second, ttl/3) }

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

// heartbeats returns each interval in which leases of some topic are renewed, once.
func (c *Config) heartbeats() []time.Duration {
	all := []time.Duration{c.Heartbeat()}
	for _, k := range c.Kinds {
		if k.TTL != 0 {
			all = append(all, heartbeatFor(k.TTL))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Keep says what a store keeps of a topic beyond who is online (rules 15 to 17). It comes
// with each [Batch], so a store needs no configuration. With the zero value the store keeps
// only who is online.
type Keep struct {
	Names           int  // how many users are remembered by name, the latest active ones
	ForgetSignedOut bool // a sign-out removes the user from them
	Active          bool // keep Member.Active, and announce it
	Peak            bool // keep the most users online at one time
	PeakGuests      bool // count guests with them
}

// keep returns what a store keeps of topics of the kind.
func (k Kind) keep() Keep {
	return Keep{Names: k.Recent, ForgetSignedOut: k.ForgetSignedOut, Active: k.Active, Peak: k.Peak, PeakGuests: k.PeakGuests}
}

// validate returns every problem of a kind with a name.
func (k Kind) validate(name string) error {
	var errs []error
	bad := func(field, why string) {
		errs = append(errs, fmt.Errorf("%w: Kinds[%q].%s %s", ErrInvalidConfig, name, field, why))
	}
	if _, err := ParseTopic(name); err != nil || Topic(name).Kind() != name {
		errs = append(errs, fmt.Errorf("%w: Kinds has %q, which is no kind of topic: it must be what stands before the first colon", ErrInvalidConfig, name))
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
