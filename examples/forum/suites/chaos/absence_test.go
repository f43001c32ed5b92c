package chaos_test

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// An absence notes for how long a user had no stream. Who comes back too late, since the machine
// is busy, is seen to leave. So it tells how often that was.
//
// A page comes back when its node has taken its request and the store has taken its join. On a busy
// machine that takes a while for everybody. The median of those who came to the same node at about
// the same moment says how long. A node that is slow for all of them is found elsewhere: rest bounds
// how long all take to be well, and TestWayOfAChange how long a join takes.
type absence struct {
	fleet *fleet

	mu      sync.Mutex
	streams int
	from    time.Time     // since when there is none; zero: the user did not come yet
	held    time.Duration // for how long the fleet holds the user then
	over    []away
	late    int // in all
}

// An away is an absence that is over.
type away struct {
	from, asked, open time.Time // since when, and when the next stream was asked for, and open
	held              time.Duration
	node              int // of the next stream
}

// heldAfterKill is for how long the fleet holds those of a killed node, instead of the grace: they
// hang on its lease, of which a third may be over.
const heldAfterKill = chaosTTL * 2 / 3

// begin is for when a stream ends that was open since a moment.
func (a *absence) begin(at *forumtest.Node, since time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams--; a.streams > 0 {
		return
	}
	a.from, a.held = time.Now(), chaosGrace
	if ended := at.LastEnd(); ended.At.After(since) {
		a.from = ended.At
		if ended.Killed {
			a.held = heldAfterKill
		}
	}
}

// end is for when a stream is open at a node that was asked for at a moment.
func (a *absence) end(node int, asked time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams++; a.streams == 1 && !a.from.IsZero() {
		a.over = append(a.over, away{a.from, asked, time.Now(), a.held, node})
	}
}

// again is for when the user comes.
func (a *absence) again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.from = time.Time{}
}

// taken returns how often the user came back too late in all, and says what absences there were
// since the last call.
func (a *absence) taken() (late int, all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.over {
		guests, users := a.fleet.waited.took(w.node, w.asked, false), a.fleet.waited.took(w.node, w.asked, true)
		hung := a.fleet.hung.within(w.node, w.asked, w.open) // docs/reliability.md names this exception
		if w.asked.Add(max(guests, users)+hung).Sub(w.from) > w.held {
			a.late++
		}
		ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
		all = append(all, fmt.Sprintf("%s without a stream until %v later, open after %v, where guests took %v, users %v, and the way to Redis hung for %v; held for %v",
			w.from.Format("05.000"), ms(w.asked.Sub(w.from)), ms(w.open.Sub(w.from)), ms(guests), ms(users), ms(hung), w.held))
	}
	a.over = nil
	return a.late, all
}

// A waits notes how long nodes took to open streams.
type waits struct {
	mu  sync.Mutex
	all []streamWait
}

type streamWait struct {
	node  int
	user  bool // of a user, not of a guest
	asked time.Time
	took  time.Duration
}

func (g *waits) add(node int, asked time.Time, user bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, streamWait{node, user, asked, time.Since(asked)})
}

// took returns how long a node took for guests, or users, who asked at about a moment: the median.
func (g *waits) took(node int, at time.Time, user bool) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	var about []time.Duration
	for _, w := range g.all {
		if w.node == node && w.user == user && w.asked.Sub(at).Abs() < chaosGrace/4 {
			about = append(about, w.took)
		}
	}
	if len(about) == 0 {
		return 0
	}
	slices.Sort(about)
	return about[len(about)/2]
}
