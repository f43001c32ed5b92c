// Package deliver reports joins and leaves to Go programs: at least once in the whole fleet, on one node at a
// time, and in order for each user and topic. A site calls track.Tracker.Deliver, which only wraps this
// package. The package reaches the engine through [Node] alone.
//
// # Files
//
//	deliver.go stats.go forget.go   the entry points: [Consumers.Run], figures, erasures
//	standby.go lead.go new.go       which node leads, and how a consumer begins
//	topic.go kind.go tap.go told.go changes of the topics, and how they become events
//	lookout.go                      times in which a leader may have missed something
//	outbox.go entry.go node.go      events that wait for fn; the record in the store; what it needs of the engine
//
// In the comments, a consumer was told of a change once the change's events are in the consumer's record. Such
// events may still wait for fn. [Stats].Told counts an event later, once fn has taken it.
package deliver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// An Event is one event for a program: see [Consumers.Run].
type Event struct {
	// ID identifies the event. A repetition has the same ID. For one session of a user in a topic there is one
	// ID of its join, and one of its leave.
	ID    string
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
	// Gap: joins and leaves of the topic may be missing. Either the store's log does not reach back to the
	// consumer's latest event, or more events waited than are kept. If Topic is a value of [AllOf], topics of
	// that kind may have come and gone without an event. After a gap of the log come the leaves and joins that
	// lead to the present roster. Events that were dropped because too many waited are not repeated.
	Gap EventType = "gap"
)

// Options are for [Consumers.Run]. The zero value is usable.
type Options struct {
	// Lanes is how many calls of fn run at a time, each for a different user or topic.
	// Default: 1.
	Lanes int
	// Most is how many events wait at most. Above that, the oldest ones are dropped, and a gap takes their
	// place. [Stats].Dropped counts them. An event takes about 500 bytes, in the store and on each node.
	// Default: 10,000.
	Most int
	// MaxTopics is how many topics of kinds ([AllOf]) are followed at a time. Neither named topics nor empty
	// ones count. Further topics wait until followed ones are empty, and [Stats].Left counts them. While more
	// than half of the places are taken, the kinds of a tenant get no new place beyond the tenant's equal
	// share. Visitors have no shares, since the store does not know who opened a topic: see
	// track.Config.MaxTopicsPerConnection. A topic takes about 100 bytes, in the store and on each node. So
	// does an empty topic while its log is kept; there are at most 10,000 of these.
	// Default: 1,000. More than 10,000 is [presence.ErrInvalidConfig].
	MaxTopics int
}

// defaultWaiting is the default of Options.Most, and defaultKindTopics that of MaxTopics.
const (
	defaultWaiting    = 10_000
	defaultKindTopics = 1_000
	maxKindTopics     = 10_000
)

