package deliver

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A consumer is one call of [Consumers.Run]. On each node it stands by until it holds the consumer's record in
// the store. Then it leads: see leader.
//
//	node A   leads ───── dies at 12:00:00
//	node B   stands by, claims once a second ──┬── leads from 12:00:06 on
//	                                           └ A's time in the store is over
//
// A node that led remembers the record. So it can write the record again if the store lost it, or began with an
// old file. The other nodes let it go first: after an outage, and when the record is gone, they wait for firstFor.
type consumer struct {
	node    *Node
	name    string
	topics  []presence.Topic // the named topics
	allOf   []presence.Topic // the kinds: values of AllOf
	opts    Options
	fn      func(context.Context, Event) error
	holder  string // unique
	stats   *counters
	woken   wait.Wakeup // diffs came, or events are done
	logs    minute.Gate
	erasing erasing

	// One goroutine, in run, owns the following.
	until   time.Time         // this node holds the record until then
	heldAt  time.Time         // when some node last held it, as far as this node knows
	memory  map[string]string // the record as this node led with it; nil: another node has led since
	taken   time.Time         // since when another node holds it, after this one led; zero: none does
	known   bool              // there was a record
	missing bool              // the latest look found none
	gone    bool              // the record is lost, and no node that led has written it again
	trouble time.Time         // when the store last failed, or was found to have lost the record
}

// How long the record is held, and who waits for whom. Each commit of a leader holds the record for holdFor from
// then on. Without another commit the leader stops calling fn holdMargin before the end of that time, by its own
// clock. So no two nodes call fn at once.
const (
	holdFor    = 6 * time.Second
	holdMargin = time.Second
	claimEvery = time.Second
	firstFor   = 5 * time.Second // the time in which the node that led goes first
)

// run stands by and leads until ctx ends.
func (c *consumer) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.forgetErased()
		if c.claim(ctx) {
			if entries, err := c.read(ctx); err == nil { // else the next claim succeeds, and reads again
				c.lead(ctx, entries)
			}
		}
		wait.For(ctx, claimEvery)
	}
}

// claim reports whether this node holds the record from now on. A node that must let another one go first only
// looks whether the store answers, and has a record: with an empty commit, which changes nothing.
func (c *consumer) claim(ctx context.Context) bool {
	if c.memory == nil && time.Since(c.trouble) < firstFor {
		state, err := c.try(ctx, backend.ConsumerStep{Holder: c.holder})
		c.found(state, err)
		return false
	}
	c.gone = c.missing && c.memory == nil
	state, err := c.hold(ctx, !c.known || c.missing || c.memory != nil)
	c.found(state, err)
	return err == nil && state == backend.ConsumerHeld
}

// found notes what a look at the record found.
func (c *consumer) found(state backend.ConsumerState, err error) {
	lost := err == nil && state == backend.ConsumerMissing && c.known
	if err != nil || lost && !c.missing {
		c.trouble = time.Now()
	}
	c.missing = lost
	c.known = c.known || err == nil && state != backend.ConsumerMissing
}

// hold claims the record for this node. If another node holds it for longer than a time that an old file may
// name, that node leads, and knows more than this one.
func (c *consumer) hold(ctx context.Context, create bool) (backend.ConsumerState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	asked := time.Now()
	claimed, err := c.node.Store.ClaimConsumer(ctx, c.name, backend.ConsumerClaim{Holder: c.holder, For: holdFor, Create: create})
	switch {
	case err != nil:
	case claimed.State == backend.ConsumerHeld:
		c.until, c.taken = asked.Add(holdFor), time.Time{}
		if claimed.Idle > 0 { // else this node holds it since a claim whose answer was lost
			c.heldAt = later(c.heldAt, asked.Add(-claimed.Idle))
		}
	case claimed.State == backend.ConsumerTaken:
		c.heldAt = later(c.heldAt, asked)
		if c.taken.IsZero() {
			c.taken = asked
		} else if asked.Sub(c.taken) > holdFor {
			c.memory = nil
		}
	}
	return claimed.State, err
}

func (c *consumer) read(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return c.node.Store.ReadConsumer(ctx, c.name)
}

func (c *consumer) log() *slog.Logger {
	return cmp.Or(c.node.Logger, slog.Default()).With(slog.String("consumer", c.name))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
