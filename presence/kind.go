package presence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Kind says how topics of one kind differ from others: see [Config].Kinds. The zero
// value is an ordinary topic, of which nothing is kept but who is online.
type Kind struct {
	TTL       time.Duration // instead of Config.TTL. Zero: that one
	Grace     time.Duration // instead of Config.Grace. Zero: that one; negative: no grace
	MaxRoster int           // instead of Config.MaxRoster. Zero: that one; negative: no limit

	// CountOnly keeps the names on the server: readers of the topic get figures, whoever
	// they are. Go programs get the names by [Tracker.Changes] and [Tracker.Inspect].
	CountOnly bool

	// Recent is how many users the store remembers by name after they left, those who
	// were active last: see [Tracker.Recent]. A user takes about 300 bytes.
	// Default: 0, none; at most 1,000,000.
	Recent int
	// ForgetSignedOut takes users out of the recent ones when they sign out.
	ForgetSignedOut bool

	// Active adds to each user of the roster when the user last viewed a page, in whole
	// minutes: see [Member]. A user who views pages then makes a diff once a minute.
	Active bool

	// Peak remembers the most users who were ever online at one time, and when.
	Peak bool
	// PeakGuests counts guests with the users of the peak. It needs Peak.
	PeakGuests bool

	// Bots counts crawlers that say who they are, by name.
	Bots bool
}

// maxRecent bounds Kind.Recent: a store keeps as many names for each topic of the kind.
const maxRecent = 1_000_000

// Kind returns how a topic is configured: its Kind, with the TTL, Grace and MaxRoster of c
// where the Kind has none. A Grace is never negative in it.
func (c *Config) Kind(t Topic) Kind {
	k := c.Kinds[t.Kind()]
	k.TTL = cmp.Or(k.TTL, c.TTL)
	k.Grace = max(cmp.Or(k.Grace, c.Grace), 0)
	k.MaxRoster = cmp.Or(k.MaxRoster, c.MaxRoster)
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
// with each [Batch], so a store needs no configuration. The zero value keeps nothing more.
type Keep struct {
	Names           int  // users who are remembered by name, the latest active; 0: none
	ForgetSignedOut bool // a sign-out takes the user out of them
	Active          bool // Member.Active is kept, and told
	Peak            bool // the most users online at one time
	PeakGuests      bool // with guests
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
