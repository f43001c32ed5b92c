package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// A program is told of the joins and leaves of a topic by [track.Tracker.Deliver]. It also
// has the diffs of the store as they were made, whatever became of them on their way. The topic is
// the site, or in half of the games with threads the thread, which is not named then: the program
// asks for all threads.
type program struct {
	w     *world
	topic presence.Topic
	asks  presence.Topic // topic, or all of its kind

	mu     sync.Mutex
	chance *rand.Rand
	caller *process             // whose call runs; nil: none
	told   map[string]string    // what each ID was
	there  map[string]time.Time // who was told to be there, and since when
	unsure map[string]bool      // of whom nobody may know what was told, by the exceptions
	was    map[string]bool      // who is there by the store's diffs
	events map[string][]string  // of each user since all was well, without repetitions
	should map[string][]string  // the same, by the store's diffs
	made   time.Time            // when the store made the latest of these
	leaves map[string]int
	gaps   int // since all was well
}

func (w *world) newProgram() *program {
	p := &program{
		w: w, chance: rand.New(rand.NewPCG(w.game.seed, 5)), told: make(map[string]string), there: make(map[string]time.Time), unsure: make(map[string]bool),
		was: make(map[string]bool), events: make(map[string][]string), should: make(map[string][]string), leaves: make(map[string]int),
		topic: presence.Site, asks: presence.Site,
	}
	if w.game.has(threads) && w.game.seed%2 == 1 {
		p.topic, p.asks = thread, deliver.AllOf(thread.Kind())
	}
	if _, err := w.server.Store.Watch(context.Background(), p.topic, backend.Watcher{Diff: p.diff}); err != nil {
		panic(err)
	}
	return p
}

// deliver lets a process deliver to the program until it ends.
func (p *program) deliver(at *process) {
	p.w.running.Go(func() {
		err := at.tracker.Deliver(context.Background(), "program", []presence.Topic{p.asks}, deliver.Options{}, func(ctx context.Context, d deliver.Event) error {
			return p.call(ctx, at, d)
		})
		if !errors.Is(err, presence.ErrClosed) {
			p.w.fault("Deliver ends: %v", err)
		}
	})
}

// call is one call of the program. Some take long, some fail, and some fail when all is done.
func (p *program) call(ctx context.Context, at *process, d deliver.Event) error {
	at.awake(ctx)
	fails, late := p.begin(at)
	defer p.end(at)
	select {
	case <-time.After(late):
	case <-ctx.Done():
		return ctx.Err()
	case <-at.dead:
		return errDead
	}
	if fails != 1 {
		p.take(at, d)
	}
	if fails < 2 {
		return deliver.RetryIn(late, errAway)
	}
	return nil
}

// begin says how the call fares.
func (p *program) begin(at *process) (fails int, late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.caller != nil {
		select {
		case <-p.caller.dead:
		default:
			p.w.fault("nodes %s and %s call the program at once", p.caller.link.node, at.link.node)
		}
	}
	p.caller = at
	return p.chance.IntN(20), upTo(p.chance, 30*time.Millisecond)
}

func (p *program) end(at *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.caller == at {
		p.caller = nil
	}
}

// take takes a delivery.
func (p *program) take(at *process, d deliver.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user := string(d.User.ID)
	p.w.note("node %s tells the program: %s %s since %v, seen %v, %s", at.link.node, d.Type, user, d.Since.UnixMicro(), d.LastSeen.UnixMicro(), d.ID)
	what := fmt.Sprint(d.Type, d.Topic, d.User, d.Since.UnixNano(), d.LastSeen.UnixNano(), d.Seconds)
	if before, again := p.told[d.ID]; again {
		if what != before && !p.allows("program") {
			p.w.fault("the program gets %s, and before that %s with the same ID", what, before)
		}
		return
	}
	p.told[d.ID] = what
	since, there := p.there[user]
	doubt := p.unsure[user]
	delete(p.unsure, user)
	switch d.Type {
	case deliver.Gap:
		// A gap of all topics of a kind is also told where nobody could look at the list of topics for long.
		if d.Topic == p.topic && !p.allows("program-gap") {
			p.w.fault("the program is told of a gap, and the store lost nothing")
		}
		p.gaps++
	case deliver.Join:
		if there && !doubt && !p.allows("program") {
			p.w.fault("the program gets a join of %s since %v, who is there since %v", user, d.Since, since)
		}
		if p.w.person(user).absent() { // an exception brings the user back, who leaves once more
			p.leaves[user]--
		}
		p.there[user] = d.Since
		p.events[user] = append(p.events[user], eventOf(deliver.Join, d.Since))
	case deliver.Leave:
		if (!there || !since.Equal(d.Since)) && !doubt && !p.allows("program") {
			p.w.fault("the program gets a leave of %s since %v, who is there since %v", user, d.Since, since)
		}
		delete(p.there, user)
		if u := p.w.person(user); u.absent() || !p.w.allows(finding{fault: "leaves", w: p.w, at: at, u: u}) {
			p.leaves[user]++
		}
		left := eventOf(deliver.Leave, d.LastSeen)
		if d.LastSeen.Equal(d.Since) {
			left = atOnce
		}
		p.events[user] = append(p.events[user], left)
		if seconds := d.LastSeen.Sub(d.Since).Seconds(); !d.LastSeen.IsZero() && (seconds < 0 || seconds != d.Seconds) {
			p.w.fault("the program gets %+v, of %v seconds", d, seconds)
		}
	}
}

