package presencetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func raceCases() []ruleCase {
	return []ruleCase{
		{"rule 2", "four sweepers announce each leave once", fourSweepers},
		{"rule 2", "a user who returns during a sweep stays", returnDuringSweep},
		{"rule 2", "a heartbeat during a sweep holds the user or is unknown", beatDuringSweep},
		{"rule 2", "a hundred joins and leaves of one user at once", oneUserAtOnce},
		{"rule 2", "a hundred users join at once", manyUsersAtOnce},
		{"rule 8", "four agers turn once", fourAgers},
		{"rule 10", "a sweep keeps to its limit and says what is left", sweepLimit},
	}
}

const crew = 4 // nodes that do the same at once

// nodes calls do on several nodes at once.
func (tr *trial) nodes(do func(node int, store backend.Store)) {
	var all sync.WaitGroup
	for n := range crew {
		store := tr.store
		if n%2 == 1 {
			store = tr.peer
		}
		all.Go(func() { do(n, store) })
	}
	all.Wait()
}

// ghosts joins n users who then expire, and are not swept.
func (tr *trial) ghosts(n int) {
	tr.Helper()
	var ops []backend.Op
	for i := range n {
		ops = append(ops, join(ghost(i), ghostHolder(i)))
	}
	tr.do(presence.Site, ops...)
	tr.advance(ttl + slack)
}

func ghost(i int) presence.UserID       { return presence.UserID(fmt.Sprintf("ghost%03d", i)) }
func ghostHolder(i int) presence.Holder { return presence.Holder(fmt.Sprintf("a.%d", i)) }

// Rule 2: four sweepers and 200 ghosts make 200 leaves, not 800.
func fourSweepers(tr *trial) {
	const n = 200
	site := tr.follow(presence.Site)
	tr.ghosts(n)
	var leases, leaves atomic.Int64
	tr.nodes(func(_ int, store backend.Store) {
		for range 3 {
			swept, err := sweep(tr.ctx, store, n/8)
			if err != nil {
				tr.Error(err)
			}
			leases.Add(int64(swept.Leases))
			leaves.Add(int64(swept.Leaves))
		}
	})
	if leases.Load() != n || leaves.Load() != n {
		tr.Errorf("four sweepers removed %d leases and announced %d leaves, want %d each", leases.Load(), leaves.Load(), n)
	}
	site.read() // each leave fits, so each came once
	tr.wantOnline(presence.Site, "")
}

// Rule 2: a join between a sweeper's read and its removal. Whichever came first, user and
// lease are there in the end.
func returnDuringSweep(tr *trial) {
	const n = 100
	site := tr.follow(presence.Site)
	tr.ghosts(n)
	tr.nodes(func(node int, store backend.Store) {
		for i := range n {
			if node == 0 {
				tr.apply(store, presence.Site, join(ghost(i), ghostHolder(i)))
				continue
			}
			if _, err := store.Sweep(tr.ctx, backend.SweepOptions{Limit: 3}); err != nil {
				tr.Error(err)
			}
		}
	})
	tr.sweep()
	site.read()
	if got := len(tr.read(presence.Site).members); got != n {
		tr.Errorf("%d users are online, want all %d who returned", got, n)
	}
	for i := range n {
		tr.do(presence.Site, beat(ghost(i), ghostHolder(i)))
	}
}

// apply is do for goroutines: it returns what is unknown.
func (tr *trial) apply(store backend.Store, topic presence.Topic, ops ...backend.Op) []int {
	results := store.Apply(tr.ctx, tr.batch(topic, ops...))
	if len(results) != 1 || results[0].Err != nil {
		tr.Errorf("got results %+v, want one without an error", results)
		return nil
	}
	return results[0].Unknown
}

