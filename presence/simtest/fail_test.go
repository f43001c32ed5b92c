package simtest_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A clock says when something last went wrong.
type clock struct {
	going int
	last  time.Time
}

func (c *clock) begins() { c.going++ }

func (c *clock) ends() {
	c.going--
	c.last = time.Now()
}

func (c *clock) since() time.Duration {
	if c.going > 0 {
		return 0
	}
	return time.Since(c.last)
}

// A trouble is a failure, from when to when.
type trouble struct {
	do   string // the act, with hyphens
	act  int    // its number: an act may fail in several places
	from time.Time
	to   time.Time // zero: it goes on
}

// outages are troubles in which no node can write.
var outages = []string{"store-away", "restart-store", "store-hangs", "writes-hang", "read-only"}

// fails is later for what fails meanwhile.
func (w *world) fails(do string, fn func()) {
	w.mu.Lock()
	t := &trouble{do: strings.ReplaceAll(do, " ", "-"), act: w.acts, from: time.Now()}
	w.troubles = append(w.troubles, t)
	w.mu.Unlock()
	w.later(func() {
		fn()
		w.mu.Lock()
		defer w.mu.Unlock()
		t.to = time.Now()
	})
}

// losesDiff is for when a diff is lost, which may be long after the act that says so.
func (w *world) losesDiff() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.troubles = append(w.troubles, &trouble{do: "lose-diffs", act: w.acts, from: time.Now(), to: time.Now()})
}

// settles is how long nodes need after a failure to restore what it lost.
const settles = 8 * time.Second

// overLocked returns how long ago a trouble was over: 0 while it goes on. If an outage follows before the nodes have restored
// what was lost, the trouble is over with the outage.
func (w *world) overLocked(t *trouble) time.Duration {
	end := t.to
	for _, o := range w.troubles { // by when they began
		if during := o.from.Before(end.Add(settles)) && (o.to.IsZero() || o.to.After(end)); during && slices.Contains(outages, o.do) {
			end = o.to
		}
	}
	if end.IsZero() {
		return 0
	}
	return time.Since(end)
}

// since returns how long ago the latest failure of some was over: of all, if none is named.
func (w *world) since(does ...string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	least := never
	for _, t := range w.troubles {
		if len(does) == 0 || slices.Contains(does, t.do) {
			least = min(least, w.overLocked(t))
		}
	}
	return least
}

// goesOn reports whether one of some failures goes on.
func (w *world) goesOn(does ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.troubles, func(t *trouble) bool { return t.to.IsZero() && slices.Contains(does, t.do) })
}

// secondLatest returns how long ago the latest failure but one was over.
func (w *world) secondLatest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	byAct := make(map[int]time.Duration)
	for _, t := range w.troubles {
		ago, known := byAct[t.act]
		if over := w.overLocked(t); !known || over < ago {
			byAct[t.act] = over
		}
	}
	ends := slices.Sorted(maps.Values(byAct))
	if len(ends) < 2 {
		return never
	}
	return ends[1]
}

// loses is for when the store has lost data. A status that was chosen before a process began or
// ended may be known to nobody by now.
func (w *world) loses() {
	w.mu.Lock()
	w.lost, w.muted = true, time.Now()
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
func (w *world) storeFails(do, what string, f presencetest.Fault, d time.Duration) {
	count := map[string]*atomic.Int64{"away": &w.away, "hangs": &w.hanging, "readonly": &w.readonly, "frozen": &w.frozen}[what]
	count.Add(1)
	for _, p := range w.everyProcess() {
		p.fail(what, f)
	}
	w.fails(do, func() {
		time.Sleep(d)
		if count.Add(-1) > 0 {
			return
		}
		w.note("the store no longer is or %s", what)
		w.back(count, what)
	})
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
func (w *world) nodeFails(node int, do, what string, f presencetest.Fault, d time.Duration) {
	p := w.at(node)
	if p == nil {
		return
	}
	p.fail(what, f)
	w.fails(do, func() {
		time.Sleep(d)
		if what != "hangs" || w.hanging.Load() == 0 {
			p.heal(what)
		}
	})
}
