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
	caller *process               // whose call runs; nil: none
	latest *process               // who told the program something last
	at     time.Time              // when that was
	told   map[string]string      // what each ID was
	there  map[string]time.Time   // who was told to be there, and since when
	events map[string][]string    // of each user since all was well, without repetitions
	should map[string][]string    // the same, by the store's diffs
	made   map[string][]time.Time // when the store made each of these
	was    map[string]bool        // who is there by these
	atOnce map[string]bool        // the leaves of sessions that ended when they began
	leaves map[string]int
	gaps   int

	kindGaps int // of all topics of a kind: also where nobody could look at the list for long

	keepers []*process // who knew the record when the store lost it, or its latest part
	cut     []*process // who was cut off

	undone  map[string]bool     // who came and left, or left and came, in what a failover took back
	revoked map[string]*process // who told of a leave that a failover revoked: the session may go on
}

func (w *world) newProgram() *program {
	p := &program{
		w: w, chance: rand.New(rand.NewPCG(w.game.seed, 5)), told: make(map[string]string), there: make(map[string]time.Time),
		events: make(map[string][]string), should: make(map[string][]string), made: make(map[string][]time.Time), revoked: make(map[string]*process), undone: make(map[string]bool), was: make(map[string]bool), atOnce: make(map[string]bool), leaves: make(map[string]int),
		topic: presence.Site, asks: presence.Site,
	}
	if w.game.has(threads) && w.game.seed%2 == 1 {
		p.topic, p.asks = thread, deliver.AllOf(thread.Kind())
	}
	if _, err := w.server.Store.Watch(context.Background(), p.topic, p.diff); err != nil {
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
	p.latest, p.at = at, time.Now()
	p.w.note("node %s tells the program: %s %s since %v, seen %v, %s", at.link.node, d.Type, user, d.Since.UnixMicro(), d.LastSeen.UnixMicro(), d.ID)
	what := fmt.Sprint(d.Type, d.Topic, d.User, d.Since.UnixNano(), d.LastSeen.UnixNano(), d.Seconds)
	forgotten := p.forgottenLocked() // then it is noted all the same: the record may be mended
	if before, again := p.told[d.ID]; again {
		if what != before && !forgotten && !p.w.hasLost() { // else it may have been found twice
			p.w.fault("the program gets %s, and before that %s with the same ID", what, before)
		}
		return
	}
	p.told[d.ID] = what
	since, there := p.there[user]
	switch d.Type {
	case deliver.Gap:
		if d.Topic == p.topic {
			p.gaps++
		} else {
			p.kindGaps++
		}
		return
	case deliver.Join:
		if there && !forgotten {
			p.w.fault("the program gets a join of %s since %v, who is there since %v", user, d.Since, since)
		}
		p.there[user] = d.Since
		p.events[user] = append(p.events[user], joinOf(d.Since))
	case deliver.Leave:
		if (!there || !since.Equal(d.Since) && !since.IsZero()) && !forgotten {
			p.w.fault("the program gets a leave of %s since %v, who is there since %v", user, d.Since, since)
		}
		if p.w.failedOver() < time.Second {
			p.revoked[user] = at
		}
		delete(p.there, user)
		// After a loss a node makes the lease of a closed page again, to end it: that may be a session of its own.
		if !d.LastSeen.Equal(d.Since) || p.gaps+p.kindGaps == 0 {
			p.leaves[user]++
		}
		p.events[user] = append(p.events[user], leaveOf(d.LastSeen))
		p.atOnce[leaveOf(d.LastSeen)] = d.LastSeen.Equal(d.Since)
		if seconds := d.LastSeen.Sub(d.Since).Seconds(); !d.LastSeen.IsZero() && (seconds < 0 || seconds != d.Seconds) {
			p.w.fault("the program gets %+v, of %v seconds", d, seconds)
		}
	}
}

// In microseconds, since a user who left and came back within a tick of the store's clock is told
// to have come a nanosecond later: two sessions have two IDs.
func joinOf(since time.Time) string { return fmt.Sprint("join ", since.UnixMicro()) }
func leaveOf(seen time.Time) string { return fmt.Sprint("leave ", seen.UnixMicro()) }

// diff takes a diff of the store.
func (p *program) diff(d backend.Diff) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range slices.Concat(d.Joins, d.Updates) {
		if user := string(m.ID); !p.was[user] {
			p.was[user] = true
			p.shouldLocked(user, joinOf(m.Since))
		}
	}
	for _, left := range d.Leaves {
		if user := string(left.ID); p.was[user] {
			delete(p.was, user)
			p.shouldLocked(user, leaveOf(left.LastSeen))
		}
	}
}

