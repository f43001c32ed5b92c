package track

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A cell says that something is to be written of one member of a topic. What is written, a flush reads from what this node
// holds at that moment: see holdings. So a cell is as large after an hour of an outage as after a second, and whoever comes and
// goes a thousand times meanwhile leaves one.
//
// Example: Redis is out. Alice opens a page, closes it, opens the next one, and turns busy. When Redis is back, this node writes
// one join of a busy user.
type cell struct {
	member presence.UserID // the user, or in backend.DevicesTopic a device

	pages  leaseCell // the lease for the pages that are open here
	visits leaseCell // the lease for visits
	view   *viewCell // the latest page view; nil: none
	out    time.Time // the latest sign-out; zero: none
	off    time.Time // the latest sign-out of one browser or device; zero: none
	choice bool      // the user chose something

	acks waiters
}

// A need says how much of a lease is to be written.
type need uint8

const (
	toBeat need = iota + 1 // it goes on
	toKeep                 // it goes on, and its pages have changed: how many there are, or whether somebody is at one
	toMake                 // the store may not have it
)

// A leaseCell is the part of a cell that is about one lease.
type leaseCell struct {
	need   need
	silent bool      // with toMake: also for pages that are silent
	end    *leaseEnd // of the last page that held the member; nil: none has ended
}

// A leaseEnd says how the last page ended that held a member of a topic.
type leaseEnd struct {
	visitor    presence.Visitor
	identified time.Time
	joined     time.Time // when the page came
	idle       bool      // nobody was at it
	at         time.Time // when it ended
	proof      time.Time // the last proof that it was alive
	grace      time.Duration
	until      time.Time // when the grace ends
	how        ending
}

// A viewCell is a page view that is to be written.
type viewCell struct {
	pageView
	at time.Time // when it was viewed, or when it took the place of what held the user before
}

// word is the part of a cell that a caller waits for.
type word uint8

const (
	wordPages word = iota
	wordVisits
	wordOut
	wordChoice
	wordOther // no part of a cell: an operation without a user
)

// isBeat reports whether the cell changes nothing that anybody sees.
func (c *cell) isBeat() bool {
	return c.pages.need <= toBeat && c.visits.need <= toBeat && !c.ends() && c.view == nil && !c.choice
}

func (c *cell) ends() bool {
	return c.pages.end != nil || c.visits.end != nil || !c.out.IsZero() || !c.off.IsZero()
}

// isDroppable reports whether losing the cell does no lasting harm.
func (c *cell) isDroppable() bool {
	return c.pages.need != toMake && c.visits.need != toMake && !c.ends() && !c.choice && len(c.acks) == 0
}

// merge adds what another cell of the same member says. Of each part the latest word counts, and what was before a sign-out is
// void. So cells may be merged in any order, and several times.
func (c *cell) merge(other cell) {
	c.pages.merge(other.pages)
	c.visits.merge(other.visits)
	if other.view != nil && (c.view == nil || other.view.at.After(c.view.at)) {
		c.view = other.view
	}
	c.out, c.off = later(c.out, other.out), later(c.off, other.off)
	if c.view != nil && !c.view.at.After(later(c.out, c.off)) {
		c.view = nil
	}
	c.choice = c.choice || other.choice
	for _, a := range other.acks {
		c.acks.add(a)
	}
}

func (l *leaseCell) merge(other leaseCell) {
	l.need, l.silent = max(l.need, other.need), l.silent || other.silent
	if l.end == nil || other.end != nil && other.end.after(l.end) {
		l.end = other.end
	}
}

// after reports whether an end counts in place of another one: it came later. A page that was given up held nobody.
func (e *leaseEnd) after(other *leaseEnd) bool {
	if (e.how == givenUp) != (other.how == givenUp) {
		return other.how == givenUp
	}
	return e.at.After(other.at) || e.at.Equal(other.at) && e.until.After(other.until)
}

// An ack tells what happened to a part of a cell.
type ack struct {
	of   word
	done chan struct{} // closed when the part was applied or dropped
	gone bool          // after done: it was about a lease that is gone
	err  error         // after done: why it was dropped
	left atomic.Bool   // nobody waits for it any more
}

func newAck(of word) *ack { return &ack{of: of, done: make(chan struct{})} }

// leave notes that nobody waits for acks any more.
func leave(acks []*ack) {
	for _, a := range acks {
		a.left.Store(true)
	}
}

// waiters are acks that are not closed yet.
type waiters []*ack

// add adds an ack. It drops those that nobody waits for.
func (w *waiters) add(a *ack) {
	if len(*w) >= 8 && len(*w)&(len(*w)-1) == 0 {
		*w = slices.DeleteFunc(*w, func(a *ack) bool { return a.left.Load() })
	}
	*w = append(*w, a)
}