// Run calls fn for each join and leave in topics: at least once in the whole fleet, on one node at a time, and
// in order for each user and topic. name is the name of the consumer: 1-64 bytes of A-Z a-z 0-9 _ - . and the
// colon. The store keeps the consumer's progress under it. Call Run on every node, with the same name and
// topics. Run blocks until ctx ends, or until the node closes ([presence.ErrClosed]). An invalid argument is
// an error at once: [presence.ErrInvalidConfig] or [presence.ErrInvalidTopic]. So is a store that is no
// [backend.ConsumerStore], or for [AllOf] no [backend.StaffStore]: [errors.ErrUnsupported].
//
//	topics := []presence.Topic{presence.Site}
//	go tracker.Deliver(ctx, "mailer", topics, deliver.Options{}, func(ctx context.Context, e deliver.Event) error {
//		…
//	})
//
// One node calls fn. If that node dies, another one takes over within 9 s. If the store was out, or lost data,
// at about that time, it takes over within 11 s of the store's last trouble. If the node closes, another one takes
// over within three seconds, or within seven if that one has just begun. The new node continues where the old
// one stopped, and may repeat the latest events, with the same IDs. If a failover of the store loses more than
// the last second, and a node took over in that time, two nodes may call fn for up to a second, or for up to
// five if the first one does not reach the store then.
//
// A new consumer gets the users who are online as joins, after some seconds. It also gets all that happened in
// those seconds, even if each node that called Run has ended by then. If the store is unreachable until these
// nodes end, the consumer stays new. A change of status or name is no event. A user who turns invisible leaves.
// A count-only topic has names here, like any other topic.
//
// If fn returns an error or panics, the same event comes again after 1 s, then 2 s, up to
// 1 min, and later events of that user and topic wait for it; [RetryIn] and [GiveUp]
// choose otherwise. fn must return when its ctx ends. A slow or failing fn delays no other
// consumer, and no page.
//
// If the store lost its data, or its log does not reach back to the consumer's latest event, fn is called with
// a [Gap], and then with the joins and leaves that lead to the present roster. Users who stayed are not among
// them. If the store began with an older file in which nothing differs, there is a gap only if no node had
// looked at the topics within two seconds before; else events of these two seconds may be missing. If the node
// that calls fn also ended or was cut off at about that time, the events of its last second may be repeated
// with other IDs: the last one in which the store answered. If the node that takes over was cut off too, the
// same is true of all events until it took over. A user who left and came back in that time then has one ID for
// that leave and for the next one. If no node is left that knew the consumer, the consumer is new.
//
// A topic may also stand for all topics of a kind: [AllOf]. The promises are the same, with these differences.
// An event is up to two seconds late. It is later where the store lists more than 1,000 topics of the kind,
// guests' topics included: by a second for each further 1,000. At most Options.MaxTopics are followed at a
// time. The events of a topic without room come later, as far as its log reaches back. The kind has a gap
// where topics may have come and gone without an event: when room runs out, and again once there is room; when
// the store loses the consumer's record; when it loses data, and no node had looked at the topics just before;
// when no node held the record for 20 s, as in a long restart; and when the leader could not look at all
// topics for 15 s, since the store was unreachable or has more than some 15,000 topics of the kind. If a user
// came into a new topic and left it within the last two seconds before the store lost its data, there is no
// event.
//
//	topics := []presence.Topic{presence.Site, deliver.AllOf("thread")}
//
// Run costs the store two round trips a second on each node. On the node that calls fn it costs one more for a
// topic with changes, and one for all events of about 20 ms. Each node follows the named topics, as if one of
// its pages showed them. A kind costs the node that calls fn three round trips a second more, and one for each
// of its topics with changes. Run keeps about 200 bytes for each user online and 500 for each event that
// waits, in the store and on each node.
func (d *Consumers) Run(ctx context.Context, name string, topics []presence.Topic, o Options, fn func(context.Context, Event) error) error {
	topics = slices.Compact(slices.Sorted(slices.Values(topics)))
	if err := valid(name, topics, o); err != nil {
		return err
	}
	if err := backend.Require(d.node.Store, needs(topics)); err != nil {
		return err
	}
	o.Lanes, o.Most = max(o.Lanes, 1), cmp.Or(max(o.Most, 0), defaultWaiting)
	o.MaxTopics = cmp.Or(max(o.MaxTopics, 0), defaultKindTopics)
	c := &consumer{
		node: &d.node, name: name, opts: o, fn: fn,
		holder: d.node.Name + "." + rand.Text()[:12],
		stats:  d.of(name),
		woken:  wait.NewWakeup(),
	}
	for _, topic := range topics {
		if isAll(topic) {
			c.allOf = append(c.allOf, topic)
		} else {
			c.topics = append(c.topics, topic)
		}
	}
	d.begin(c)
	defer d.end(c)
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

// needs returns the features that a store must have for a consumer of topics.
func needs(topics []presence.Topic) backend.Features {
	if slices.ContainsFunc(topics, isAll) {
		return backend.FeatureConsumers | backend.FeatureStaff
	}
	return backend.FeatureConsumers
}

func valid(name string, topics []presence.Topic, o Options) error {
	errs := []error{validConsumer(name)}
	if o.MaxTopics > maxKindTopics {
		errs = append(errs, fmt.Errorf("%w: Options.MaxTopics is %d, and %d are allowed", presence.ErrInvalidConfig, o.MaxTopics, maxKindTopics))
	}
	if len(topics) == 0 {
		errs = append(errs, fmt.Errorf("%w: there is no topic to deliver", presence.ErrInvalidConfig))
	}
	for _, topic := range topics {
		if isAll(topic) {
			errs = append(errs, validateAll(topic))
		} else {
			errs = append(errs, topic.ValidateInside())
		}
	}
	return errors.Join(errs...)
}

// RetryIn returns an error with which the fn of [Consumers.Run] asks for the same event
// again after a duration.
func RetryIn(after time.Duration, err error) error { return &retryError{err, after} }

// GiveUp returns an error with which the fn of [Consumers.Run] gives up an event: the event is not repeated.
// It counts as dropped, and is logged at most once a minute.
func GiveUp(err error) error { return &giveUpError{err} }

type retryError struct {
	error
	after time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

type giveUpError struct{ error }

func (e *giveUpError) Unwrap() error { return e.error }

// Waits before the same event is delivered again.
const (
	retryFirst = time.Second
	retryLast  = time.Minute
)

// retryAfter returns how long an event waits after a failed try. It returns false if fn gave up the event.
func retryAfter(err error, try int) (time.Duration, bool) {
	var gone *giveUpError
	var later *retryError
	switch {
	case errors.As(err, &gone):
		return 0, false
	case errors.As(err, &later):
		return max(later.after, 0), true
	}
	return min(retryFirst<<min(try-1, 10), retryLast), true
}

// maxConsumerLen is the length of the longest name of a consumer, in bytes.
const maxConsumerLen = 64

// validConsumer returns an error if the name is not valid for a consumer.
func validConsumer(name string) error {
	if len(name) == 0 || len(name) > maxConsumerLen || strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !wire.TopicByte(byte(r)) }) {
		return fmt.Errorf("%w: a consumer's name must be 1-%d bytes of A-Z a-z 0-9 _ - . and the colon", presence.ErrInvalidConfig, maxConsumerLen)
	}
	return nil
}
