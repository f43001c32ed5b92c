package deliver

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/tidwall/btree"
)

// An outbox has the events of the record that are not done. Lanes take them in order, and one at a time for each
// user and topic. All methods may be called concurrently.
type outbox struct {
	most  int
	stats *counters

	mu      sync.Mutex // taken with no other mutex held
	all     btree.Map[uint64, *parcel]
	queues  map[queueKey]*eventQueue
	ready   *btree.BTreeG[*eventQueue] // queues whose first parcel may be taken, by time
	acks    []uint64                   // done, but still in the record
	changed chan struct{}              // closed when there is more to take
	run     context.Context            // the context of calls of fn; nil: no calls, because another node may hold the record
	end     context.CancelFunc
	until   time.Time // when run ends
}

// A parcel is one event in an outbox.
type parcel struct {
	Event
	number uint64
	added  time.Time // when this node added it
	taken  bool      // a lane calls fn with it
	last   bool      // it is not repeated, because its user was erased
}

// An eventQueue has the events of one user and topic, by number. Gaps of a topic have one, too.
type eventQueue struct {
	key   queueKey
	queue []*parcel
	at    time.Time // when the first event may be taken
	tries int       // of the first event
	in    bool      // the queue is in ready
}

type queueKey struct {
	topic presence.Topic
	user  presence.UserID // empty: the queue has the topic's gaps
}

func newOutbox(most int, stats *counters) *outbox {
	return &outbox{
		most: most, stats: stats, queues: make(map[queueKey]*eventQueue), changed: make(chan struct{}),
		ready: btree.NewBTreeGOptions(func(a, b *eventQueue) bool {
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.queue[0].number, b.queue[0].number)) < 0
		}, btree.Options{NoLocks: true}),
	}
}

// add adds parcels, which are in the record, in order.
func (o *outbox) add(parcels ...*parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range parcels {
		o.addLocked(p)
	}
	o.countLocked()
}

func (o *outbox) addLocked(p *parcel) {
	o.all.Set(p.number, p)
	key := queueKey{p.Topic, p.User.ID}
	if o.queues[key] == nil {
		o.queues[key] = &eventQueue{key: key, at: p.added}
	}
	q := o.queues[key]
	o.changeLocked(q, func() { q.queue = append(q.queue, p) })
}

// changeLocked changes a queue, and its place in ready.
func (o *outbox) changeLocked(q *eventQueue, change func()) {
	if q.in {
		o.ready.Delete(q)
		q.in = false
	}
	change()
	switch {
	case len(q.queue) == 0:
		delete(o.queues, q.key)
	case !q.queue[0].taken:
		o.ready.Set(q)
		q.in = true
		o.signalLocked()
	}
}

func (o *outbox) signalLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// shed drops the oldest events over the bound. In each topic a gap replaces the first dropped event. It
// returns the changes of the record.
func (o *outbox) shed() (changes []recordChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.all.Len() > o.most {
		var oldest *parcel
		gaps := make(map[presence.Topic]bool) // topics with a gap before oldest
		o.all.Scan(func(_ uint64, p *parcel) bool {
			if p.Type == Gap {
				gaps[p.Topic] = gaps[p.Topic] || !p.taken
			} else if !p.taken {
				oldest = p
			}
			return oldest == nil
		})
		if oldest == nil {
			break
		}
		o.removeLocked(oldest)
		o.stats.dropped.Add(1)
		if gaps[oldest.Topic] {
			changes = append(changes, recordChange{key: eventKey(oldest.number), gone: true})
			continue
		}
		gap := &parcel{number: oldest.number, added: oldest.added, Event: Event{
			ID: oldest.ID + "-gap", Type: Gap, Topic: oldest.Topic, At: oldest.At,
		}}
		o.addLocked(gap)
		o.stats.gaps.Add(1)
		changes = append(changes, gap.entry())
	}
	o.countLocked()
	return changes
}

func (o *outbox) removeLocked(p *parcel) {
	o.all.Delete(p.number)
	q := o.queues[queueKey{p.Topic, p.User.ID}]
	o.changeLocked(q, func() {
		at := slices.Index(q.queue, p)
		q.queue = slices.Delete(q.queue, at, at+1)
		if at == 0 && len(q.queue) > 0 {
			q.at, q.tries = q.queue[0].added, 0
		}
	})
}

// take waits for an event that may be delivered now. It returns the event and the context for the call, or nil
// once ctx ends.
func (o *outbox) take(ctx context.Context) (*parcel, context.Context) {
	for {
		o.mu.Lock()
		first, ok := o.ready.Min()
		due := time.Duration(-1) // nothing to wait for
		if ok && o.run != nil {
			if due = time.Until(first.at); due <= 0 {
				p, run := first.queue[0], o.run
				o.changeLocked(first, func() { p.taken = true; first.tries++; p.Try = first.tries })
				o.mu.Unlock()
				return p, run
			}
		}
		changed := o.changed
		o.mu.Unlock()
		if !wait.Until(ctx, changed, due) {
			return nil, nil
		}
	}
}

// done ends a call of fn: the event is done, or waits to be repeated. It reports whether this is the first
// event that is done but still in the record.
func (o *outbox) done(p *parcel, run context.Context, err error) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	again, delay := err != nil, time.Duration(0)
	switch {
	case err == nil:
		o.stats.told.Add(1)
	case run.Err() != nil: // the call was cancelled, and its outcome is unknown
	default:
		o.stats.failed.Add(1)
		if delay, again = retryAfter(err, p.Try); !again {
			o.stats.dropped.Add(1)
		} else {
			o.stats.repeated.Add(1)
		}
	}
	q := o.queues[queueKey{p.Topic, p.User.ID}]
	if again && !p.last {
		o.changeLocked(q, func() { p.taken, q.at = false, time.Now().Add(delay) })
		return false
	}
	p.taken = false
	o.removeLocked(p)
	o.acks = append(o.acks, p.number)
	o.countLocked()
	return len(o.acks) == 1
}

// takeAcks returns the changes that remove the events that are done from the record.
func (o *outbox) takeAcks() (changes []recordChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, number := range o.acks {
		changes = append(changes, recordChange{key: eventKey(number), gone: true})
	}
	o.acks = nil
	return changes
}

// entries returns the entries of all events that are not done.
func (o *outbox) entries() (changes []recordChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acks = nil
	o.all.Scan(func(_ uint64, p *parcel) bool {
		changes = append(changes, p.entry())
		return true
	})
	return changes
}

func (p *parcel) entry() recordChange {
	return recordChange{key: eventKey(p.number), value: encodeEvent(p.Event)}
}

// lease lets lanes call fn until a moment. Calls that still run then are cancelled.
func (o *outbox) lease(until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until = until; o.run == nil && time.Until(until) > 0 {
		o.run, o.end = context.WithCancel(context.Background())
		o.signalLocked()
	}
	time.AfterFunc(time.Until(until), func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if time.Until(o.until) <= 0 {
			o.cancelLocked()
		}
	})
}

// close cancels all calls of fn.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cancelLocked()
}

func (o *outbox) cancelLocked() {
	if o.run != nil {
		o.end()
		o.run = nil
	}
}

func (o *outbox) countLocked() {
	var oldest time.Time
	if _, p, ok := o.all.Min(); ok {
		oldest = p.At
	}
	o.stats.waits(o.all.Len(), oldest)
}
