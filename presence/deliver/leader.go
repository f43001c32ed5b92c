package deliver

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A leader is a consumer on the node that holds its record. One goroutine, in lead, owns all fields but the
// outbox. It lists each topic once, and follows its log from there. Of each diff it makes events. It commits the
// events, the users whom they name and the position in one step. Lanes call fn with what was committed.
//
//	log ──► advance ── events, users, position ──► commit ──► the record
//	                                                 │ ▲ done
//	                                                 ▼ │
//	                                               outbox ──► lanes ──► fn
//
// A change goes into memory first and then to the store. So memory is never behind the store, and the record can
// be written again from it.
type leader struct {
	*consumer
	out     *outbox
	ends    *time.Timer // cancels all work before another node may hold the record
	follows []*followed
	byTopic map[presence.Topic]*followed // follows by topic
	kinds   []*followedKind
	number  uint64            // the number of the latest event
	steps   uint64            // the number of the latest step that the store has
	record  map[string]string // as it will be once all changes are committed
	changes []recordChange    // not committed yet, in order
	made    []*parcel         // the events of changes, or of what is being committed
}

// A recordChange is one entry of the record that was set, or removed if it has no value.
type recordChange struct{ key, value string }

// Times of a leader.
const (
	gatherFor  = 20 * time.Millisecond // changes within this time are one commit
	advanceFor = time.Second           // the longest round of advance, so that the leader commits in time to stay one
	giveUpFor  = time.Second           // the longest time to give up the record at the end
	quietFor   = 30 * time.Second      // after this time without a holder, somebody may have come to an empty topic and left
)

// lead calls fn until ctx ends, or another node may hold the record.
func (c *consumer) lead(ctx context.Context, entries map[string]string) {
	working, stop := context.WithCancel(ctx)
	l := &leader{
		consumer: c, out: newOutbox(c.opts.Most, c.stats), byTopic: make(map[presence.Topic]*followed),
		ends: time.AfterFunc(time.Until(c.until)-holdMargin, stop),
	}
	l.begin(entries)
	c.stats.leads.Store(l.out)
	var lanes sync.WaitGroup
	for range c.opts.Lanes {
		lanes.Go(func() { l.lane(working) })
	}
	l.work(working)
	stop()
	lanes.Wait()
	for _, f := range l.follows {
		if f.unwatch != nil {
			f.unwatch()
		}
	}
	if ctx.Err() != nil && time.Now().Before(c.until) { // another node may take over at once
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpFor)
		if l.commit(last) {
			_, _ = l.try(last, backend.ConsumerStep{Holder: l.holder})
		}
		cancel()
	}
	l.ends.Stop()
	l.record[stepsKey] = strconv.FormatUint(l.steps, 10)
	c.memory, c.gone, c.unheld = l.record, false, 0
	c.stats.leads.Store(nil)
}

// work advances and commits until ctx ends, or another node holds the record.
func (l *leader) work(ctx context.Context) {
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for due := true; ; {
		l.forgetErased()
		l.advance(ctx, due)
		if !l.commit(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			due = true
		case <-l.woken:
			due = false
			if !wait.For(ctx, gatherFor) {
				return
			}
		}
	}
}

// begin takes the record into memory, or what this node remembers of it, if the store has less. If the record is
// gone, together with the node that led, each topic has a gap, and all who are there join once more.
func (l *leader) begin(entries map[string]string) {
	for _, topic := range l.topics {
		if isAll(topic) {
			l.kinds = append(l.kinds, newKind(topic))
		} else {
			l.follow(topic)
		}
	}
	l.record, l.steps = maps.Clone(entries), stepsOf(entries)
	lost := stepsOf(l.memory) > l.steps
	if lost {
		l.record = l.memory
	} else if l.record == nil {
		l.record = make(map[string]string)
	}
	delete(l.record, stepsKey)
	for _, key := range slices.Sorted(maps.Keys(l.record)) { // so events come by number
		if !l.load(key, l.record[key]) {
			l.set(key, "")
		}
	}
	if lost {
		l.rewrite(entries)
	}
	gone := l.gone && !lost && l.steps == 0
	l.memory = nil // until this node has led
	for _, f := range l.follows {
		if gone {
			f.At = backend.Origin
		}
		if gone || f.kind == nil && f.begun && f.idle() && l.unheld > quietFor {
			l.gap(f)
		}
	}
	for _, k := range l.kinds {
		if gone || k.begun && (lost || l.unheld > kindQuiet) {
			l.tellGap(k.all)
		}
	}
}

// load takes an entry of the record into memory. It returns false if that is of no use: its topic is no longer
// delivered.
func (l *leader) load(key, value string) bool {
	kind, rest := key[:min(2, len(key))], key[min(2, len(key)):]
	switch kind {
	case positionPrefix:
		for _, k := range l.kinds {
			if k.all == presence.Topic(rest) {
				k.begun, k.crowded = true, value == "true"
				return true
			}
		}
		if f := l.follow(presence.Topic(rest)); f != nil {
			f.begun = decode(value, &f.position)
			return f.begun
		}
	case wire.ToldPrefix:
		topic, user := wire.CutTold(rest)
		var u toldUser
		if f := l.follow(presence.Topic(topic)); f != nil && decode(value, &u) {
			f.users[presence.UserID(user)] = u
			return true
		}
	case wire.EventPrefix:
		var e keptEvent
		if number, err := strconv.ParseUint(rest, 16, 64); err == nil && decode(value, &e) {
			l.number = max(l.number, number)
			l.out.add(&parcel{Event: e.event(), number: number})
			return true
		}
	}
	return false
}

// event makes an event. source names what the event comes from.
func (l *leader) event(e Event, source string) {
	l.number++
	e.At = time.Now()
	e.ID = eventID(l.name, e, source)
	p := &parcel{Event: e, number: l.number}
	l.made = append(l.made, p)
	l.set(eventKey(p.number), p.encode())
}

// set changes an entry of the record, or removes it if value is empty.
func (l *leader) set(key, value string) {
	if l.record[key] = value; value == "" {
		delete(l.record, key)
	}
	l.changes = append(l.changes, recordChange{key, value})
}