func (p *program) shouldLocked(user, event string) {
	p.should[user], p.made[user] = append(p.should[user], event), append(p.made[user], time.Now())
}

// rewinds is for a failover: what the store takes back by it, and the program was not told, has not
// happened. A user who left and came back may be there all the time then. So may one who came and left since the
// store that takes over was copied never have been there.
func (p *program) rewinds(copied time.Time) {
	if p == nil {
		return
	}
	snap, err := p.w.server.Snapshot(context.Background(), p.topic)
	if err != nil {
		panic(err)
	}
	there := make(map[string]bool)
	for _, m := range snap.Members {
		there[string(m.ID)] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for user, events := range p.should {
		first := len(events) // of the events that are taken back and were not told
		for first > len(p.events[user]) && p.made[user][first-1].After(copied) {
			first--
		}
		p.undone[user] = p.undone[user] || len(events)-first > 1
		if n := len(events); n > len(p.events[user]) && p.was[user] != there[user] {
			p.should[user], p.made[user], p.was[user] = events[:n-1], p.made[user][:n-1], there[user]
		}
	}
}

// looksFor is how long before a loss of data a node that leads has looked at the topics.
const looksFor = 2500 * time.Millisecond

// beginsOld is for when the store begins with an older file. If that has what the node that leads knows, and it
// looked at the topics just before, no gap takes the place of what happened since. What the file has is told.
func (p *program) beginsOld() {
	if p == nil {
		return
	}
	snap, err := p.w.server.Snapshot(context.Background(), p.topic)
	if err != nil {
		panic(err)
	}
	has, written := make(map[string]string), time.Time{}
	for _, m := range snap.Members {
		has[string(m.ID)] = joinOf(m.Since)
	}
	if file := p.w.server.file; file != nil {
		written = file.at
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.w.processes(), func(at *process) bool {
		return at.tracker.Stats().Deliveries["program"].Leads && at.link.outFor() < looksFor
	}) {
		return
	}
	for user, events := range p.should {
		for n := len(events) - 1; n >= len(p.events[user]) && events[n] != has[user] && p.made[user][n].After(written) && time.Since(p.made[user][n]) < looksFor; n-- {
			p.should[user], p.made[user], p.was[user] = events[:n], p.made[user][:n], strings.HasPrefix(events[n], "leave")
		}
	}
}

// wrong says what the program was not told yet.
func (p *program) wrong() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forgottenLocked() {
		return ""
	}
	for _, u := range p.w.persons {
		truth := p.w.truthOf(u, p.topic)
		if _, there := p.there[u.id]; truth != unknown && !p.goesOnLocked(u.id) && there != (truth != "") {
			return fmt.Sprintf("the program was told that %s is there: %v, and the truth is %q", u.id, there, truth)
		}
	}
	return ""
}

// catchesUp waits for what the program is just being told: page views end while nothing happens, also at the
// moment at which all is at rest. It waits for a second at most, since the diffs say nothing of what was wiped.
func (p *program) catchesUp() {
	if p == nil {
		return
	}
	behind := func(u *person) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, there := p.there[u.id]
		return u.kind == visits && there != p.was[u.id]
	}
	for range 20 {
		if !slices.ContainsFunc(p.w.persons, behind) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// settle holds what the program was told since all was well against what happened. After a gap
// it may lack what came and went meanwhile.
func (p *program) settle(when string, lost bool) {
	if p == nil {
		return
	}
	for p.onTheWay() {
		time.Sleep(100 * time.Millisecond)
	}
	snap, err := p.w.server.Snapshot(context.Background(), p.topic)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	forgotten := p.forgottenLocked()
	if p.gaps > 0 && !lost {
		p.w.fault("the program was told of a gap, and the store lost nothing, %s", when)
	}
	for _, u := range p.w.persons {
		told, want := p.events[u.id], p.should[u.id]
		if lost { // a session that began anew has another beginning
			told, want = words(told), words(want)
		}
		if !slices.EqualFunc(told, want, p.agrees) && p.gaps+p.kindGaps == 0 && !forgotten && !p.undone[u.id] && !p.goesOnLocked(u.id) {
			p.w.fault("the program was told of %s: %v; and the store: %v, %s", u.id, told, want, when)
		}
		if n, most := p.leaves[u.id], u.departures[p.topic]; n > most {
			p.w.fault("the program was told %d times that %s left, who left %d times at most, %s", n, u.id, most, when)
		}
	}
	if forgotten || len(p.revoked) > 0 {
		clear(p.there)
		clear(p.told)
		for _, m := range snap.Members {
			p.there[string(m.ID)] = time.Time{}
		}
	}
	clear(p.revoked)
	clear(p.undone)
	clear(p.was)
	for user := range p.there {
		p.was[user] = true
	}
	clear(p.events)
	clear(p.should)
	clear(p.made)
	p.gaps, p.kindGaps, p.keepers, p.cut = 0, 0, nil, nil
}

// onTheWay reports whether the store made an event just now, of which the program may not have been told yet: the lease
// of a page view may end at any time.
func (p *program) onTheWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, made := range p.made {
		if n := len(made); n > 0 && time.Since(made[n-1]) < time.Second {
			return true
		}
	}
	return false
}

