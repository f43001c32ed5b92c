package deliver

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
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

	mu      sync.Mutex             // taken with no other mutex held
	all     []*parcel              // by number
	queues  map[queueKey][]*parcel // the same by user and topic
	changes []recordChange         // of the record, since takeChanges
	changed chan struct{}          // closed when there is more to take
}

// A parcel is one event in an outbox.
type parcel struct {
	Event
	number uint64
	after  time.Time // when fn may be called; zero: now
	taken  bool      // a lane calls fn with it
	last   bool      // it is not repeated, because its user was erased
}

type queueKey struct {
	topic presence.Topic
	user  presence.UserID // empty: the queue has the topic's gaps
}

func (p *parcel) key() queueKey { return queueKey{p.Topic, p.User.ID} }

func newOutbox(most int, stats *counters) *outbox {
	return &outbox{most: most, stats: stats, queues: make(map[queueKey][]*parcel), changed: make(chan struct{})}
}

// add adds parcels, which are in the record, in order. It drops those over the bound.
func (o *outbox) add(parcels ...*parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range parcels {
		o.all = append(o.all, p)
		o.queues[p.key()] = append(o.queues[p.key()], p)
	}
	o.shedLocked()
	o.signalLocked()
}

// removeLocked removes a parcel, also from the record.
func (o *outbox) removeLocked(p *parcel) {
	o.changes = append(o.changes, recordChange{eventKey(p.number), ""})
	is := func(of *parcel) bool { return of == p }
	o.all = slices.DeleteFunc(o.all, is)
	if o.queues[p.key()] = slices.DeleteFunc(o.queues[p.key()], is); len(o.queues[p.key()]) == 0 {
		delete(o.queues, p.key())
	}
}

// signalLocked wakes the lanes.
func (o *outbox) signalLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// waits returns how many events wait, and for how long the oldest of them has.
func (o *outbox) waits() (n int, oldest time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) > 0 {
		oldest = max(time.Since(o.all[0].At), 0)
	}
	return len(o.all), oldest
}

// shedLocked drops the oldest events over the bound. In each topic a gap replaces the first dropped event.
func (o *outbox) shedLocked() {
	for len(o.all) > o.most {
		has := make(map[presence.Topic]bool) // topics with a gap before the oldest event
		i := slices.IndexFunc(o.all, func(p *parcel) bool {
			has[p.Topic] = has[p.Topic] || p.Type == Gap && !p.taken
			return p.Type != Gap && !p.taken
		})
		if i < 0 {
			return
		}
		oldest := o.all[i]
		o.removeLocked(oldest)
		o.stats.dropped.Add(1)
		if !has[oldest.Topic] {
			gap := &parcel{number: oldest.number, Event: Event{ID: oldest.ID + "-gap", Type: Gap, Topic: oldest.Topic, At: oldest.At}}
			o.all = slices.Insert(o.all, i, gap)
			o.queues[gap.key()] = append(o.queues[gap.key()], gap)
			o.changes = append(o.changes, recordChange{eventKey(gap.number), gap.encode()})
			o.stats.gaps.Add(1)
		}
	}
}

// takeChanges returns what has changed in the record since the last call.
func (o *outbox) takeChanges() (changes []recordChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	changes, o.changes = o.changes, nil
	return changes
}

// take waits for an event that may be delivered now. It returns nil once ctx ends.
func (o *outbox) take(ctx context.Context) *parcel {
	for ctx.Err() == nil {
		p, due, changed := o.tryTake()
		if p != nil {
			return p
		}
		wait.Until(ctx, changed, due)
	}
	return nil
}

// tryTake takes an event. If none may be taken, it returns how long to wait, unless there is a change before;
// negative: until then.
func (o *outbox) tryTake() (p *parcel, due time.Duration, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	due = -1
	for _, p := range o.all {
		if p.taken || o.queues[p.key()][0] != p {
			continue
		}
		left := p.after.Sub(now)
		if left <= 0 {
			p.taken = true
			p.Try++
			return p, 0, nil
		}
		if due < 0 || left < due {
			due = left
		}
	}
	return nil, due, o.changed
}

// done ends a call of fn. It returns true if the event is done, and false if the event comes again.
func (o *outbox) done(ctx context.Context, p *parcel, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.signalLocked()
	p.taken = false
	again := time.Duration(-1)
	switch {
	case err == nil:
		o.stats.told.Add(1)
	case ctx.Err() != nil: // the call was cancelled, and its outcome is unknown
		again = 0
	default:
		o.stats.failed.Add(1)
		if again = retryAfter(err, p.Try); again < 0 {
			o.stats.dropped.Add(1)
		} else {
			o.stats.repeated.Add(1)
		}
	}
	if again >= 0 && !p.last {
		p.after = time.Now().Add(again)
		return false
	}
	o.removeLocked(p)
	return true
}

// forget drops the events about an erased user. An event for which a lane is calling fn now is the last one.
func (o *outbox) forget(e erasedAt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range slices.Clone(o.all) {
		switch {
		case p.User.ID != e.User || !p.Since.Before(e.at):
		case p.taken:
			p.last = true
		default:
			o.removeLocked(p)
		}
	}
	o.signalLocked()
}

// lane calls fn with one event after another.
func (l *leader) lane(ctx context.Context) {
	for {
		p := l.out.take(ctx)
		if p == nil {
			return
		}
		err := l.call(ctx, p.Event)
		if l.out.done(ctx, p, err) {
			l.woken.Wake()
		}
		if err != nil && retryAfter(err, p.Try) < 0 && l.logs.Pass() {
			l.log.Warn("presence: an event was given up", slog.String("id", p.ID), slog.Any("error", err))
		}
	}
}

// call calls fn. A panic is an error.
func (l *leader) call(ctx context.Context, e Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the consumer's function panicked")
			if l.logs.Pass() {
				l.log.Error("presence: the consumer's function panicked; its event comes again",
					slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
			}
		}
	}()
	return l.fn(ctx, e)
}
