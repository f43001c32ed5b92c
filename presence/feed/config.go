package feed

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Config is how a [Keeper] keeps feeds. The zero value is usable: each field's comment states
// its default.
type Config struct {
	// Most is how many items a feed has. Trimming removes the oldest of more, except unread items younger
	// than Keep. A message to an inbox with that many unread items is dropped, and counted. Default: 1,000.
	Most int
	// Keep is how long items and message IDs are kept. Archived and removed items are kept for a third of it.
	// Default: 90 days.
	Keep time.Duration

	// MailAfter is how long after the first unread item a digest is due. Package jobs looks for
	// digests each half of it, but at least once in 30 s. Default: 5 min.
	MailAfter time.Duration

	// Check is how often the feeds that pages here follow are compared with the database, in case a hint was
	// lost: one query for 1,000 feeds, and none if the store knows that nothing has changed. Without a presence
	// store that carries hints to other processes, it is how soon those see a change. Default: 30 s.
	Check time.Duration
	// MaxLines is how many feeds the pages of this node may follow at once, including feeds whose last page
	// left within a minute. Each signed-in user with a page has one, and so has each room: raise it with
	// handlers.Config.MaxConnections. Rooms can take three quarters of it. A user can bring in a hundredth,
	// and all guests of a tenant a half. Over MaxLines, feeds without a page are dropped. A page whose feed
	// has no room shows nothing new, and says so, until there is room; the other topics of its stream go on.
	// Default: 100,000.
	MaxLines int

	// Actors returns the words for {actors} in a text, in the language of the site. names has one or two
	// names, and others is how many more actors there are. Default: [EnglishActors].
	Actors func(names []string, others int) string
}

func (c Config) withDefaults() Config {
	c.Most = cmp.Or(c.Most, 1_000)
	c.Keep = cmp.Or(c.Keep, 90*24*time.Hour)
	c.MailAfter = cmp.Or(c.MailAfter, 5*time.Minute)
	c.Check = cmp.Or(c.Check, 30*time.Second)
	c.MaxLines = cmp.Or(c.MaxLines, 100_000)
	if c.Actors == nil {
		c.Actors = EnglishActors
	}
	return c
}

// leastPeriod is the shortest duration that a Config takes.
const leastPeriod = 100 * time.Millisecond

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Keep", c.Keep}, {"MailAfter", c.MailAfter}, {"Check", c.Check}} {
		if d.value < leastPeriod {
			errs = append(errs, fmt.Errorf("%w: feed.Config.%s is %v, and must be at least %v", presence.ErrInvalidConfig, d.field, d.value, leastPeriod))
		}
	}
	for _, n := range []struct {
		field string
		value int
	}{{"Most", c.Most}, {"MaxLines", c.MaxLines}} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("%w: feed.Config.%s must be at least 1", presence.ErrInvalidConfig, n.field))
		}
	}
	return errors.Join(errs...)
}