// goesOnLocked reports whether a leave was told that a failover revoked, and the node has ended that
// knew it. The session may go on: then the next node tells its join with an ID that was told before.
func (p *program) goesOnLocked(user string) bool {
	at := p.revoked[user]
	return at != nil && !slices.Contains(p.w.processes(), at)
}

// agrees reports whether an event is what happened. A session that began anew, with a user whom an older
// file of the store brought back, does not end before it began.
func (p *program) agrees(told, want string) bool {
	return told == want || p.atOnce[told] && strings.HasPrefix(want, "leave ") && want < told
}

// words returns the events without their moments.
func words(events []string) (only []string) {
	for _, e := range events {
		word, _, _ := strings.Cut(e, " ")
		only = append(only, word)
	}
	return only
}

// readsOn is how long a node that stands by may lack what was written into the record.
const readsOn = 1500 * time.Millisecond

// holdsFor is how long a node leads that does not reach the store.
const holdsFor = 6 * time.Second

// loses is for when the store loses the program's record, or its latest part. The node that
// leads knows it, or where none leads each that stands by and has read it: so also where the
// leader's time was over, as any of these may be first once the store is back. They read on once
// a second while they reach the store. What was told since they know by the diffs: if such a one was lost, only the
// node knows it that told it. Of the topics of a kind they hear no diffs.
func (p *program) loses() (keepers []*process) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.w.processes()
	without := func(is func(at *process) bool) []*process { return slices.DeleteFunc(slices.Clone(running), is) }
	if leads := without(func(at *process) bool {
		return !at.tracker.Stats().Deliveries["program"].Leads || at.link.outFor() > holdsFor
	}); len(leads) > 0 {
		running = leads
	} else {
		missed := p.asks != p.topic || slices.ContainsFunc(running, func(at *process) bool { return at.link.upSince(at.link.lostAt()) < 2*readsOn })
		behind := slices.ContainsFunc(running, func(at *process) bool { return at != p.latest && at.link.upSince(p.at) < readsOn })
		running = without(func(at *process) bool { return !at.link.told.Load() && !at.tracker.Stats().Deliveries["program"].Leads })
		if missed && behind && p.latest != nil {
			running = append(running, p.latest)
		}
	}
	if len(running) == 0 {
		running = []*process{nil}
	}
	p.keepers = append(p.keepers, running...)
	return running
}

// mends waits until a node that leads has had time to make the record whole.
func (p *program) mends(keepers []*process) {
	if p == nil {
		return
	}
	time.Sleep(3 * time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.w.processes()
	for _, at := range keepers {
		other := func(cut *process) bool { return cut != at && slices.Contains(running, cut) }
		switch i := slices.Index(p.keepers, at); {
		case i < 0: // all was well meanwhile
		case at != nil && at.healthy() && at.tracker.Stats().Deliveries["program"].Leads:
			p.keepers = slices.Delete(p.keepers, i, i+1)
		case slices.ContainsFunc(p.cut, other): // it could not, and one that was cut off for longer may lead before it can
			p.cut = append(p.cut, at)
		}
	}
}

// cuts is for when a node is cut off.
func (p *program) cuts(at *process) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = append(p.cut, at)
}

// forgottenLocked reports whether a node that knew the record ended with the store's data, or was
// cut off. Then those who go on may not know who was told.
func (p *program) forgottenLocked() bool {
	running := p.w.processes()
	return slices.ContainsFunc(p.keepers, func(at *process) bool { return !slices.Contains(running, at) || slices.Contains(p.cut, at) })
}
