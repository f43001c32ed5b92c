package track

import (
	"context"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A nodeLease renews the lease of this process (rule 23). All connections here depend on it: if this process
// dies, another node sweeps them within Config.NodeTTL and the interval of sweeps.
type nodeLease struct {
	cfg      *Config
	store    backend.Store
	outage   *outage
	process  string
	reassert func()      // renews what this node holds
	doubt    wait.Wakeup // a sweep failed
}

func newNodeLease(cfg *Config, store backend.Store, o *outage, process string, reassert func()) *nodeLease {
	return &nodeLease{cfg: cfg, store: store, outage: o, process: process, reassert: reassert, doubt: wait.NewWakeup()}
}

// every is how often the lease is renewed, so that two renewals in a row may fail.
func (l *nodeLease) every() time.Duration { return l.cfg.NodeTTL / 3 }

// run renews the lease. It does so more often while the store has trouble, and for a while after: a node that
// has nothing else to write must notice an outage of writes before it sweeps.
//
// Example with a TTL of 3 s: Redis refuses writes from 12:00:00.0 to 12:00:01.0, and from 12:00:01.4 to
// 12:00:02.0. Node A tries to renew its leases at 12:00:00.9 and 12:00:01.5, and succeeds at 12:00:02.2. Node
// B has only guests. The renewals of its own lease tell it that it may sweep from 12:00:03 on.
func (l *nodeLease) run(ctx context.Context) {
	for {
		l.renew(ctx)
		pause := l.every()
		if l.outage.soundFor() < l.cfg.catchUp() {
			pause = min(pause, houseKeeping)
		}
		if !wait.Until(ctx, l.doubt, pause) {
			return
		}
	}
}

// end ends the lease of a process that has closed and written all releases, so that nobody counts it any more.
func (l *nodeLease) end(ctx context.Context) {
	_, _, _ = l.store.RenewNode(ctx, l.process, 0) // after an error it lapses
}

// renew renews the lease. If the lease had lapsed, other nodes may have swept the connections that depend on
// it: so renew renews all of these, or makes them again.
func (l *nodeLease) renew(ctx context.Context) {
	try, cancel := context.WithTimeout(ctx, min(applyTimeout, max(l.every(), houseKeeping)))
	defer cancel()
	began := time.Now()
	alive, next, err := l.store.RenewNode(try, l.process, l.cfg.NodeTTL)
	if ctx.Err() != nil {
		return
	}
	l.outage.report(renewals, began, err)
	lapsed, stalled := l.outage.reportProcess(alive, next, err)
	if stalled {
		l.cfg.Logger.Warn("presence: this process stood still for longer than its lease, so others may have seen its users leave; they come back now", slog.Duration("lease", l.cfg.NodeTTL))
	}
	if lapsed {
		l.reassert()
	}
}
