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
//
// It also says whether this node may sweep what hangs on other processes. While the store was
// out, or hung, nobody could renew anything. So a node that could not renew its own lease
// waits until all others had time to renew theirs, and so does one that has just started.
// Leases that expired by themselves are swept all the same.
//
// Example with a NodeTTL of 10 s. Redis hangs from 12:00:00 to 12:00:12, and the leases of all
// nodes have lapsed. Node A finds Redis back at 12:00:12, renews its lease, and learns that it
// had lapsed. Node B does so by 12:00:14. Until 12:00:19 neither sweeps what hangs on
// processes.
type nodeLease struct {
	*node
	process  string
	reassert func() // renews what this node holds

	mu      nodeLeaseMutex
	renewed time.Time // the latest renewal; zero: none
	trouble time.Time // when a renewal last failed, or came after the lease had lapsed
	lapse   time.Time // when a process lapses, unless it renews its lease before
}

func newNodeLease(n *node, process string, reassert func()) *nodeLease {
	return &nodeLease{node: n, process: process, reassert: reassert, trouble: time.Now()}
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
	l.mu.Lock()
	stalled := !l.renewed.IsZero() && time.Since(l.renewed) >= l.cfg.NodeTTL && l.trouble.Before(l.renewed) // else the log says that the store is out
	returned := err == nil && !alive && !l.renewed.IsZero()                                                 // the lease lapsed, or the store lost it
	if err != nil || !alive {
		l.trouble = time.Now()
	}
	if err == nil {
		l.renewed = time.Now()
		l.lapse = l.renewed.Add(next)
	}
	l.mu.Unlock()
	if returned && stalled {
		l.cfg.Logger.Warn("presence: this process stood still for longer than its lease, so others may have seen its users leave; they come back now", slog.Duration("lease", l.cfg.NodeTTL))
	}
	if returned {
		l.reassert()
	}
	return err == nil
}

// judges reports whether a process has lapsed, and whether this node may sweep what hangs on it.
func (l *nodeLease) judges() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !time.Now().Before(l.lapse) && time.Since(l.renewed) < l.cfg.NodeTTL && time.Since(l.trouble) >= min(catchUpLongest, l.cfg.NodeTTL)
}
