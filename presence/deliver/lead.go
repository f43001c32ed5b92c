package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A leader is a consumer on the node that holds its record. One goroutine, in lead, owns all fields but the
// outbox. It turns diffs into events. It commits events, users and the position together. Lanes call fn.
//
//	Watch ─wake─► advance ── events, told, position ──► commit ──► the record
//	                                                      │ ▲ done, at most ackEvery later
//	                                                      ▼ │
//	                                                    outbox ──► lanes ──► fn
//
// A change goes into memory first and then to the store. A commit is repeated until the store answers. So
// memory is never behind the store, and the record can be rebuilt from it.
type leader struct {
	*consumer
	out     *outbox
	follows []*followed // the named topics, and topics of kinds
	byTopic map[presence.Topic]*followed
	kinds   []*followedKind
	began   time.Time // when this node began to lead
	number  uint64    // the number of the latest event
	steps   uint64    // the number of the latest step that the store acknowledged
	sure    bool      // as far as this node knows, the record is as that step left it
	logs    minute.Gate

	changes []recordChange // not committed yet, in order
	made    []*parcel      // the events of changes
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
	standsFor = claimEvery             // fn is called once the record was held for this time: see commit
	giveUpFor = time.Second            // the longest time to give up the record at the end
)

// lead calls fn until ctx ends, or another node holds the record.
func (c *consumer) lead(ctx context.Context) {
	l := &leader{consumer: c, out: newOutbox(c.opts.Most, c.stats)}
	l.began = time.Now()
	l.current = l.began
	again := l.load()
	unheld := time.Since(l.lookout.looked) - holdFor
	for _, f := range l.follows {
		f.unheld = f.begun && unheld > quietFor
		f.over = f.at != backend.Origin && f.restsAt(f.at)
	}
	l.rest()
	for _, k := range l.kinds {
		if k.lookout = l.lookout; unheld > kindQuiet {
			l.missed(k)
			k.lookout = lookout{looked: l.current}
		}
	}
	working, stop := context.WithCancel(ctx)
	var lanes sync.WaitGroup
	for range c.opts.Lanes {
		lanes.Go(func() { l.lane(working) })
	}
	defer func() {
		stop()
		l.out.close()
		lanes.Wait()
		if ctx.Err() != nil {
			l.giveUp(ctx)
		}
		l.remember()
	}()
	if again {
		l.changes = append(l.all(), l.changes...)
	}
	if !l.commit(ctx) {
		return
	}
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for due := true; ; {
		if due {
			l.watch(ctx)
		}
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

// load takes the record into memory, and reports whether the whole record must be written again. It removes
// users and positions of topics that are no longer delivered. If a copy replaces a prepared record, load
// removes the entries that the copy lacks.
func (l *leader) load() (again bool) {
	entries, again := l.record()
	l.steps, l.sure = stepsOf(entries), !again
	for key := range l.read.entries {
		if _, stays := entries[key]; !stays || key == newKey {
			l.changes = append(l.changes, recordChange{key: key, gone: true})
		}
	}
	l.byTopic = make(map[presence.Topic]*followed)
	for _, t := range l.taps {
		l.follow(t, false)
	}
	for _, all := range l.allOf {
		l.kinds = append(l.kinds, l.newKind(all))
	}
	for key, value := range entries {
		rest := ""
		if len(key) > 2 {
			rest = key[2:]
		}
		switch key[:min(2, len(key))] {
		case positionPrefix:
			if i := slices.IndexFunc(l.kinds, func(k *followedKind) bool { return k.all == presence.Topic(rest) }); i >= 0 {
				l.kinds[i].begun, l.kinds[i].crowded = true, value == crowdedMark
				continue
			}
			if f := l.followedOf(presence.Topic(rest)); f != nil {
				known := f.latest
				f.position = decodePosition(value)
				f.knows(known)
				f.begun = true
				if !f.doubt.IsZero() {
					f.decideAt = time.Now().Add(l.node.CatchUp(f.topic))
				}
				continue
			}
		case wire.ToldPrefix:
			name, id := wire.CutTold(rest)
			topic, user := presence.Topic(name), presence.UserID(id)
			if f := l.followedOf(topic); f != nil {
				f.users[user] = decodeTold(value)
				f.knows(f.users[user].since)
				continue
			}
		case wire.EventPrefix:
			var number uint64
			d, ok := decodeDelivery(value)
			if _, err := fmt.Sscanf(rest, "%x", &number); err == nil && ok {
				l.number = max(l.number, number)
				l.out.add(&parcel{Event: d, number: number})
				continue
			}
		default:
			continue
		}
		l.changes = append(l.changes, recordChange{key: key, gone: true})
	}
	return again
}

// all returns the entries of the whole record. The last one, begunKey, says that the record
// is whole.
func (l *leader) all() []recordChange {
	changes := l.out.entries()
	for _, f := range l.follows {
		for id, u := range f.users {
			changes = append(changes, recordChange{key: toldKey(f.topic, id), value: u.encode()})
		}
		if f.begun {
			changes = append(changes, recordChange{key: positionKey(f.topic), value: f.position.encode()})
		}
	}
	for _, k := range l.kinds {
		for topic, r := range k.resting {
			changes = append(changes, recordChange{key: positionKey(topic), value: r.position.encode()})
		}
		if k.begun {
			changes = append(changes, k.entry())
		}
	}
	return append(changes, recordChange{key: stepsKey, value: strconv.FormatUint(l.steps, 10)}, recordChange{key: begunKey, value: "1"})
}

// remember keeps the whole record as a copy for the time after this node led.
func (l *leader) remember() {
	l.copy, l.led = make(map[string]string), true
	for _, entry := range l.all() {
		l.copy[entry.key] = entry.value
	}
}

// event makes an event and adds it to the outbox.
func (l *leader) event(d Event, session string) {
	l.number++
	d.At = time.Now()
	d.ID = deliveryID(l.name, d, session)
	p := &parcel{Event: d, number: l.number, added: d.At, held: true}
	l.made = append(l.made, p)
	l.set(eventKey(p.number), encodeDelivery(d))
	l.out.add(p)
}

func (l *leader) set(key, value string) {
	l.changes = append(l.changes, recordChange{key: key, value: value})
}

// commit writes the changes, and holds the record for holdFor from now on, even without changes. A large
// change takes several steps, in this order: an event, then its user, then the position. So a node that takes
// over between two steps finds the event again, with the same ID. commit returns false once ctx ends, or if
// another node holds the record, or may have held it since this node's time was over.
//
// Example: node A leads, and stands still from 12:00:00 to 12:00:10. Node B leads from 12:00:06 on, and tells of
// Alice. At 12:00:09 Redis starts again with a file of 12:00:00, in which A leads. If A went on with that
// record, it would tell of Alice once more, with another ID.
//
// A node that begins to lead calls fn from the first commit on that comes standsFor later. A failover may take back
// that the node holds the record, and another node may take it. The first one finds that out by this commit, if the
// failover lost no more than standsFor.
//
// Example: node A leads from 12:00:00.0 on. At 12:00:00.2 Redis fails over to a replica of 11:59:59.9, in which nobody
// leads. B looks at 12:00:00.3, and leads. A knows of that at 12:00:01. If both called fn until then, they would tell
// of Alice twice.
func (l *leader) commit(ctx context.Context) bool {
	changes, made := append(l.changes, l.out.takeAcks()...), l.made
	l.changes, l.made = nil, nil
	changes = append(changes, l.out.shed()...)
	if !l.write(ctx, changes) {
		return false
	}
	l.out.free(made)
	return true
}

// write commits the given changes, in the way that commit describes.
func (l *leader) write(ctx context.Context, changes []recordChange) bool {
	backoff, number := backoffFirst, l.next()
	for {
		if time.Since(l.current) > holdFor { // others may have led since, and the store may have lost that
			return false
		}
		step, rest := l.step(changes, number)
		began := time.Now()
		state, err := l.try(ctx, step)
		switch {
		case err != nil:
			if !wait.For(ctx, backoff) {
				return false
			}
			backoff = min(2*backoff, claimEvery)
			continue
		case state == backend.ConsumerTaken:
			return false
		case state == backend.ConsumerMissing:
			found := time.Now()
			if !l.takeBack(ctx) {
				return false
			}
			if !l.landed(step) {
				l.lost, l.sure = found, false
				changes, number = l.anew(), l.next()
				continue
			}
		}
		l.current = began
		if l.sure = true; len(step.Set)+len(step.Delete) > 0 {
			l.steps = number
			number = l.next()
		}
		backoff = backoffFirst
		if began.Sub(l.began) >= standsFor {
			l.out.lease(began.Add(holdFor - holdMargin))
		}
		if changes = rest; len(changes) == 0 {
			return true
		}
	}
}

// takeBack claims a record that is missing or older than this node's memory, and reads what the store has of it. It
// returns false once ctx ends, or if another node holds the record, or may have held it since this node's time was over.
func (l *leader) takeBack(ctx context.Context) bool {
	for backoff := backoffFirst; time.Since(l.current) <= holdFor; backoff = min(2*backoff, claimEvery) {
		state, err := l.claim(ctx, true)
		if err == nil && state != backend.ConsumerHeld {
			return false
		}
		l.read = recordRead{}
		if err == nil && l.fetch(ctx) == nil {
			return true
		}
		if !wait.For(ctx, backoff) {
			return false
		}
	}
	return false
}

// landed reports whether a step arrived although its answer was lost.
func (l *leader) landed(step backend.ConsumerStep) bool {
	number, ok := step.Set[stepsKey]
	return ok && l.read.entries[stepsKey] == number
}

// anew returns the changes that rebuild the record, whatever the store has of it.
func (l *leader) anew() (changes []recordChange) {
	for key := range l.read.entries {
		changes = append(changes, recordChange{key: key, gone: true})
	}
	return append(changes, l.all()...)
}

func (c *consumer) try(ctx context.Context, step backend.ConsumerStep) (backend.ConsumerState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.node.Store.CommitConsumer(ctx, c.name, step)
}

// next returns the number of the next step. It is the time, so that a rebuilt record is newer than each copy
// of the previous one.
func (l *leader) next() uint64 { return max(l.steps+1, uint64(time.Now().UnixMicro())) }

// step returns a step with the first changes, and the changes that are left.
func (l *leader) step(changes []recordChange, number uint64) (backend.ConsumerStep, []recordChange) {
	n := min(len(changes), backend.MaxConsumerStep-1)
	latest := make(map[string]recordChange, n)
	for _, c := range changes[:n] {
		latest[c.key] = c
	}
	step := backend.ConsumerStep{Holder: l.holder, For: holdFor, Set: make(map[string]string, n)}
	delete(latest, stepsKey)
	for _, c := range latest {
		if c.gone {
			step.Delete = append(step.Delete, c.key)
		} else {
			step.Set[c.key] = c.value
		}
	}
	if n > 0 {
		step.Set[stepsKey] = strconv.FormatUint(number, 10)
	}
	if l.sure {
		step.Expect = map[string]string{stepsKey: strconv.FormatUint(l.steps, 10)}
	}
	return step, changes[n:]
}

// giveUp commits the events that are done, and lets another node take over at once.
func (l *leader) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpFor)
	defer cancel()
	if l.write(ctx, l.out.takeAcks()) {
		_, _ = l.try(ctx, backend.ConsumerStep{Holder: l.holder})
	}
}

// lane calls fn with one event after another.
func (l *leader) lane(ctx context.Context) {
	for {
		p, run := l.out.take(ctx)
		if p == nil {
			return
		}
		err := l.call(run, p.Event)
		if l.out.done(p, run, err) {
			time.AfterFunc(ackEvery, l.woken.Wake)
		}
		var gone *giveUpError
		if errors.As(err, &gone) && l.logs.Pass() {
			l.log().Warn("presence: an event was given up", slog.String("id", p.ID), slog.Any("error", err))
		}
	}
}

// errPanicked is the error of a call of fn that panicked.
var errPanicked = errors.New("the consumer's function panicked")

// call calls fn. A panic is an error.
func (l *leader) call(ctx context.Context, d Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errPanicked
			if l.logs.Pass() {
				l.log().Error("presence: the consumer's function panicked; its event comes again",
					slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
			}
		}
	}()
	return l.fn(ctx, d)
}

func (l *leader) log() *slog.Logger {
	return cmp.Or(l.node.Logger, slog.Default()).With(slog.String("consumer", l.name))
}
