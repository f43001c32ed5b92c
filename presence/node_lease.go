package presence

import (
	"context"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A nodeLease renews the lease of this process (rule 23). All connections here hang on it: if
// this process ends without a word, another node sweeps what it held within Config.NodeTTL
// and a sweep.
type nodeLease struct {
	*node
	process  string
	reassert func() // renews what this node holds
}

func newNodeLease(n *node, process string, reassert func()) *nodeLease {
	return &nodeLease{node: n, process: process, reassert: reassert}
}

// every is how often the lease is renewed: so that two renewals may fail.
func (l *nodeLease) every() time.Duration { return l.cfg.NodeTTL / 3 }

func (l *nodeLease) run(ctx context.Context) {
	for {
		pause := l.every()
		if !l.renew(ctx) {
			pause = min(pause, houseKeeping)
		}
		if !wait.For(ctx, pause) {
			return
		}
	}
}

// renew renews the lease, and reports whether it could. After the lease had lapsed, other
// nodes may have swept what hangs on it: so all of that is renewed, or made again.
func (l *nodeLease) renew(ctx context.Context) bool {
	try, cancel := context.WithTimeout(ctx, min(applyTimeout, max(l.every(), houseKeeping)))
	defer cancel()
	alive, next, err := l.store.RenewNode(try, l.process, l.cfg.NodeTTL)
	lapsed, stalled := l.outage.reportProcess(alive, next, err)
	if stalled {
		l.cfg.Logger.Warn("presence: this process stood still for longer than its lease, so others may have seen its users leave; they come back now", slog.Duration("lease", l.cfg.NodeTTL))
	}
	if lapsed {
		l.reassert()
	}
	return err == nil
}
