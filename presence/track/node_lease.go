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
	cfg        *Config
	store      backend.Store
	outage     *outage
	generation *generation
	stood      func()      // renews what this node holds
	swept      func()      // begins a new generation
	doubt      wait.Wakeup // a sweep failed

	renewed string   // the generation of the latest renewal
	old     []string // names of earlier generations, which the store does not know to be so yet
}

// maxOld bounds the names that wait while the store is out.
const maxOld = 8

func newNodeLease(cfg *Config, store backend.Store, o *outage, g *generation, stood, swept func()) *nodeLease {
	return &nodeLease{cfg: cfg, store: store, outage: o, generation: g, stood: stood, swept: swept, doubt: wait.NewWakeup(), renewed: g.name()}
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
	_, _, _ = l.store.RenewNode(ctx, l.generation.name(), 0) // after an error it lapses
}

// renew renews the lease. If a sweep has begun to end what hangs on it, this node begins a new generation. If it only
// lapsed, the node renews its leases at once: some of them may nearly have expired.
func (l *nodeLease) renew(ctx context.Context) {
	name := l.generation.name()
	fresh := name != l.renewed
	if fresh {
		l.old, l.renewed = append(l.old[max(len(l.old)-maxOld+1, 0):], l.renewed), name
	}
	try, cancel := context.WithTimeout(ctx, min(applyTimeout, max(l.every(), houseKeeping)))
	defer cancel()
	began := time.Now()
	alive, next, err := l.store.RenewNode(try, name, l.cfg.NodeTTL)
	if ctx.Err() != nil {
		return
	}
	l.outage.report(renewals, began, err)
	lapsed, stalled := l.outage.reportProcess(alive || fresh, next, err)
	if stalled {
		l.cfg.Logger.Warn("presence: this process stood still for longer than its lease, so others may have seen its users leave; they come back now", slog.Duration("lease", l.cfg.NodeTTL))
	}
	switch {
	case err != nil:
		return
	case lapsed && !alive:
		l.swept()
		l.doubt.Wake()
	case lapsed:
		l.stood()
	}
	l.lapseOld(try)
}

// lapseOld lets the names of earlier generations lapse: once no call that has one can take effect any more, and that of visits once
// every node has written again what keeps who is there.
func (l *nodeLease) lapseOld(ctx context.Context) {
	for len(l.old) > 0 {
		_, _, err := l.store.RenewNode(ctx, l.old[0], -applyTimeout)
		if err == nil {
			_, _, err = l.store.RenewNode(ctx, l.old[0]+visiting, -(restoreFor(l.cfg.shortestTTL()) + returningFor))
		}
		if err != nil {
			return
		}
		l.old = l.old[1:]
	}
}
