package track

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// choices makes a node announce a user only once it knows which status the user chose:
// a user who chose to be invisible must not be shown by a node that has just started.
// The node takes the choice from its memory, or else asks the site's table
// (Config.Status) and the store. Page views and joins of the user wait meanwhile.
//
// Example: Alice chose invisible yesterday. Node B starts at 12:00:00.000 and gets her
// page view at 12:00:00.100. Her view waits; the store says "invisible" at 12:00:00.102;
// the view is written with that status, and nobody sees her.
type choices struct {
	cfg       *Config
	life      *lifetime
	process   string
	stats     *counters
	store     backend.Store
	outage    *outage
	writer    *writer
	users     *users
	topics    *topics
	notices   *notices
	directory *directoryCalls
	devices   *deviceRoster
	members   *allDevices
	lastSeen  *lastSeen
	untils    *untils

	// users.mu guards these.
	waiting  map[presence.UserID][]unresolved // what to do once a choice is known, in order
	order    []presence.UserID                // users to ask about, the first to come first
	queued   int                              // functions in waiting
	asking   bool                             // a goroutine asks
	listed   map[presence.UserID]struct{}     // users in order
	doubts   map[presence.UserID]*doubt       // users of whom the Directory has yet to say what they chose now
	askAfter time.Time                        // do not ask before: the store lost choices, and nodes publish them again until then

	logs     minute.Gate
	statuses *statusReader
}

const (
	maxAskedAtOnce = 500 // users
	statusRetry    = 500 * time.Millisecond
)

// An unresolved is what to do once a user's choice is known.
type unresolved struct {
	conn *holder // for whose lease it is; nil: a page view
	then func(choice)
}

// begin makes choices that know their parts usable. forgotten counts ends of statuses that were
// forgotten for want of room.
func (c *choices) begin(forgotten func(int)) *choices {
	c.waiting, c.listed, c.doubts = make(map[presence.UserID][]unresolved), make(map[presence.UserID]struct{}), make(map[presence.UserID]*doubt)
	c.statuses = newStatusReader(c.cfg, c.store)
	c.untils = newUntils(c.life, c.statusEnded, forgotten)
	return c
}

// resolve calls add with the user, with the status that others will see: the one that
// identify named, or else the one that the user chose. If that is not known, add is
// called once it is, unless too much waits already. Calls for one user keep their order.
// add is called with users.mu held, so that a status that is set later is also written later.
//
// Where the site has a Directory the settings must be known, too: they say who may see the
// status that identify named.
func (c *choices) resolve(user presence.User, add func(resolved)) { c.resolveFor(nil, user, add) }

// resolveFor is resolve for a connection. If it ends before the choice is known, add may not be
// called.
func (c *choices) resolveFor(conn *holder, user presence.User, add func(resolved)) {
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	if user.Status != "" && !c.directory.on() {
		add(resolved{User: user})
	} else if chosen, known := c.users.choiceLocked(user.ID); known {
		add(c.as(user, chosen))
	} else {
		c.waitLocked(conn, user, add)
	}
}

// ifKnown is resolve for a user whose choice is known, and does nothing for another.
func (c *choices) ifKnown(user presence.User, then func(resolved)) {
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	if user.Status != "" && !c.directory.on() {
		then(resolved{User: user})
	} else if chosen, known := c.users.choiceLocked(user.ID); known {
		then(c.as(user, chosen))
	}
}

// as returns a user with what the user chose. What a browser remembers counts where nothing
// that lasts says anything, such as in a Directory that was lost.
func (c *choices) as(user presence.User, chosen choice) resolved {
	if chosen.settings != nil {
		if chosen.settings.Status == "" && user.Veiled {
			veiled := *chosen.settings
			veiled.Status, chosen.settings = presence.Invisible, &veiled
		}
		return resolved{user, chosen.settings, c.devices}
	}
	if user.Status = chosen.Status; chosen.Status == "" && user.Veiled {
		user.Status = presence.Invisible
	}
	return resolved{User: user}
}

// waitLocked calls add once the user's choice is known.
func (c *choices) waitLocked(conn *holder, user presence.User, add func(resolved)) {
	waiting := c.waiting[user.ID]
	first, had := len(waiting) == 0, len(waiting)
	waiting = slices.DeleteFunc(waiting, func(u unresolved) bool { return u.conn != nil && c.users.connections[u.conn.id] == nil })
	c.queued += len(waiting) - had
	c.waiting[user.ID] = waiting
	if c.fullLocked(user.ID) {
		c.stats.dropped.Add(1)
	} else {
		c.waiting[user.ID] = append(waiting, unresolved{conn, func(chosen choice) { add(c.as(user, chosen)) }})
		c.queued++
	}
	if len(c.waiting[user.ID]) == 0 {
		delete(c.waiting, user.ID)
	} else if first {
		c.enqueueLocked(user.ID)
	}
}

// full reports whether the leases of a user's connections would wait for the choice, and too much
// waits already: as [writer.full].
func (c *choices) full(user presence.UserID) bool {
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	_, known := c.users.choiceLocked(user)
	return !known && c.fullLocked(user)
}

func (c *choices) fullLocked(user presence.UserID) bool {
	most := c.writer.max
	return c.queued >= most || c.queued >= most/2 && len(c.waiting[user]) > most/shareParts
}

// learnLocked remembers a choice, and runs the functions that waited for it.
func (c *choices) learnLocked(user presence.UserID, learnt choice) {
	known := c.users.knownLocked(user)
	if learnt.Base() == presence.Invisible && (known.choice == nil || known.choice.Base() != presence.Invisible) {
		c.users.hid = time.Now()
	}
	known.choice = &learnt
	if s := learnt.settings; s != nil {
		c.untils.set(user, s.end())
	}
	waiting := c.waiting[user]
	delete(c.waiting, user)
	c.queued -= len(waiting)
	for _, u := range waiting {
		u.then(learnt)
	}
}

// answeredLocked takes the answer to a question, unless a notice was faster.
func (c *choices) answeredLocked(user presence.UserID, answer choice) {
	if _, waits := c.waiting[user]; waits {
		c.learnLocked(user, answer)
	}
}

// drain waits until the queue of choices is empty, for a second at most, so that a node
// that stops writes its last page views.
func (c *choices) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for !c.outage.latestFailed() {
		c.users.mu.Lock()
		queued := c.queued
		c.users.mu.Unlock()
		if queued == 0 || !wait.For(ctx, time.Millisecond) {
			return
		}
	}
}

// logFailure logs, once a minute, that users wait to be announced. An outage of the store
// has a log line of its own.
func (c *choices) logFailure(err error) {
	if c.outage.latestFailed() || errors.Is(err, presence.ErrStoreOut) || c.life.over() {
		return
	}
	c.users.mu.Lock()
	users := len(c.waiting)
	c.users.mu.Unlock()
	if users > 0 && c.logs.Pass() {
		c.cfg.Logger.Warn("presence: nobody can tell what users chose, in Config.Status, the Directory or the store; they are not announced until that is known",
			slog.Any("error", err), slog.Int("users", users))
	}
}
