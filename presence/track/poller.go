package track

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A poller asks the store what happened, by one call: it renews the lease of this process (rule 7), hears what messages were
// lost of, and learns in which topics figures changed and whether an erasure waits. All connections here depend on that lease: if
// this process dies, another node sweeps them within Config.NodeTTL and the interval of sweeps.
type poller struct {
	cfg        *Config
	store      backend.Store
	outage     *outage
	generation *generation
	topics     *topics
	figures    wait.Wakeup        // figures changed
	erasures   func()             // an erasure waits
	renewAll   func()             // renews what this node holds
	swept      func()             // a sweep has begun to end what this node holds: a new generation is needed
	rewrite    func()             // writes what this node holds in the present generation
	rewritten  func(n int32) bool // reports whether all of that was written in a generation
	soon       wait.Wakeup        // a poll is due: see housekeeper.polls; a sweep failed, or a generation is wanted

	renewed time.Time // when the lease was renewed last: not with each poll, or a process that dies would have all of it left
	told    bool      // swept was called for the present generation
	before  bool      // what the generations before wrote is still to be written in the present one

	mu      sync.Mutex              // taken with no other mutex held
	began   time.Time               // when the latest poll began
	mark    string                  // of the latest answer; empty: the store cannot tell which figures changed, or was not asked yet
	changed map[presence.Topic]bool // topics whose figures changed since take was called
	all     bool                    // every topic may have changed, although the store can tell
}

// every is the longest time between two polls, so that two renewals in a row may fail.
func (l *poller) every() time.Duration { return l.cfg.NodeTTL / 3 }

func (l *poller) run(ctx context.Context) {
	for {
		l.poll(ctx)
		if !wait.Until(ctx, l.soon, l.every()) {
			return
		}
	}
}

// begins notes that a poll begins, and returns the mark for it.
func (l *poller) begins(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began = now
	return l.mark
}

// hear takes what an answer says of figures.
func (l *poller) hear(c backend.Changes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark, l.all = c.Mark, l.all || c.All && c.Mark != ""
	for _, t := range c.Topics {
		l.changed[t] = true
	}
	if l.all || len(c.Topics) > 0 {
		l.figures.Wake()
	}
}

// take returns the topics whose figures changed since the last call. all says that every topic may have. It returns nil if the
// store cannot tell.
func (l *poller) take() (changed map[presence.Topic]bool, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark == "" {
		return nil, false
	}
	changed, all = l.changed, l.all
	l.changed, l.all = make(map[presence.Topic]bool), false
	return changed, all
}

// since returns how long ago the latest poll began.
func (l *poller) since() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.began)
}

// end ends the lease of a process that has closed and written all releases, so that nobody counts it any more.
func (l *poller) end(ctx context.Context) {
	_, _ = l.store.Poll(ctx, backend.Poll{Process: l.generation.process, Gen: l.generation.n.Load()}) // after an error it lapses
}

// poll polls. If a sweep has begun to end what hangs on the lease, this node begins a new generation. If the lease only
// lapsed, the node renews its leases at once: some of them may nearly have expired. The lease of a new generation is made before
// anything hangs on it.
func (l *poller) poll(ctx context.Context) {
	n, begins := l.generation.n.Load(), l.generation.wanted.Load()
	if begins {
		n++
	}
	try, cancel := context.WithTimeout(ctx, min(applyTimeout, max(l.every(), houseKeeping)))
	defer cancel()
	began := time.Now()
	l.outage.begin(polls)
	poll := backend.Poll{Mark: l.begins(began)}
	renews := begins || l.before || began.Sub(l.renewed) > l.every()-houseKeeping || l.outage.soundFor() < l.cfg.catchUp()
	if renews {
		poll.Process, poll.Gen, poll.Term, l.renewed = l.generation.process, n, l.cfg.NodeTTL, began
	}
	written := l.before && (l.rewritten(n) || time.Since(time.Unix(0, l.generation.began.Load())) > rewriteWithin)
	switch {
	case begins:
		poll.Before = l.cfg.NodeTTL
	case written: // the generations before lapse when no call of them can take effect any more
		poll.Before = 2 * applyTimeout
	case l.before:
		poll.Before = l.cfg.NodeTTL
	}
	renewed, err := l.store.Poll(try, poll)
	if ctx.Err() != nil {
		return
	}
	l.outage.report(polls, began, err)
	if err == nil {
		l.hear(renewed.Changes)
	} else {
		for _, r := range l.topics.all() {
			r.markStale()
		}
	}
	if renewed.Erasures {
		l.erasures()
	}
	if err == nil && !renews {
		return
	}
	lapsed, stalled := l.outage.reportProcess(renewed.Alive || begins, renewed.Next, err)
	if stalled {
		l.cfg.Logger.Warn("presence: this process stood still for longer than its lease, so others may have seen its users leave; they come back now", slog.Duration("lease", l.cfg.NodeTTL))
	}
	if err != nil {
		return
	}
	l.before = l.before && !written
	switch {
	case begins:
		l.told, l.before = false, true
		l.generation.begin(n)
		l.outage.distrust()
		l.rewrite()
	case lapsed && renewed.Alive:
		l.renewAll()
	case lapsed && !l.told:
		l.told = true
		l.swept()
	}
}

// rewriteWithin is how long an earlier generation lives at most, if this node cannot write what it holds in the
// new one: for example because a directory does not answer.
const rewriteWithin = time.Minute
