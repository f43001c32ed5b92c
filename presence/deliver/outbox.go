package deliver

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// An outbox has the events of the record that are not done. Lanes take them in order, and one at a time for each
// user and topic. All methods may be called concurrently.
type outbox struct {
	most  int
	stats *counters

	mu      sync.Mutex // taken with no other mutex held
	all     []*parcel  // by number
	queues  map[queueKey]*eventQueue
	acks    []uint64        // done, but still in the record
	changed chan struct{}   // closed when there is more to take
	run     context.Context // the context of calls of fn; nil: no calls, because another node may hold the record
	end     context.CancelFunc
	until   time.Time // when run ends
}

// A parcel is one event in an outbox.
type parcel struct {
	Event
	number uint64
	queue  *eventQueue
	taken  bool // a lane calls fn with it
	last   bool // it is not repeated, because its user was erased
}

// An eventQueue has the events of one user and topic, by number. Gaps of a topic have one, too.
type eventQueue struct {
	parcels []*parcel
	at      time.Time // when the first event may be taken; zero: now
	tries   int       // of the first event
}

type queueKey struct {
	topic presence.Topic
	user  presence.UserID // empty: the queue has the topic's gaps
}

func (p *parcel) key() queueKey { return queueKey{p.Topic, p.User.ID} }

func newOutbox(most int, stats *counters) *outbox {
	return &outbox{most: most, stats: stats, queues: make(map[queueKey]*eventQueue), changed: make(chan struct{})}
}

// add adds parcels, which are in the record, in order.
func (o *outbox) add(parcels ...*parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range parcels {
		o.addLocked(len(o.all), p)
		o.signalLocked()
	}
}

func (o *outbox) addLocked(at int, p *parcel) {
	o.all = slices.Insert(o.all, at, p)
	if o.queues[p.key()] == nil {
		o.queues[p.key()] = new(eventQueue)
	}
	p.queue = o.queues[p.key()]
	p.queue.parcels = append(p.queue.parcels, p)
}

// removeLocked removes a parcel, and returns where it was.
func (o *outbox) removeLocked(p *parcel) int {
	at, _ := slices.BinarySearchFunc(o.all, p.number, func(p *parcel, number uint64) int { return cmp.Compare(p.number, number) })
	o.all = slices.Delete(o.all, at, at+1)
	q := p.queue
	if q.parcels[0] == p {
		q.at, q.tries = time.Time{}, 0
	}
	if q.parcels = slices.DeleteFunc(q.parcels, func(of *parcel) bool { return of == p }); len(q.parcels) == 0 {
		delete(o.queues, p.key())
	}
	return at
}

// signalLocked wakes the lanes, and counts what waits.
func (o *outbox) signalLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
	var oldest *time.Time
	if len(o.all) > 0 {
		oldest = &o.all[0].At
	}
	o.stats.waits(len(o.all), oldest)
}

// shed drops the oldest events over the bound. In each topic a gap replaces the first dropped event. It
// returns the numbers of those without a gap, and the gaps.
func (o *outbox) shed() (dropped []uint64, gaps []*parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.all) > o.most {
		has := make(map[presence.Topic]bool) // topics with a gap before the oldest event
		i := slices.IndexFunc(o.all, func(p *parcel) bool {
			has[p.Topic] = has[p.Topic] || p.Type == Gap && !p.taken
			return p.Type != Gap && !p.taken
		})
		if i < 0 {
			break
		}
		oldest := o.all[i]
		o.removeLocked(oldest)
		o.stats.dropped.Add(1)
		if has[oldest.Topic] {
			dropped = append(dropped, oldest.number)
			continue
		}
		gap := &parcel{number: oldest.number, Event: Event{ID: oldest.ID + "-gap", Type: Gap, Topic: oldest.Topic, At: oldest.At}}
		o.addLocked(i, gap)
		o.stats.gaps.Add(1)
		gaps = append(gaps, gap)
		o.signalLocked()
	}
	return dropped, gaps
}

// take waits for an event that may be delivered now. It returns the event and the context for the call, or nil
// once ctx ends.
func (o *outbox) take(ctx context.Context) (*parcel, context.Context) {
	for {
		p, run, due, changed := o.tryTake()
		if p != nil {
			return p, run
		}
		if !wait.Until(ctx, changed, due) {
			return nil, nil
		}
	}
}

// tryTake takes an event. If none may be taken, it returns how long to wait, unless there is a change before;
// negative: until then.
func (o *outbox) tryTake() (p *parcel, run context.Context, due time.Duration, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if due = -1; o.run == nil {
		return nil, nil, due, o.changed
	}
	now := time.Now()
	for _, p := range o.all {
		q := p.queue
		if q.parcels[0] != p || p.taken {
			continue
		}
		left := q.at.Sub(now)
		if left <= 0 {
			q.tries++
			p.taken, p.Try = true, q.tries
			return p, o.run, 0, nil
		}
		if due < 0 || left < due {
			due = left
		}
	}
	return nil, nil, due, o.changed
}

// done ends a call of fn: the event is done, or waits to be repeated. It reports whether this is the first
// event that is done but still in the record.
func (o *outbox) done(p *parcel, run context.Context, err error) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.signalLocked()
	p.taken = false
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
	if again && !p.last {
		p.queue.at = time.Now().Add(delay)
		return false
	}
	o.removeLocked(p)
	o.acks = append(o.acks, p.number)
	return len(o.acks) == 1
}

// takeAcks returns the numbers of the events that are done, and still in the record.
func (o *outbox) takeAcks() (numbers []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	numbers, o.acks = o.acks, nil
	return numbers
}

// forget drops the events about an erased user, and returns their numbers. An event for which a lane is calling
// fn now is the last one.
func (o *outbox) forget(e erasedAt) (numbers []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range slices.Clone(o.all) {
		switch {
		case p.User.ID != e.User || !p.Since.Before(e.at):
		case p.taken:
			p.last = true
		default:
			o.removeLocked(p)
			numbers = append(numbers, p.number)
		}
	}
	o.signalLocked()
	return numbers
}

// lease lets lanes call fn until a moment. Calls that still run then are cancelled.
func (o *outbox) lease(until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until = until; o.run == nil && time.Until(until) > 0 {
		o.run, o.end = context.WithCancel(context.Background())
		o.signalLocked()
	}
	time.AfterFunc(time.Until(until), o.expire)
}

// expire cancels all calls of fn, if the time for them is over.
func (o *outbox) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.run != nil && time.Until(o.until) <= 0 {
		o.end()
		o.run = nil
	}
}
