package deliver

import (
	"context"
	"fmt"
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
//	                                                 │ ▲ done, at most ackEvery later
//	                                                 ▼ │
//	                                               outbox ──► lanes ──► fn
//
// A change goes into memory first and then to the store. So memory is never behind the store, and the record can
// be written again from it.
type leader struct {
	*consumer
	out     *outbox
	follows []*followed
	byTopic map[presence.Topic]*followed // follows by topic
	kinds   []*followedKind
	number  uint64         // the number of the latest event
	steps   uint64         // the number of the latest step that the record has
	changes []recordChange // not committed yet, in order
	made    []*parcel      // the events of changes, or of what is being committed
}

// A recordChange is one entry of the record that was set or removed.
type recordChange struct {
	key, value string
	gone       bool
}

// Times of a leader.
const (
	gatherFor = 20 * time.Millisecond  // changes within this time are one commit
	ackEvery  = 100 * time.Millisecond // events that are done are committed after this time
	giveUpFor = time.Second            // the longest time to give up the record at the end
	quietFor  = 30 * time.Second       // after this time without a holder, somebody may have come to an empty topic and left
)

// lead calls fn until ctx ends, or another node holds the record.
func (c *consumer) lead(ctx context.Context, entries map[string]string) {
	l := &leader{consumer: c, out: newOutbox(c.opts.Most, c.stats)}
	l.begin(entries)
	c.stats.leads.Store(true)
	working, stop := context.WithCancel(ctx)
	var lanes sync.WaitGroup
	for range c.opts.Lanes {
		lanes.Go(func() { l.lane(working) })
	}
	l.work(ctx)
	stop()
	l.out.close()
	lanes.Wait()
	for _, f := range l.follows {
		f.stop()
	}
	if ctx.Err() != nil {
		l.giveUp(ctx)
	}
	l.remember()
	c.stats.leads.Store(false)
	c.stats.waits(0, time.Time{})
	c.stats.left.Store(0)
}

// work advances and commits until ctx ends, or another node holds the record.
func (l *leader) work(ctx context.Context) {
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for due := true; ; {
		l.advance(ctx, due)
		l.forgetErased()
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
	for _, all := range l.allOf {
		l.kinds = append(l.kinds, newKind(all))
	}
	l.byTopic = make(map[presence.Topic]*followed)
	for _, topic := range l.topics {
		l.follow(topic)
	}
	l.steps = stepsOf(entries)
	lost := stepsOf(l.memory) > l.steps
	if lost {
		l.load(l.memory)
		l.rewrite(entries)
	} else {
		l.load(entries)
	}
	unheld := time.Since(l.heldAt)
	gone := l.gone && l.steps == 0
	for _, f := range l.follows {
		switch {
		case gone:
			f.at = backend.Origin
			l.gap(f)
		case f.kind == nil && f.begun && f.idle() && unheld > quietFor:
			l.gap(f)
		}
	}
	for _, k := range l.kinds {
		if gone || k.begun && (lost || unheld > kindQuiet) {
			l.tellGap(k.all)
		}
	}
}

// load takes the entries of a record into memory. It removes those of topics that are no longer delivered.
func (l *leader) load(entries map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(entries)) { // so events come by number
		if key != stepsKey && !l.loadEntry(key, entries[key]) {
			l.changes = append(l.changes, recordChange{key: key, gone: true})
		}
	}
}

// loadEntry returns false if the entry is of no use.
func (l *leader) loadEntry(key, value string) bool {
	kind, rest := key[:min(2, len(key))], key[min(2, len(key)):]
	switch kind {
	case positionPrefix:
		if i := slices.IndexFunc(l.kinds, func(k *followedKind) bool { return k.all == presence.Topic(rest) }); i >= 0 {
			l.kinds[i].begun, l.kinds[i].crowded = true, value == crowdedMark
			return true
		}
		f := l.follow(presence.Topic(rest))
		if f == nil {
			return false
		}
		f.position, f.begun = decodePosition(value), true
	case wire.ToldPrefix:
		topic, user := wire.CutTold(rest)
		f := l.follow(presence.Topic(topic))
		if f == nil {
			return false
		}
		f.users[presence.UserID(user)] = decodeTold(value)
	case wire.EventPrefix:
		var number uint64
		e, ok := decodeEvent(value)
		if _, err := fmt.Sscanf(rest, "%x", &number); err != nil || !ok {
			return false
		}
		l.number = max(l.number, number)
		l.out.add(&parcel{Event: e, number: number})
	default:
		return false
	}
	return true
}

// all returns the entries of the whole record but the number of its step.
func (l *leader) all() []recordChange {
	changes := l.out.entries()
	for _, p := range l.made {
		changes = append(changes, p.entry())
	}
	for _, f := range l.follows {
		for id, u := range f.users {
			changes = append(changes, recordChange{key: toldKey(f.topic, id), value: u.encode()})
		}
		if f.begun {
			changes = append(changes, recordChange{key: positionKey(f.topic), value: f.position.encode()})
		}
	}
	for _, k := range l.kinds {
		if k.begun {
			changes = append(changes, k.entry())
		}
	}
	return changes
}

// remember keeps the record for the time after this node led.
func (l *leader) remember() {
	l.memory, l.taken = map[string]string{stepsKey: strconv.FormatUint(l.steps, 10)}, time.Time{}
	for _, entry := range l.all() {
		l.memory[entry.key] = entry.value
	}
	l.heldAt = later(l.heldAt, l.until)
}

// event makes an event. source names what the event comes from.
func (l *leader) event(e Event, source string) {
	l.number++
	e.At = time.Now()
	e.ID = eventID(l.name, e, source)
	p := &parcel{Event: e, number: l.number}
	l.made, l.changes = append(l.made, p), append(l.changes, p.entry())
}

func (l *leader) set(key, value string) {
	l.changes = append(l.changes, recordChange{key: key, value: value})
}

func (l *leader) unset(key string) {
	l.changes = append(l.changes, recordChange{key: key, gone: true})
}
