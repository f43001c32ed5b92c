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
// A node that led remembers the record, and can write it again if the store lost it or began with an old file. So
// after an outage, and when the record is gone, the other nodes let that node go first: they wait for firstFor.
type consumer struct {
	*Consumers
	name   string
	topics []presence.Topic // and values of AllOf
	opts   Options
	fn     func(context.Context, Event) error
	holder string // unique
	stats  *counters
	woken  wait.Wakeup // diffs came, or events are done
	log    *slog.Logger
	logs   minute.Gate
	erased []erasedAt // not taken yet; Consumers.mu guards it

	// One goroutine, in run, owns the following.
	until   time.Time         // this node holds the record until then
	unheld  time.Duration     // how long no node had held the record before
	memory  map[string]string // the record as this node led with it; nil: another node has led since
	known   bool              // there is a record
	gone    bool              // the record was lost, and no node has written it again
	trouble time.Time         // when the store last failed, or was found to have lost the record
}

// How long the record is held, and who waits for whom. Each commit of a leader holds the record for holdFor from
// then on. Without another commit the leader stops holdMargin before the end of that time, by its own clock. So no
// two nodes call fn at once.
const (
	callTimeout  = 3 * time.Second // of one call of the store
	readTimeout  = 10 * time.Second
	backoffFirst = 50 * time.Millisecond

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

// claim reports whether this node holds the record from now on. A node that lets another one go first only looks
// whether the store answers, and has a record: with an empty commit, which changes nothing.
func (c *consumer) claim(ctx context.Context) bool {
	looks := c.memory == nil && time.Since(c.trouble) < firstFor
	var state backend.ConsumerState
	var err error
	if looks {
		state, err = c.try(ctx, backend.ConsumerStep{Holder: c.holder})
	} else {
		state, err = c.hold(ctx, !c.known || c.memory != nil)
	}
	switch {
	case err != nil:
		c.trouble = time.Now()
	case state != backend.ConsumerMissing:
		c.known = true
		c.gone = c.gone && state == backend.ConsumerHeld // and this node has just made it
	case c.known:
		c.trouble, c.known, c.gone = time.Now(), false, true
	}
	return !looks && err == nil && state == backend.ConsumerHeld
}

// hold claims the record for this node.
func (c *consumer) hold(ctx context.Context, create bool) (backend.ConsumerState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	asked := time.Now()
	claimed, err := c.node.Store.ClaimConsumer(ctx, c.name, backend.ConsumerClaim{Holder: c.holder, For: holdFor, Create: create})
	switch {
	case err != nil:
	case claimed.State == backend.ConsumerHeld: // without Idle this node was the latest holder
		c.until, c.unheld = asked.Add(holdFor), max(c.unheld, cmp.Or(claimed.Idle, asked.Sub(c.until)))
	case claimed.State == backend.ConsumerTaken:
		c.memory, c.unheld = nil, 0
	}
	return claimed.State, err
}

func (c *consumer) read(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return c.node.Store.ReadConsumer(ctx, c.name)
}

func (c *consumer) try(ctx context.Context, step backend.ConsumerStep) (backend.ConsumerState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.node.Store.CommitConsumer(ctx, c.name, step)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
