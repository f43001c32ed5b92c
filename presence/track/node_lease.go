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
	renewAll   func()             // renews what this node holds
	swept      func()             // a sweep has begun to end what this node holds: a new generation is needed
	rewrite    func()             // writes what this node holds under the name of the present generation
	rewritten  func(n int32) bool // reports whether all of that has the name of a generation
	soon       wait.Wakeup        // a sweep failed, or a generation is wanted

	told   bool  // swept was called for the present generation
	lapsed int32 // the first generation that has not been told to write no more
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
		if !wait.Until(ctx, l.soon, pause) {
			return
		}
	}
}

// end ends the lease of a process that has closed and written all releases, so that nobody counts it any more.
func (l *nodeLease) end(ctx context.Context) {
	_, _ = l.store.RenewNode(ctx, l.generation.name(), 0) // after an error it lapses
}

// renew renews the lease. If a sweep has begun to end what hangs on it, this node begins a new generation. If it only
// lapsed, the node renews its leases at once: some of them may nearly have expired. The lease of a new generation is made before
// anything hangs on it.
func (l *nodeLease) renew(ctx context.Context) {
	n, begins := l.generation.n.Load(), l.generation.wanted.Load()
	if begins {
		n++
	}
	try, cancel := context.WithTimeout(ctx, min(applyTimeout, max(l.every(), houseKeeping)))
	defer cancel()
	began := time.Now()
	renewed, err := l.store.RenewNode(try, l.generation.nameOf(n), l.cfg.NodeTTL)
	if ctx.Err() != nil {
		return
	}
	l.outage.report(renewals, began, err)
	lapsed, stalled := l.outage.reportProcess(renewed.Alive || begins, renewed.Next, err)
	if stalled {
		l.cfg.Logger.Warn("presence: this process stood still for longer than its lease, so others may have seen its users leave; they come back now", slog.Duration("lease", l.cfg.NodeTTL))
	}
	switch {
	case err != nil:
		return
	case begins:
		l.told, l.lapsed = false, max(n-namesRetold, 0)
		l.generation.begin(n)
		l.outage.doubts()
		l.rewrite()
	case lapsed && renewed.Alive:
		l.renewAll()
	case lapsed && !l.told:
		l.told = true
		l.swept()
	}
	l.lapseBefore(ctx, n)
}

// namesRetold is for how many generations back a node says again that it writes no more under their names. In a cluster one server
// may start with an old file in which leases have such a name, while the server that knows the names of nodes has forgotten it.
const namesRetold = 8

// rewriteWithin is how long the name of an earlier generation lives at most, if this node cannot write what it holds under the
// new name: for example because a directory does not answer.
const rewriteWithin = time.Minute

// lapseBefore tells the store that this node writes no more under the names of the generations before n. It does so once all that
// the node holds has the new name. Until then it keeps the earlier names alive. An earlier name lapses when no call that has it
// can take effect any more. The name of visits lapses when every node has had the time to write its leases again.
func (l *nodeLease) lapseBefore(ctx context.Context, n int32) {
	if l.lapsed == n {
		return
	}
	done := l.rewritten(n) || time.Since(time.Unix(0, l.generation.began.Load())) > rewriteWithin
	for k := l.lapsed; k < n; k++ {
		name := l.generation.nameOf(k)
		if !done {
			_ = l.ask(ctx, name, l.cfg.NodeTTL)
			continue
		}
		if l.ask(ctx, name, -2*applyTimeout) != nil || l.ask(ctx, name+visiting, -(restoreFor(l.cfg.shortestTTL())+returningFor)) != nil {
			return
		}
		l.lapsed = k + 1
		l.generation.former.Store(time.Now().Add(2*applyTimeout + catchUpLongest).UnixNano())
	}
}

func (l *nodeLease) ask(ctx context.Context, name string, term time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	_, err := l.store.RenewNode(ctx, name, term)
	return err
}
