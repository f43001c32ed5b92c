package track

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A writer knows what is to be written: see cell. A flusher reads what this node holds there, and applies it in one call of the
// store. To put a cell never waits. What the store cannot accept now is kept, and applied when the store is back.
type writer struct {
	stats *counters

	kick  wait.Wakeup   // something was added
	retry wait.Wakeup   // wakes run to repeat failed calls, because the store is back
	done  chan struct{} // closed when run returned

	mu      writerMutex
	topics  map[presence.Topic]*dirty
	flying  map[presence.Topic]*dirty    // what is being written
	blocked map[presence.UserID][]placed // cells that wait until this node knows what the user chose
	waits   int                          // cells in blocked
	count   int                          // cells, and other operations, in topics
	shares  map[presence.UserID]int      // how many of them each user has; nil: not counted
	pace    writerPace
	alarm   *time.Timer // wakes run when delayed cells are due
	last    bool        // nothing is delayed any more, because the writer ends
	max     int         // maxPending, or a smaller number in tests
}

// A placed is a cell of a topic.
type placed struct {
	topic presence.Topic
	cell
}

// maxPending is how many cells, and how many notices of each sort, wait while the store
// is out.
const maxPending = 100_000

// When half of max cells wait, a user who has more than max/shareParts of them gets no more: so
// nobody takes the room of others.
const shareParts = 50

// How often a refused batch is tried, and the pause between two tries.
const (
	maxTries     = 5
	refusedPause = 200 * time.Millisecond
)

func newWriter(stats *counters) *writer {
	w := &writer{
		stats:   stats,
		topics:  make(map[presence.Topic]*dirty),
		blocked: make(map[presence.UserID][]placed),
		kick:    wait.NewWakeup(),
		retry:   wait.NewWakeup(),
		done:    make(chan struct{}),
		pace:    writerPace{topics: make(map[presence.Topic]pace)},
		max:     maxPending,
	}
	w.alarm = time.AfterFunc(time.Hour, w.kick.Wake)
	w.alarm.Stop()
	return w
}

// put notes what is to be written of a member of a topic. Over its bound the writer drops page views and beats, because later
// ones replace them. It keeps joins, and the ends of connections and users. Their number is bounded by that of
// connections and users here: new connections of users are refused meanwhile, and those that came and went while they waited
// leave one cell. See full.
func (w *writer) put(topic presence.Topic, c cell) {
	w.mu.Lock()
	if c.isDroppable() && w.fullLocked(ownerIn(topic, c.member)) {
		w.stats.dropped.Add(1)
	} else {
		w.putLocked(topic, c)
	}
	w.mu.Unlock()
	w.kick.Wake()
}

// putAcked is put for what is never dropped. The ack is closed once that was applied, or need not be.
func (w *writer) putAcked(topic presence.Topic, c cell, of word) *ack {
	a := newAck(of)
	c.acks = waiters{a}
	w.put(topic, c)
	return a
}

func (w *writer) putLocked(topic presence.Topic, c cell) {
	owner := ownerIn(topic, c.member)
	w.pullLocked(owner, topic, &c)
	w.grewLocked(owner, w.dirtyLocked(topic).put(owner, c))
}

// add adds an operation about no user: of a guest, a bot, or the topic's record. Over the writer's bound it is dropped.
func (w *writer) add(topic presence.Topic, op backend.Op) {
	w.mu.Lock()
	if w.fullLocked("") {
		w.stats.dropped.Add(1)
	} else {
		w.addLocked(topic, op)
	}
	w.mu.Unlock()
	w.kick.Wake()
}

// addAcked is add, and returns an ack. It drops nothing.
func (w *writer) addAcked(topic presence.Topic, op backend.Op) *ack {
	a := newAck(wordOther)
	w.mu.Lock()
	w.addLocked(topic, op)
	w.dirtyLocked(topic).acks.add(a)
	w.mu.Unlock()
	w.kick.Wake()
	return a
}

func (w *writer) addLocked(topic presence.Topic, op backend.Op) {
	d := w.dirtyLocked(topic)
	w.count += d.add(op)
}

func (w *writer) dirtyLocked(topic presence.Topic) *dirty {
	d := w.topics[topic]
	if d == nil {
		d = newDirty()
		w.topics[topic] = d
	}
	return d
}