// split returns the acks of a word, and the others.
func (w waiters) split(of word) (is, others waiters) {
	for _, a := range w {
		if a.of == of {
			is = append(is, a)
		} else {
			others = append(others, a)
		}
	}
	return is, others
}

// close closes all acks. gone says for which words a lease is gone.
func (w waiters) close(err error, gone func(word) bool) {
	for _, a := range w {
		a.err, a.gone = err, gone(a.of)
		close(a.done)
	}
}

func nothingGone(word) bool { return false }

// dirty has the cells of one topic, and the operations there that are about no user.
type dirty struct {
	cells  map[presence.UserID][]*cell // by user: one, or in backend.DevicesTopic one for each device
	others map[otherKey]backend.Op     // the latest operation of each guest and bot
	reset  bool                        // the topic's record starts anew
	peak   *backend.Peak               // a record that this node remembers
	count  int                         // of cells
	acks   waiters                     // for operations without a user
	tries  int                         // how often the store refused it
	after  time.Time                   // earliest time of the next try

	touched time.Time // when something was added last
	changes bool      // there are cells that are not beats
	awaited bool      // a caller waits for something in it
}

// An otherKey names the guest or the bot of an operation, or a user.
type otherKey struct {
	guest, bot string
	user       presence.UserID
}

func newDirty() *dirty {
	return &dirty{cells: make(map[presence.UserID][]*cell), others: make(map[otherKey]backend.Op)}
}

// size returns how many cells and other operations there are.
func (d *dirty) size() int {
	n := d.count + len(d.others)
	if d.reset {
		n++
	}
	if d.peak != nil {
		n++
	}
	return n
}

// put merges a cell into that of its member, and returns how many more there are now.
func (d *dirty) put(owner presence.UserID, c cell) (grown int) {
	d.awaited = d.awaited || len(c.acks) > 0
	d.touch(c.isBeat())
	for _, is := range d.cells[owner] {
		if is.member == c.member {
			is.merge(c)
			return 0
		}
	}
	d.cells[owner] = append(d.cells[owner], &c)
	d.count++
	return 1
}

// add takes the place of the operation about the same guest, bot or record. It returns how many more there are now.
func (d *dirty) add(op backend.Op) (grown int) {
	had := d.size()
	d.touch(op.Kind == backend.OpHeartbeat)
	switch {
	case op.Kind == backend.OpPeak && op.Peak == (backend.Peak{}):
		d.reset, d.peak = true, nil
	case op.Kind == backend.OpPeak:
		if d.peak != nil {
			op.Peak = d.peak.Better(op.Peak)
		}
		d.peak = &op.Peak
	default:
		d.others[otherKey{op.Guest, op.Bot, op.User.ID}] = op
	}
	return d.size() - had
}

func (d *dirty) touch(beat bool) {
	d.touched = time.Now()
	d.changes = d.changes || !beat
}

// follow adds what came earlier, and was not written.
func (d *dirty) follow(earlier *dirty) {
	for owner, cells := range earlier.cells {
		for _, c := range cells {
			d.put(owner, *c)
		}
	}
	for key, op := range earlier.others {
		if _, later := d.others[key]; !later {
			d.others[key] = op
		}
	}
	if earlier.peak != nil && !d.reset && (d.peak == nil || d.peak.Better(*earlier.peak) != *d.peak) {
		d.peak = earlier.peak
	}
	d.reset = d.reset || earlier.reset
	d.acks = append(d.acks, earlier.acks...)
	d.changes, d.awaited = d.changes || earlier.changes, d.awaited || earlier.awaited
	d.tries, d.after = earlier.tries, earlier.after
}

// cut takes n cells and other operations out of it.
func (d *dirty) cut(n int) *dirty {
	part := newDirty()
	part.touched, part.changes, part.awaited, part.tries = d.touched, d.changes, d.awaited, d.tries
	for owner, cells := range d.cells {
		if part.count >= n {
			return part
		}
		part.cells[owner] = cells
		part.count += len(cells)
		d.count -= len(cells)
		delete(d.cells, owner)
	}
	for key, op := range d.others {
		if part.size() >= n {
			return part
		}
		part.others[key] = op
		delete(d.others, key)
	}
	return part
}

// all returns the operations without a user.
func (d *dirty) all() (ops []backend.Op) {
	for _, op := range d.others {
		ops = append(ops, op)
	}
	if d.reset {
		ops = append(ops, backend.Op{Kind: backend.OpPeak})
	}
	if d.peak != nil {
		ops = append(ops, backend.Op{Kind: backend.OpPeak, Peak: *d.peak})
	}
	return ops
}

// close closes all acks.
func (d *dirty) close(err error, gone func(presence.UserID, word) bool) {
	for _, cells := range d.cells {
		for _, c := range cells {
			c.acks.close(err, func(of word) bool { return gone != nil && gone(c.member, of) })
		}
	}
	d.acks.close(err, nothingGone)
}
