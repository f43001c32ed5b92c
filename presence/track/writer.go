package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A writer collects operations for a few milliseconds, merges them by topic, user and holder, and lets a
// flusher apply them in one call of the store. Adding an operation never waits. Operations that the store
// cannot accept now are kept, and applied when it is back.
type writer struct {
	stats   *counters
	records *userRecords

	kick  wait.Wakeup   // something was added
	retry wait.Wakeup   // wakes run to repeat failed calls, because the store is back
	done  chan struct{} // closed when run returned

	mu     writerMutex
	topics map[presence.Topic]*pending
	flying map[presence.Topic]*pending // what is being written
	ops    int                         // number of operations in topics
	shares map[presence.UserID]int     // number of operations of each user; nil: not counted
	pace   writerPace
	alarm  *time.Timer // wakes run when delayed operations are due
	last   bool        // nothing is delayed any more, because the writer ends
	max    int         // maxPending, or a smaller number in tests
}

// maxPending is how many operations, and how many notices of each sort, wait while the store
// is out.
const maxPending = 100_000

// When half of max operations wait, a user or guest who has more than max/shareParts of them gets no more: so
// nobody takes the room of others.
const shareParts = 50

// How often a refused batch is tried, and the pause between two tries.
const (
	maxTries     = 5
	refusedPause = 200 * time.Millisecond
)

func newWriter(stats *counters, records *userRecords) *writer {
	w := &writer{
		stats:   stats,
		records: records,
		topics:  make(map[presence.Topic]*pending),
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

// add adds an operation. Over its bound it drops page views, guests, bots, heartbeats and records, because
// later ones replace them, or the store forgets the guest by itself. It keeps joins, and the ends of
// connections and users. Their number is bounded by that of connections and users here: new connections of
// users are refused meanwhile, and those that came and went while they waited leave one operation. See full
// and writer_ends.go.
func (w *writer) add(topic presence.Topic, op backend.Op) { w.put(topic, operation{Op: op}) }

// put is add for an operation with additional information.
func (w *writer) put(topic presence.Topic, op operation) {
	w.mu.Lock()
	w.putLocked(topic, op)
	w.mu.Unlock()
	w.kick.Wake()
}

// putAcked is put, and returns an ack.
func (w *writer) putAcked(topic presence.Topic, op operation) *ack {
	a := &ack{key: keyOf(op.Op), done: make(chan struct{})}
	w.mu.Lock()
	if p := w.putLocked(topic, op); p != nil {
		p.expect(a)
	} else {
		a.err = presence.ErrStoreOut
		close(a.done)
	}
	w.mu.Unlock()
	w.kick.Wake()
	return a
}

// await waits until the operations of all acks were applied. It returns ErrClosed, the error of ctx, or why
// an operation was given up.
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

// putLocked adds an operation. It returns the pending operations of its topic; nil if it was dropped.
func (w *writer) putLocked(topic presence.Topic, op operation) *pending {
	if droppable(op.Op) && w.fullLocked(op.User.ID) {
		w.stats.dropped.Add(1)
		return nil
	}
	p := w.topics[topic]
	if p == nil {
		p = newPending()
		w.topics[topic] = p
	}
	if op.at.IsZero() {
		op.at = time.Now()
	}
	if op.Kind == backend.OpRelease && op.until.IsZero() {
		op.until = op.at.Add(op.For)
	}
	w.grewLocked(op.User.ID, p.add(op))
	w.pace.plan(topic, p, op.Kind)
	return p
}

// grewLocked counts operations of a user that wait.
func (w *writer) grewLocked(user presence.UserID, n int) {
	w.ops += n
	if w.shares != nil {
		owner, _ := backend.OwnerOf(user)
		w.shares[owner] += n
	}
}

// countLocked counts pending operations that were added or removed: sign is 1 or -1.
func (w *writer) countLocked(p *pending, sign int) {
	w.ops += sign * p.size()
	w.shares = nil
}

// fullLocked reports whether the writer drops what it may drop of a user: see add. Each user has a share.
// Operations without a user have none.
func (w *writer) fullLocked(user presence.UserID) bool {
	switch {
	case w.ops >= w.max:
		return true
	case user == "" || w.ops < w.max/2:
		return false
	}
	if w.shares == nil {
		w.shares = make(map[presence.UserID]int)
		for _, p := range w.topics {
			for subject, list := range p.lists {
				owner, _ := backend.OwnerOf(subject.user)
				w.shares[owner] += len(list)
			}
		}
	}
	owner, _ := backend.OwnerOf(user)
	return w.shares[owner] > w.max/shareParts
}

// droppable reports whether losing the operation does no lasting harm.
func droppable(op backend.Op) bool {
	switch op.Kind {
	case backend.OpSeen, backend.OpGuest, backend.OpForgetGuest, backend.OpBot, backend.OpHeartbeat, backend.OpKeep, backend.OpPeak:
		return true
	}
	return false
}

// giveUp removes a join that was not sent yet. It reports whether there was one.
func (w *writer) giveUp(topic presence.Topic, user presence.UserID, holder presence.Holder) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.topics[topic]
	if p == nil {
		return false
	}
	had := p.size()
	given := p.giveUp(user, holder)
	w.grewLocked(user, p.size()-had)
	return given
}

// full reports whether the writer drops what it may drop of a user: see add. New connections of the user are
// then refused.
func (w *writer) full(user presence.UserID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fullLocked(user)
}

func (w *writer) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ops
}

// end makes all waiting operations due.
func (w *writer) end() {
	w.mu.Lock()
	w.last = true
	w.mu.Unlock()
	w.alarm.Stop()
}

// landed notes that nothing is being written any more.
func (w *writer) landed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying = nil
}

// take returns the operations to write now, by topic. They are being written until landed is called.
func (w *writer) take() (topics map[presence.Topic]*pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, next := time.Now(), time.Time{}
	topics = w.topics
	w.topics, w.ops, w.shares = make(map[presence.Topic]*pending), 0, nil
	for topic, p := range topics {
		p.dropVoid(topic, w.records, now)
		if p.size() == 0 {
			p.acknowledge(nil)
			delete(topics, topic)
			continue
		}
		due := p.dueAt()
		if p.after.After(now) || due.After(now) && !w.last {
			w.topics[topic] = p
			w.countLocked(p, 1)
			delete(topics, topic)
			if next.IsZero() || due.Before(next) {
				next = due
			}
		}
	}
	if !next.IsZero() && !w.last {
		w.alarm.Reset(next.Sub(now))
	}
	if len(topics) > 0 {
		w.flying = topics
		w.pace.wrote(topics, now)
	}
	return topics
}

// keep puts back operations that the store did not accept, before those that came since. Some may have taken
// effect: repeating them changes nothing (rule 12).
func (w *writer) keep(topic presence.Topic, p *pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := w.topics[topic]
	w.topics[topic] = p
	w.countLocked(p, 1)
	if since == nil {
		return
	}
	w.countLocked(since, -1)
	for _, op := range since.all() {
		w.putLocked(topic, op)
	}
	for _, a := range since.acks {
		p.expect(a)
	}
}
