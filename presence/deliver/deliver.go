// Package deliver reports joins and leaves to Go programs: at least once in the whole fleet, on one node at a
// time, and in order for each user and topic. A site calls track.Tracker.Deliver, which only wraps this
// package. The package reaches the engine through [Node] alone.
//
// The design is "list and watch": one node leads (consumer.go, leader.go), lists a topic once, and follows its log
// from there (topic.go). Where the log does not lead on, the node tells a gap, lists again, and tells what differs.
//
// In the comments, a consumer was told of a change once the change's events are in the consumer's record. Such
// events may still wait for fn (outbox.go). [Stats].Told counts an event once fn has taken it.
package deliver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// An Event is one event for a program: see [Consumers.Run].
type Event struct {
	ID    string // names this event alone; a repetition has the same ID
	Type  EventType
	Topic presence.Topic
	User  presence.User // only ID and Name are set; zero for a gap

	Since    time.Time // when the user joined, by the store's clock; zero for a gap
	LastSeen time.Time // only for a leave: the last proof of life; zero: unknown or hidden
	Seconds  float64   // only for a leave: from Since to LastSeen; 0 without LastSeen

	At  time.Time // when the event was found, by the clock of the node that found it
	Try int       // 1 for the first call of this node with the event
}

// EventType says what an [Event] reports.
type EventType string

// The types of events.
const (
	Join  EventType = "join"  // a user came into a topic
	Leave EventType = "leave" // a user left; Since is that of the join
	// Gap: joins and leaves of the topic may be missing. Either the store's log does not lead on from the
	// consumer's latest event, or more events waited than are kept. If Topic is a value of [AllOf], topics of
	// that kind may have come and gone without an event.
	Gap EventType = "gap"
)

// Options are for [Consumers.Run]. The zero value is usable.
type Options struct {
	// Lanes is how many calls of fn run at a time, each for a different user or topic.
	// Default: 1.
	Lanes int
	// Most is how many events wait at most. Above that, the oldest ones are dropped, and a gap takes their
	// place. [Stats].Dropped counts them. Default: 10,000.
	Most int
	// MaxTopics is how many topics of kinds ([AllOf]) with users are followed at a time. Further topics wait, and
	// [Stats].Left counts them. While more than half of the places are taken, the kinds of a tenant get no new
	// place beyond the tenant's equal share. A topic takes about 100 bytes.
	// Default: 1,000. More than 10,000 is [presence.ErrInvalidConfig].
	MaxTopics int
}

const maxKindTopics = 10_000

