package feed

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// A relayer moves messages from the outbox to feeds, and removes what is too old.
type relayer struct {
	store  Store
	cfg    *Config
	calls  *calls
	stats  *counters
	logger *slog.Logger
	hinter *hinter
	kicked wait.Wakeup // the relay must run now
	found  func(presence.Finding, ...any)
	relays atomic.Bool // a job calls Relay on this node
}

// Kick makes the relay run now. Call it after a commit of the site's own. It does not block. Without it a
// message waits for the next relay of any node, for a second at most.
func (r *relayer) Kick() { r.kicked.Wake() }

// relayWhenKicked runs the relay after each Kick, until ctx ends.
func (r *relayer) relayWhenKicked(ctx context.Context) {
	for wait.Until(ctx, r.kicked, -1) {
		bound, cancel := context.WithTimeout(ctx, relayPatience)
		_, _ = r.relay(bound, false) // the job logs errors
		cancel()
	}
}

const (
	relayPatience = 10 * time.Second
	busyPause     = 20 * time.Millisecond // about as long as another relay takes
	busyTries     = 10
)

// Relay moves due messages from the outbox to feeds, until nothing is due or ctx ends, and tells all nodes. A
// job calls it once a second. A store that knows of changes, as package sqlstore does, asks its database only
// after one.
func (r *relayer) Relay(ctx context.Context) (moved int, err error) {
	r.relays.Store(true)
	return r.relay(ctx, true)
}

func (r *relayer) relay(ctx context.Context, poll bool) (moved int, err error) {
	o := RelayOptions{MailAfter: r.cfg.MailAfter, Most: r.cfg.Most, Poll: poll}
	for busy := 0; ctx.Err() == nil; o.Poll = false {
		done, err := call(ctx, r.calls, func(ctx context.Context) (Relayed, error) { return r.store.Relay(ctx, o) })
		r.stats.relayed(done)
		r.logBad(done.Bad)
		r.hinter.changed(done.Changed...)
		moved += done.Moved
		switch {
		case err != nil:
			return moved, err
		case done.Busy:
			// Another relay may miss what was committed after it looked, and that would wait for a second.
			if busy++; busy > busyTries || !wait.For(ctx, busyPause) {
				return moved, nil
			}
		case !done.More:
			return moved, nil
		}
	}
	return moved, ctx.Err()
}

// logBad logs rows that could not be moved: one line for all that one call found.
func (r *relayer) logBad(rows []BadRow) {
	if len(rows) == 0 {
		return
	}
	var ids, givenUp []string
	for _, row := range rows {
		id := strings.TrimPrefix(row.Tenant+"/"+row.ID, "/")
		if row.GivenUp {
			givenUp = append(givenUp, id)
		} else {
			ids = append(ids, id)
		}
	}
	r.logger.Warn("presence: messages could not be relayed; their rows in the outbox say why. Others go on",
		"tried_again", ids, "given_up", givenUp, "first_error", rows[0].Why)
}

// watchOutbox checks the state of the outbox, for Stats. If the same row waits at two checks, and no job
// calls Relay here, then no other node relays either.
func (r *relayer) watchOutbox(ctx context.Context) {
	var was time.Duration // for how long the oldest row had waited at the previous check
	for wait.For(ctx, outboxEvery) {
		bound, cancel := context.WithTimeout(ctx, patience)
		o, err := call(bound, r.calls, r.store.Waiting)
		cancel()
		if err == nil {
			r.stats.outbox.Store(&o)
		}
		if err == nil && was > 0 && o.Oldest > was+outboxEvery/2 && !r.relays.Load() {
			r.found(presence.NoRelay, "waiting", o.Waiting, "oldest", o.Oldest.Round(time.Second))
		}
		was = o.Oldest
	}
}

const outboxEvery = 15 * time.Second

// trimRows is how many rows one transaction removes (rule F12), and recounted how many feeds
// one Trim recounts.
const (
	trimRows  = 1_000
	trimSteps = 1_000
	recounted = 1_000
)

// Trim removes what is too old or too many, and recounts some feeds. A job calls it once an
// hour.
func (r *relayer) Trim(ctx context.Context) (removed int, err error) {
	o := TrimOptions{Most: r.cfg.Most, Keep: r.cfg.Keep, Archived: r.cfg.Keep / 3, Rows: trimRows}
	for range trimSteps {
		n, err := call(ctx, r.calls, func(ctx context.Context) (int, error) { return r.store.Trim(ctx, o) })
		removed += n
		r.stats.trimmed.Add(uint64(n))
		if err != nil {
			return removed, err
		}
		if n == 0 {
			break
		}
	}
	wrong, err := call(ctx, r.calls, func(ctx context.Context) (int, error) { return r.store.Recount(ctx, recounted) })
	if wrong > 0 {
		r.stats.miscounted.Add(uint64(wrong))
		r.logger.Error("presence: counters of feeds did not equal their rows, and were mended; somebody else writes to the tables", "feeds", wrong)
	}
	return removed, err
}