// await waits until what all acks are of was applied. It returns ErrClosed, the error of ctx, or why it was given up.
func (w *writer) await(ctx context.Context, acks ...*ack) error {
	defer leave(acks)
	for _, a := range acks {
		select {
		case <-a.done:
			if a.err != nil {
				return a.err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-w.done:
			return presence.ErrClosed
		}
	}
	return nil
}

// block keeps a cell until this node knows what its user chose. Over the writer's bound it drops page views. It is called with
// users.mu held.
func (w *writer) block(topic presence.Topic, c *cell) {
	w.mu.Lock()
	defer w.mu.Unlock()
	owner := ownerIn(topic, c.member)
	w.pullLocked(owner, topic, c)
	if c.isDroppable() && w.blockedFullLocked(owner) {
		w.stats.dropped.Add(1)
		return
	}
	w.blocked[owner] = append(w.blocked[owner], placed{topic, *c})
	w.waits++
}

// blockedFullLocked reports whether no more cells of a user may wait for the user's choice. Each user has a share of the room.
func (w *writer) blockedFullLocked(owner presence.UserID) bool {
	return w.waits >= w.max || w.waits >= w.max/2 && len(w.blocked[owner]) > w.max/shareParts
}

// blockedFull is blockedFullLocked for new connections of users whose choice is not known: they are refused.
func (w *writer) blockedFull(user presence.UserID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blockedFullLocked(user)
}

// unblock makes the cells of a user due, because this node knows now what the user chose. It is called with users.mu held.
func (w *writer) unblock(user presence.UserID) {
	w.mu.Lock()
	waited := w.blocked[user]
	delete(w.blocked, user)
	w.waits -= len(waited)
	for _, c := range waited {
		w.grewLocked(user, w.dirtyLocked(c.topic).put(user, c.cell))
	}
	w.mu.Unlock()
	if len(waited) > 0 {
		w.kick.Wake()
	}
}

// pullLocked makes a cell contain the blocked one of its member of a topic, if there is one.
func (w *writer) pullLocked(owner presence.UserID, topic presence.Topic, into *cell) {
	b := w.blocked[owner]
	for i := range b {
		if b[i].topic == topic && b[i].member == into.member {
			into.merge(b[i].cell)
			if w.blocked[owner] = slices.Delete(b, i, i+1); len(b) == 1 {
				delete(w.blocked, owner)
			}
			w.waits--
			return
		}
	}
}

// grewLocked counts cells of a user that wait.
func (w *writer) grewLocked(owner presence.UserID, n int) {
	w.count += n
	if w.shares != nil {
		w.shares[owner] += n
	}
}

// fullLocked reports whether the writer drops what it may drop of a user: see put. Each user has a share.
// Operations without a user have none.
func (w *writer) fullLocked(owner presence.UserID) bool {
	switch {
	case w.count >= w.max:
		return true
	case owner == "" || w.count < w.max/2:
		return false
	}
	if w.shares == nil {
		w.shares = make(map[presence.UserID]int)
		for _, d := range w.topics {
			for owner, cells := range d.cells {
				w.shares[owner] += len(cells)
			}
		}
	}
	return w.shares[owner] > w.max/shareParts
}

// full reports whether the writer drops what it may drop of a user: see put. New connections of the user are
// then refused.
func (w *writer) full(user presence.UserID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fullLocked(user)
}

// holding returns the topics in which something of a user waits or is being written.
func (w *writer) holding(user presence.UserID) (topics []presence.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, some := range []map[presence.Topic]*dirty{w.topics, w.flying} {
		for topic, d := range some {
			if len(d.cells[user]) > 0 {
				topics = append(topics, topic)
			}
		}
	}
	for _, c := range w.blocked[user] {
		topics = append(topics, c.topic)
	}
	return topics
}

// size returns how many cells and other operations wait.
func (w *writer) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count + w.waits
}

// waitsForStore reports whether something waits that needs the store alone.
func (w *writer) waitsForStore() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.topics) > 0
}

// busy reports whether something waits or is being written.
func (w *writer) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count+w.waits > 0 || len(w.flying) > 0
}

// end makes all cells due.
func (w *writer) end() {
	w.mu.Lock()
	w.last = true
	w.mu.Unlock()
	w.alarm.Stop()
}

// writes notes what is being written of a topic.
func (w *writer) writes(topic presence.Topic, ops []backend.Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace.wrote(topic, ops, time.Now())
}

// landed notes that nothing is being written any more.
func (w *writer) landed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying = nil
}

// maxAtOnce is how many cells and other operations one call of the store writes, and those of one user more. Thousands take a server
// some tenths of a second, and a call that is given up is written again as a whole.
const maxAtOnce = 4000

// take returns what is to be written now, by topic, up to maxAtOnce. It is being written until landed is called.
func (w *writer) take() (topics map[presence.Topic]*dirty) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, next, room := time.Now(), time.Time{}, maxAtOnce
	topics = make(map[presence.Topic]*dirty)
	for topic, d := range w.topics {
		due := w.pace.due(topic, d)
		switch {
		case d.after.After(now), !w.last && due.After(now):
			if next.IsZero() || due.Before(next) {
				next = due
			}
		case room <= 0:
			w.kick.Wake()
		case d.size() > room:
			topics[topic] = d.cut(room)
			w.count -= topics[topic].size()
			room = 0
			w.kick.Wake()
		default:
			topics[topic] = d
			delete(w.topics, topic)
			w.count -= d.size()
			room -= d.size()
		}
	}
	if !next.IsZero() && !w.last {
		w.alarm.Reset(next.Sub(now))
	}
	if len(topics) > 0 {
		w.shares = nil
		w.flying = topics
	}
	return topics
}

// keep puts back what the store did not accept, before what came since. Some may have taken
// effect: repeating it changes nothing (rule 3).
func (w *writer) keep(topic presence.Topic, d *dirty) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shares = nil
	since := w.topics[topic]
	if since == nil {
		w.topics[topic] = d
		w.count += d.size()
		return
	}
	w.count -= since.size()
	since.follow(d)
	w.count += since.size()
}