// atOnce is a leave at the moment of the join. A session that a list found after a loss may have been seen before that.
const atOnce = "leave at once"

// agrees reports whether an event that was told is one that the store made.
func agrees(told, made string) bool {
	return told == made || told == atOnce && strings.HasPrefix(made, string(deliver.Leave))
}

func eventOf(what deliver.EventType, moment time.Time) string {
	return fmt.Sprint(what, " ", moment.UnixMicro())
}

// diff takes a diff of the store.
func (p *program) diff(d backend.Diff) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range slices.Concat(d.Joins, d.Updates) {
		if user := string(m.ID); !p.was[user] {
			p.was[user] = true
			p.should[user] = append(p.should[user], eventOf(deliver.Join, m.Since))
			p.made = time.Now()
		}
	}
	for _, left := range d.Leaves {
		if user := string(left.ID); p.was[user] {
			delete(p.was, user)
			p.should[user] = append(p.should[user], eventOf(deliver.Leave, left.LastSeen))
			p.made = time.Now()
		}
	}
}

// allows reports whether an exception allows a fault of what the program is told.
func (p *program) allows(fault string) bool { return p.w.allows(finding{fault: fault, w: p.w}) }

// wrong says what the program was not told yet.
func (p *program) wrong() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.allows("program") {
		return ""
	}
	for _, u := range p.w.persons {
		truth := p.w.truthOf(u, p.topic)
		if _, there := p.there[u.id]; truth != unknown && !p.unsure[u.id] && there != (truth != "") {
			return fmt.Sprintf("the program was told that %s is there: %v, and the truth is %q", u.id, there, truth)
		}
	}
	return ""
}

// catchesUp waits for what the program is just being told: page views end while nothing happens, also at the
// moment at which all is at rest.
func (p *program) catchesUp() {
	for p != nil && p.onTheWay() {
		time.Sleep(100 * time.Millisecond)
	}
}

// onTheWay reports whether the store made an event just now, of which the program may not have been told yet.
func (p *program) onTheWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.made) < time.Second
}

// settle holds what the program was told since all was well against what happened. After a loss it may lack what came
// and went meanwhile.
func (p *program) settle(when string) {
	if p == nil {
		return
	}
	p.catchesUp()
	snap, err := p.w.server.Snapshot(context.Background(), p.topic)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	forgotten := p.allows("program")
	for _, u := range p.w.persons {
		if told, want := p.events[u.id], p.should[u.id]; p.gaps == 0 && !slices.EqualFunc(told, want, agrees) && !p.allows("program-lacks") {
			p.w.fault("the program was told of %s: %v; and the store: %v, %s", u.id, told, want, when)
		}
		if n, most := p.leaves[u.id], u.departures[p.topic]; n > most && !forgotten {
			p.w.fault("the program was told %d times that %s left, who left %d times at most, %s", n, u.id, most, when)
		}
	}
	for _, u := range p.w.persons {
		if forgotten {
			p.unsure[u.id] = true
			p.leaves[u.id] = min(p.leaves[u.id], u.departures[p.topic])
		}
	}
	clear(p.was)
	for _, m := range snap.Members {
		p.was[string(m.ID)] = true
	}
	clear(p.events)
	clear(p.should)
	p.gaps = 0
}
