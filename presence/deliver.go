package presence

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Delivery is one event for a program: see [Tracker.Deliver].
type Delivery struct {
	// ID names the event. A repetition has the same ID. The join and the leave of one
	// session of a user in a topic each have one ID, however often they are found.
	ID    string
	Type  DeliveryType
	Topic Topic
	User  User // ID and Name alone; zero in a gap

	Since    time.Time // when the user joined, by the store's clock
	LastSeen time.Time // of a leave: the last proof of life
	Seconds  float64   // of a leave: from Since to LastSeen

	At  time.Time // when the event was found, by the clock of the node that found it
	Try int       // 1 for the first call of this node with the event
}

// DeliveryType says what a [Delivery] tells.
type DeliveryType string

// The types of deliveries.
const (
	DeliveredJoin  DeliveryType = "join"  // a user came into a topic
	DeliveredLeave DeliveryType = "leave" // a user left; Since is that of the join
	// DeliveredGap: joins and leaves of the topic may be missing, since the store's log
	// does not reach back, or since more events waited than are kept. What comes
	// after it is right again: users who are gone leave, and users who are new join.
	DeliveredGap DeliveryType = "gap"
)

// DeliverOptions are for [Tracker.DeliverWith].
type DeliverOptions struct {
	// Consumer names who is told, in the whole fleet: 1-64 bytes of A-Z a-z 0-9 _ - . and
	// the colon. Required.
	Consumer string
	// Topics are the topics it is told of, the same on every node. Required.
	Topics []Topic
	// Lanes is how many calls of fn run at a time, each for another user or topic.
	// Default: 1.
	Lanes int
	// Most is how many events wait at most. Over it the oldest go, and a gap is told.
	// Default: 10,000.
	Most int
}

// defaultWaiting is the default of DeliverOptions.Most.
const defaultWaiting = 10_000

// Deliver calls fn for each join and leave in topics: at least once in the whole fleet, on
// one node at a time, and for each user and topic in order. It blocks until ctx ends, or
// the Tracker closes ([ErrClosed]), or returns an error that is [ErrInvalidConfig] or
// [ErrInvalidTopic] at once. Call it on every node, with the same topics:
//
//	go tracker.Deliver(ctx, "mailer", []presence.Topic{presence.Site}, func(ctx context.Context, d presence.Delivery) error {
//		…
//	})
//
// One node holds the consumer and calls fn; another one takes over within 8 s if it dies,
// and at once if it closes. What the consumer was told is kept in the store, so it goes on
// where it was; a node that took over may repeat the latest events, with their IDs. Users
// who are there when a consumer is first named are told as joins, after some seconds. A
// change of status or name is no event, and going invisible is a leave.
//
// If fn returns an error or panics, the same event comes again after 1 s, then 2 s, up to
// 1 min, and later events of that user and topic wait for it; [RetryIn] and [GiveUp]
// choose otherwise. fn must return when its ctx ends. A slow or failing fn delays no other
// consumer, and no page.
//
// If the log does not reach back to where the consumer was, or the store lost its data,
// fn is told of a gap, and then of the difference. Users who stayed are not mentioned.
//
// Deliver costs the store two round trips a second on each node, and on the node that calls
// fn one more for a topic with changes, and one for all events of about 20 ms. Each node
// follows the topics, as if it showed them. Deliver keeps about 200 bytes for each user
// online and 500 for each event that waits, in the store and on each node.
func (t *Tracker) Deliver(ctx context.Context, consumer string, topics []Topic, fn func(context.Context, Delivery) error) error {
	return t.DeliverWith(ctx, DeliverOptions{Consumer: consumer, Topics: topics}, fn)
}

// DeliverWith is [Tracker.Deliver] with options.
func (t *Tracker) DeliverWith(ctx context.Context, o DeliverOptions, fn func(context.Context, Delivery) error) error {
	o.Lanes, o.Most = max(o.Lanes, 1), cmp.Or(max(o.Most, 0), defaultWaiting)
	o.Topics = slices.Clone(o.Topics)
	slices.Sort(o.Topics)
	o.Topics = slices.Compact(o.Topics)
	if err := o.validate(); err != nil {
		return err
	}
	c := &consumer{
		node: t.node, opts: o, fn: fn,
		holder: t.cfg.Node + "." + rand.Text()[:12],
		stats:  t.deliveries.of(o.Consumer),
		woken:  make(chan struct{}, 1),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.life.ctx, cancel)()
	ended := make(chan struct{})
	if !t.life.spawn(func(context.Context) { defer close(ended); c.run(ctx) }) {
		return ErrClosed
	}
	<-ended
	if t.life.over() {
		return ErrClosed
	}
	return ctx.Err()
}

func (o DeliverOptions) validate() error {
	errs := []error{validConsumer(o.Consumer)}
	if len(o.Topics) == 0 {
		errs = append(errs, fmt.Errorf("%w: there is no topic to deliver", ErrInvalidConfig))
	}
	for _, topic := range o.Topics {
		_, err := ParseTopic(string(topic))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// RetryIn returns an error with which the fn of [Tracker.Deliver] asks for the same event
// again after a duration.
func RetryIn(after time.Duration, err error) error { return &retryError{err, after} }

// GiveUp returns an error with which the fn of [Tracker.Deliver] asks for an event no more.
// It is counted as dropped, and logged once a minute.
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

// retryAfter returns when an event comes again after its try failed. It returns false if
// it is given up.
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