// Run calls fn for each join and leave in topics: at least once in the whole fleet, on one node at a time, and
// in order for each user and topic. Call Run on every node, with the same name and topics. The store keeps the
// consumer's progress under its name: 1-64 bytes of A-Z a-z 0-9 _ - . and the colon. Run blocks until ctx ends, or
// until the node closes ([presence.ErrClosed]). An invalid argument is an error at once: [presence.ErrInvalidConfig]
// or [presence.ErrInvalidTopic].
//
// A new consumer gets the users who are online as joins, and then all that happens. Its first position is in the
// store within a second. A change of status or name is no event. A user who turns invisible leaves. A count-only
// topic has names here, like any other topic.
//
// If the node that calls fn closes, another one goes on within three seconds. If it dies, another one goes on within
// 8 s, or within 13 s of the store's return if the store was out then. The latest events may be repeated, with the
// same IDs.
//
// If fn returns an error or panics, the same event comes again after 1 s, then 2 s, up to 1 min, and later events
// of that user and topic wait for it; [RetryIn] and [GiveUp] choose otherwise. fn must return when its ctx ends. A
// slow or failing fn delays no other consumer, and no page.
//
// If the store lost data, or its log does not reach back to the consumer's latest event, fn gets a [Gap], and then
// the joins and leaves that lead to the present roster. Who is new joins at once. Who is gone leaves after some ten
// seconds, since the nodes need that time to restore who is there. docs/programs.md says what two failures do.
//
// A topic may also stand for all topics of a kind: [AllOf]. Their events are up to two seconds late, and by a second
// more for each further 1,000 topics of the kind that the store lists. The kind has a gap where topics may have
// come and gone without an event: when Options.MaxTopics leaves no room, and again once there is room; when the store
// lost the consumer's record; when no node held the record for 20 s, as in a long restart; and when the leader could
// not look at all topics for 15 s, since the store was out or lists more than some 15,000 topics of the kind.
//
// Run costs the store one round trip a second on each node. The node that leads adds one a second, one for each
// topic with changes, one for all events of about 20 ms, and one a second for each kind. Run keeps about 100 bytes
// for each user online and 500 for each event that waits, in the store and on the node that leads.
func (d *Consumers) Run(ctx context.Context, name string, topics []presence.Topic, o Options, fn func(context.Context, Event) error) error {
	topics = slices.Compact(slices.Sorted(slices.Values(topics)))
	if err := valid(name, topics, o); err != nil {
		return err
	}
	o.Lanes, o.Most = max(o.Lanes, 1), cmp.Or(max(o.Most, 0), 10_000)
	o.MaxTopics = cmp.Or(max(o.MaxTopics, 0), 1_000)
	c := &consumer{
		Consumers: d, name: name, opts: o, fn: fn,
		topics: topics, holder: d.node.Name + "." + rand.Text()[:12], woken: wait.NewWakeup(),
		log: cmp.Or(d.node.Logger, slog.Default()).With(slog.String("consumer", name)),
	}
	d.register(c)
	defer d.unregister(c)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.node.Life, cancel)()
	ended := make(chan struct{})
	if !d.node.Spawn(func(context.Context) { defer close(ended); c.run(ctx) }) {
		return presence.ErrClosed
	}
	<-ended
	if d.node.Life.Err() != nil {
		return presence.ErrClosed
	}
	return ctx.Err()
}

// valid returns what is wrong with the arguments of Run.
func valid(name string, topics []presence.Topic, o Options) error {
	var errs []error
	if len(name) == 0 || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !wire.TopicByte(byte(r)) }) {
		errs = append(errs, fmt.Errorf("%w: a consumer's name must be 1-64 bytes of A-Z a-z 0-9 _ - . and the colon", presence.ErrInvalidConfig))
	}
	if o.MaxTopics > maxKindTopics {
		errs = append(errs, fmt.Errorf("%w: Options.MaxTopics is %d, and %d are allowed", presence.ErrInvalidConfig, o.MaxTopics, maxKindTopics))
	}
	if len(topics) == 0 {
		errs = append(errs, fmt.Errorf("%w: there is no topic to deliver", presence.ErrInvalidConfig))
	}
	for _, topic := range topics {
		kind, all := strings.CutSuffix(string(topic), allSuffix)
		if all && (kind == "" || strings.HasSuffix(kind, wire.TopicSeparator) || strings.Contains(kind, ":")) {
			errs = append(errs, fmt.Errorf("%w: %q is of no kind", presence.ErrInvalidTopic, topic))
		} else if all {
			topic = presence.Topic(kind + ":")
		}
		errs = append(errs, topic.ValidateInside())
	}
	return errors.Join(errs...)
}

// RetryIn returns an error with which the fn of [Consumers.Run] asks for the same event
// again after a duration.
func RetryIn(after time.Duration, err error) error { return &retryError{err, max(after, 0)} }

// GiveUp returns an error with which the fn of [Consumers.Run] gives up an event: the event is not repeated.
// It counts as dropped, and is logged at most once a minute.
func GiveUp(err error) error { return &retryError{err, -1} }

type retryError struct {
	error
	after time.Duration // negative: the event is given up
}

func (e *retryError) Unwrap() error { return e.error }

// retryAfter returns how long an event waits after a failed try, or a negative time if fn gave up the event.
func retryAfter(err error, try int) time.Duration {
	var asked *retryError
	if errors.As(err, &asked) {
		return asked.after
	}
	return min(time.Second<<min(try-1, 10), time.Minute)
}
