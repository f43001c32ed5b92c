package simtest_test

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// twice finds a failover that loses a renewal of a lease while a stall within a TTL delays the next
// one, or has delayed the one before. No lease outlasts both: others may see its user leave. A stall
// that comes later and is longer than TTL/3, and than a sweep under way may wait, is none of these:
// nodes sweep nothing then.
func (w *world) twice(a act) {
	ttl := w.game.ttl()
	switch a.do {
	case "store away", "store hangs", "writes hang", "node hangs":
		w.delays()
		if a.d < ttl/3+time.Second && !w.rewound.IsZero() && time.Since(w.rewound) < ttl {
			w.cut = true
		}
		ends := time.Now().Add(a.d)
		if w.game.has(apart) {
			ends = ends.Add(w.game.harmless())
		}
		if ends.After(w.stalled) {
			w.stalled = ends
		}
	case "answers lost":
		w.delays()
	case "lag":
		if !w.stalled.IsZero() && time.Since(w.stalled) < ttl {
			w.cut = true
		}
	}
}

// loses is for when the store has lost data. A status that was chosen before a process began or
// ended may be known to nobody by now.
func (w *world) loses() {
	w.mu.Lock()
	w.lost, w.muted = true, time.Now()
	w.losses = append(w.losses, w.muted)
	w.mu.Unlock()
	w.losesNotices()
	for _, p := range w.everyProcess() {
		p.suffers()()
	}
}

// losesNotices is for when the store's log of notices may have lost some: they are late nowhere any more.
func (w *world) losesNotices() {
	log := w.server.notices()
	for _, p := range w.everyProcess() {
		p.link.loses(log)
	}
}

func (w *world) hasLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// informed returns the processes that know what was just set at one of them: that one, and those
// that hear at once.
func (w *world) informed(at *process) []*process {
	return slices.DeleteFunc(w.processes(), func(p *process) bool { return p != at && p.well() == 0 })
}

// forget makes statuses unknown that the store has lost, and that no process knows. mu is held.
func (w *world) forgetLocked() {
	for _, u := range w.persons {
		known := slices.ContainsFunc(u.known, func(p *process) bool { return slices.Contains(w.nodes, p) })
		lost := w.lost && !w.game.has(settings) && !known && w.statuses[u.id] > 0
		if lost && u.status != unknown {
			u.status, u.hidden = unknown, time.Time{}
			u.departs(1)
		}
	}
}

// storeFails breaks every node's way to the store for a while.
func (w *world) storeFails(what string, f presencetest.Fault, d time.Duration) {
	count := map[string]*atomic.Int64{"away": &w.away, "hangs": &w.hanging, "readonly": &w.readonly, "frozen": &w.frozen}[what]
	count.Add(1)
	for _, p := range w.everyProcess() {
		p.fail(what, f)
	}
	w.fails(what, func() {
		time.Sleep(d)
		if count.Add(-1) > 0 {
			return
		}
		w.note("the store no longer is or %s", what)
		w.back(count, what)
	})
}

// storeOut reports whether no process can write to the store now: then none sweeps.
func (w *world) storeOut() bool {
	return w.away.Load()+w.hanging.Load()+w.readonly.Load()+w.frozen.Load() > 0
}

// back has all processes find the store back: at once, or one after another, as long as others may
// not see the users of the last one leave. It gives up where the store fails again.
func (w *world) back(count *atomic.Int64, what string) {
	all, run, pause := w.everyProcess(), w.processes(), time.Duration(0)
	if w.game.has(apart) && len(run) > 0 && what != "frozen" { // which is of the server
		rnd := rand.New(rand.NewPCG(w.game.seed, uint64(time.Since(w.began))))
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		pause = w.game.harmless() / time.Duration(len(run))
	}
	for _, p := range all {
		if slices.Contains(run, p) {
			time.Sleep(pause)
		}
		if count.Load() > 0 {
			return
		}
		p.heal(what)
	}
}

// nodeFails breaks one node's way for a while.
func (w *world) nodeFails(node int, what string, f presencetest.Fault, d time.Duration) {
	p := w.at(node)
	if p == nil {
		return
	}
	p.fail(what, f)
	w.fails(what, func() {
		time.Sleep(d)
		if what != "hangs" || w.hanging.Load() == 0 {
			p.heal(what)
		}
	})
}
