package feed

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// reading reads the changes of feeds that pages here follow: once for all feeds with hints within a moment,
// and once for all pages of a feed.
type reading struct {
	mu     sync.Mutex
	wanted map[Name]struct{}
	kick   wait.Wakeup
}

// hintWindow is the least time between two reads.
const hintWindow = 10 * time.Millisecond

func newReading() *reading {
	return &reading{wanted: make(map[Name]struct{}), kick: wait.NewWakeup()}
}

// want schedules a read of a feed. It does not block.
func (r *reading) want(n Name) {
	r.mu.Lock()
	r.wanted[n] = struct{}{} // only feeds that have readers, or had one a moment ago
	r.mu.Unlock()
	r.kick.Wake()
}

// take returns up to [MaxHeads] feeds to read, and whether there are more.
func (r *reading) take() (names []Name, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.wanted {
		if len(names) == MaxHeads {
			return names, true
		}
		names = append(names, n)
		delete(r.wanted, n)
	}
	return names, false
}

// read reads the wanted feeds until ctx ends.
func (f *follower) read(ctx context.Context) {
	for wait.Until(ctx, f.reading.kick, -1) {
		for more := true; more && ctx.Err() == nil; {
			var names []Name
			if names, more = f.reading.take(); len(names) > 0 {
				f.catchUp(ctx, names)
			}
		}
		if !wait.For(ctx, hintWindow) {
			return
		}
	}
}

// catchUp brings feeds up to date by one query. If that fails, it is repeated a second later, or when the
// database is back: see check.
func (f *follower) catchUp(ctx context.Context, names []Name) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var states []*feedState
	var from []Since
	for _, n := range names {
		l := f.states.find(n)
		if l == nil {
			continue
		}
		v := l.view.Load()
		states, from = append(states, l), append(from, Since{n, v.head.Rev, v.head.Born})
	}
	if len(states) == 0 {
		return
	}
	changes, err := call(ctx, f.calls, func(ctx context.Context) ([]Change, error) { return f.store.Changes(ctx, from...) })
	if err != nil {
		f.turned.Wake()
		return
	}
	f.stats.catchUps.Add(uint64(len(states)))
	for i, l := range states {
		l.apply(ctx, changes[i])
	}
}

// check compares the feeds with the database every Config.Check, and a second after a call failed. So a lost
// hint does no harm, and neither does a read that failed while other calls succeeded. While no hints can
// come, it does so every deafCheck. It does nothing if the data is as it was at the last check.
func (f *follower) check(ctx context.Context) {
	next, deaf := time.Now().Add(f.cfg.Check), time.Time{}
	var checked int64 // the version of the data at the last check; 0: none, or a call has failed since
	for {
		timer := time.NewTimer(min(time.Until(next), deafCheck))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-f.turned:
			timer.Stop()
			f.markStale(ctx)
			checked = 0
			if soon := time.Now().Add(retryOut); soon.Before(next) {
				next = soon
			}
			continue
		case <-timer.C:
		}
		now := time.Now()
		if f.tracker.StoreOut() {
			deaf = now.Add(deafFor)
		}
		if now.Before(next) && now.After(deaf) {
			continue
		}
		every := f.cfg.Check
		if version := f.version(); version == 0 || version != checked {
			checked = version
			if !f.checkAll(ctx) || f.calls.isOut() {
				checked, every = 0, min(every, retryOut)
			}
		}
		next = time.Now().Add(every)
	}
}

// version returns what the store says of its data, or 0 if it does not know of changes.
func (f *follower) version() int64 {
	if store, ok := f.store.(DataVersioner); ok {
		return store.DataVersion()
	}
	return 0
}

// While the presence store is out, no hints come, and none come until each node listens again. The feeds are
// checked every deafCheck, until deafFor after the store is back.
const (
	deafCheck = 2 * time.Second
	deafFor   = 10 * time.Second
)

// retryOut is how often a node checks whether the database is back.
const retryOut = time.Second

// checkAll returns false if the database is out.
func (f *follower) checkAll(ctx context.Context) bool {
	all := f.states.all()
	if len(all) == 0 && f.calls.isOut() {
		_, err := call(ctx, f.calls, func(ctx context.Context) ([]Head, error) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			return f.store.Heads(ctx, Inbox("nobody"))
		})
		return err == nil
	}
	for len(all) > 0 && ctx.Err() == nil {
		some := all[:min(len(all), MaxHeads)]
		all = all[len(some):]
		if !f.checkSome(ctx, some) {
			return false
		}
	}
	return true
}

// checkSome compares some feeds with the database. It returns false if the database is out.
func (f *follower) checkSome(ctx context.Context, states []*feedState) bool {
	names := make([]Name, len(states))
	before := make([]Head, len(states))
	for i, l := range states {
		names[i], before[i] = l.name, l.view.Load().head
	}
	ctx, cancel := context.WithTimeout(ctx, 5*patience)
	defer cancel()
	heads, err := call(ctx, f.calls, func(ctx context.Context) ([]Head, error) { return f.store.Heads(ctx, names...) })
	if err != nil {
		return false
	}
	for i, l := range states {
		switch v := l.view.Load(); {
		case v.known && !l.owed.Load() && heads[i].Rev == before[i].Rev && heads[i].Born.Equal(before[i].Born):
			if v.stale && l.turn.Lock(ctx) == nil {
				l.fresh()
				l.turn.Unlock()
			}
		case heads[i].Rev != before[i].Rev && v.known && v.head.Rev == before[i].Rev: // no hint came meanwhile
			f.stats.mended.Add(1)
			fallthrough
		default:
			f.reading.want(l.name)
		}
	}
	return true
}

// markStale notes in all feeds that the database is out.
func (f *follower) markStale(ctx context.Context) {
	for _, l := range f.states.all() {
		if !f.calls.isOut() || l.turn.Lock(ctx) != nil {
			return
		}
		if f.calls.isOut() { // it did not come back while this waited for the turn
			l.stale()
		}
		l.turn.Unlock()
	}
}

// linger is how long a feed is kept current after its last page here is gone.
const linger = time.Minute

// sweep drops feeds without pages, and what inactive feeds have in memory.
func (f *follower) sweep(ctx context.Context) {
	for wait.For(ctx, linger/4) {
		left, admitted := f.states.sweep()
		for _, l := range left {
			l.cool(time.Now())
		}
		for _, l := range admitted {
			f.reading.want(l.name)
		}
	}
}
