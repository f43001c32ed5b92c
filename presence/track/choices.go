package track

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// choices makes a node announce a user only once it knows which status the user chose:
// a user who chose to be invisible must not be shown by a node that has just started.
// The node takes the choice from its memory. Else it asks the Directory, or the store where there
// is no Directory. Page views and joins of the user wait meanwhile.
//
// Example: Alice chose invisible yesterday. Node B starts at 12:00:00.000 and gets her
// page view at 12:00:00.100. Her view waits; the store says "invisible" at 12:00:00.102;
// the view is written with that status, and nobody sees her.
type choices struct {
	cfg       *Config
	life      *lifetime
	stats     *counters
	store     backend.Store
	outage    *outage
	writer    *writer
	users     *users
	topics    *topics
	notices   *notices
	directory *directoryCalls
	devices   *deviceRoster
	where     *whereabouts
	lastSeen  *lastSeen
	untils    *untils

	logs minute.Gate
}

const (
	maxAskedAtOnce = 500 // users
	statusRetry    = 500 * time.Millisecond
)

// begin completes a choices whose fields for other parts are set. It calls forgotten with the number of ends
// of statuses that were dropped for lack of room.
func (c *choices) begin(forgotten func(int)) *choices {
	c.untils = newUntils(c.life, c.statusEnded, forgotten)
	c.users.ask = func() bool { return c.life.spawn(c.ask) }
	c.users.learnt = func(user presence.UserID, now choice) {
		c.untils.set(user, now.settings.end())
		c.writer.unblock(user)
	}
	return c
}

// as returns a user with the status that the user chose. What the browser remembers counts only if neither
// the Directory nor the store knows a choice, as after a Directory was lost.
func (c *choices) as(user presence.User, chosen choice) resolved {
	s := chosen.settings
	if s.Status == "" && user.Veiled {
		s.Status = presence.Invisible
	}
	return resolved{user, s, c.devices}
}

// put is [writer.put] for a cell that lets others see its user. It waits by itself while this node does not know what the user
// chose.
func (c *choices) put(topic presence.Topic, what cell) {
	owner := ownerIn(topic, what.member)
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	if _, known := c.users.records.choice(owner); known {
		c.writer.put(topic, what)
	} else {
		c.writer.block(topic, &what)
		c.users.askLocked(owner)
	}
}

// hides reports whether nobody sees a user, as far as this node knows what the user chose.
func (c *choices) hides(user presence.User) bool {
	return c.as(user, c.users.choiceOf(user.ID)).hides()
}

// full reports whether a connection's leases would have to wait for the user's choice while too much waits
// already.
func (c *choices) full(user presence.UserID) bool {
	_, known := c.users.records.choice(user)
	return !known && c.writer.blockedFull(user)
}

// drain waits until all is written, and so nothing waits for what users chose: for a second at most, and not while the store is out.
func (c *choices) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for c.writer.busy() && !c.outage.latestFailed() && wait.For(ctx, time.Millisecond) {
	}
}

// logFailure logs, once a minute, that users wait to be announced. An outage of the store
// has a log line of its own.
func (c *choices) logFailure(err error) {
	if c.outage.latestFailed() || errors.Is(err, presence.ErrStoreOut) || c.life.over() {
		return
	}
	if waiting := c.users.waiting(); waiting > 0 && c.logs.Pass() {
		c.cfg.Logger.Warn("presence: nobody can tell what users chose, in the Directory or the store; they are not announced until that is known",
			slog.Any("error", err), slog.Int("users", waiting))
	}
}