// Rules 2 and 3: a heartbeat between a sweeper's read and its removal. A user whose lease
// was reported as known is online, also where it had expired; any other user is not.
func beatDuringSweep(tr *trial) {
	const n = 100
	site := tr.follow(presence.Site)
	tr.ghosts(n / 2)
	var ops []backend.Op
	for i := n / 2; i < n; i++ {
		ops = append(ops, join(ghost(i), ghostHolder(i)))
	}
	tr.do(presence.Site, ops...)
	tr.advance(ttl - slack) // half of them are about to expire
	var held [n]bool
	tr.nodes(func(node int, store backend.Store) {
		if node != 0 {
			_, _ = sweep(tr.ctx, store, 7)
			return
		}
		for i := range n {
			held[i] = len(tr.apply(store, presence.Site, beat(ghost(i), ghostHolder(i)))) == 0
		}
	})
	tr.pass(2 * slack)
	site.read()
	online := tr.read(presence.Site).members
	for i, held := range held {
		if _, ok := online[ghost(i)]; ok != held || !held && i >= n/2 {
			tr.Errorf("%q: heartbeat known %v, online %v, lease live %v: want the first two the same, and known what lives", ghost(i), held, ok, i >= n/2)
		}
	}
}

// Rule 2, scenarios 10 and 22: the order of the diffs is the order of the
// changes, so that a leave never stands before its join.
func oneUserAtOnce(tr *trial) {
	site := tr.follow(presence.Site)
	tr.nodes(func(node int, store backend.Store) {
		for i := range 100 {
			holder := presence.Holder(fmt.Sprintf("n%d.%d", node, i))
			tr.apply(store, presence.Site, join("u", holder))
			tr.apply(store, presence.Site, drop("u", holder))
		}
	})
	if got := site.balance("u"); got != 0 {
		tr.Errorf("joins less leaves are %d, want 0", got)
	}
	tr.wantOnline(presence.Site, "")
}

// Rule 2, scenario 10.
func manyUsersAtOnce(tr *trial) {
	site := tr.follow(presence.Site)
	tr.nodes(func(node int, store backend.Store) {
		for i := range 25 {
			tr.apply(store, presence.Site, join(ghost(25*node+i), ghostHolder(i)))
		}
	})
	site.read()
	if got := len(tr.read(presence.Site).members); got != 100 {
		tr.Errorf("%d users are online, want 100", got)
	}
}

// Rule 8: two crons at once must not empty both sets.
func fourAgers(tr *trial) {
	tr.do(presence.Site, seen("u"), guest("g"))
	for i, want := range []int{1, 0} {
		tr.advance(period + slack)
		var turned atomic.Int64
		tr.nodes(func(_ int, store backend.Store) {
			for range 5 {
				n, err := store.Age(tr.ctx, period)
				if err != nil {
					tr.Error(err)
				}
				turned.Add(int64(n))
			}
		})
		c := tr.counts(presence.Site)
		if turned.Load() != 1 || c.Recent != want || c.Guests != want {
			tr.Errorf("period %d: turned %d times, recent %d, guests %d; want 1, %d, %d", i+1, turned.Load(), c.Recent, c.Guests, want, want)
		}
	}
}

// Rule 10: each sweep removes about Limit leases, reports More until the last, and the sums
// are right.
func sweepLimit(tr *trial) {
	const n, limit = 100, 10
	tr.do("thread:1", lasting(join("u", "a.1"), period))
	tr.ghosts(n)
	var leases, leaves, calls int
	for more := true; more && calls <= n; calls++ {
		swept, err := tr.store.Sweep(tr.ctx, backend.SweepOptions{Limit: limit})
		if err != nil {
			tr.Fatal(err)
		}
		if swept.Leases > 2*limit {
			tr.Errorf("one call removed %d leases, want about %d", swept.Leases, limit)
		}
		leases, leaves, more = leases+swept.Leases, leaves+swept.Leaves, swept.More
	}
	if leases != n || leaves != n {
		tr.Errorf("%d calls removed %d leases and announced %d leaves, want %d each", calls, leases, leaves, n)
	}
	tr.wantOnline(presence.Site, "")
	tr.wantOnline("thread:1", "u")
}
