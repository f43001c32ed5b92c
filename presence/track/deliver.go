package track

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

// A Delivery is one event for a program: see [Tracker.Deliver].
type Delivery struct {
	// ID names the event. A repetition has the same ID: for one session of a user in a
	// topic there is one ID of its join, and one of its leave.
	ID    string
	Type  DeliveryType
	Topic presence.Topic
	User  presence.User // only ID and Name are set; zero for a gap

	Since    time.Time // when the user joined, by the store's clock; zero for a gap
	LastSeen time.Time // only for a leave: the last proof of life; zero: not told
	Seconds  float64   // only for a leave: from Since to LastSeen; 0 if that is not told

	At  time.Time // when the event was found, by the clock of the node that found it
	Try int       // 1 for the first call of this node with the event
}

// DeliveryType says what a [Delivery] tells.
type DeliveryType string

// The types of deliveries.
const (
	DeliveredJoin  DeliveryType = "join"  // a user came into a topic
	DeliveredLeave DeliveryType = "leave" // a user left; Since is that of the join
	// DeliveredGap: joins and leaves of the topic may be missing. Either the store's log
	// does not reach back to what the consumer was told last, or more events waited than
	// are kept. A gap whose Topic is that of [AllOf] is one of the kind: topics may have come
	// and gone untold. After a gap of the log come the leaves and joins that lead to the roster
	// as it is. The events that were dropped because too many waited do not come again.
	DeliveredGap DeliveryType = "gap"
)

// DeliverOptions are for [Tracker.Deliver]. The zero value is usable.
type DeliverOptions struct {
	// Lanes is how many calls of fn run at a time, each for a different user or topic.
	// Default: 1.
	Lanes int
	// Most is how many events wait at most. Over that the oldest ones are dropped, and a
	// gap stands in their place: [DeliveryStats].Dropped counts them. An event takes about
	// 500 bytes, in the store and on each node.
	// Default: 10,000.
	Most int
	// MaxTopics is how many topics of kinds ([AllOf]) are followed at a time. Named topics do
	// not count, nor do topics in which nobody is any more. Further ones wait until others are
	// empty, and [DeliveryStats].Left counts them. While more than half of the places are taken, a
	// tenant among the kinds gets no new one beyond an equal share. A visitor has no share, since
	// the store does not know who opened a topic: see [Config].MaxTopicsPerConnection. Each takes about 100 bytes, in the store and on
	// each node, and so does an empty one while its log stays, of which there are 10,000 at most.
	// Default: 1,000. More than 10,000 is [presence.ErrInvalidConfig].
	MaxTopics int
}

// defaultWaiting is the default of DeliverOptions.Most, and defaultKindTopics that of MaxTopics.
const (
	defaultWaiting    = 10_000
	defaultKindTopics = 1_000
	maxKindTopics     = 10_000
)

// deliver is [Tracker.Deliver].
func (d *deliveries) deliver(ctx context.Context, name string, topics []presence.Topic, o DeliverOptions, fn func(context.Context, Delivery) error) error {
	topics = slices.Compact(slices.Sorted(slices.Values(topics)))
	if err := validDelivery(name, topics, o); err != nil {
		return err
	}
	if err := backend.Require(d.store, deliveryNeeds(topics)); err != nil {
		return err
	}
	o.Lanes, o.Most = max(o.Lanes, 1), cmp.Or(max(o.Most, 0), defaultWaiting)
	o.MaxTopics = cmp.Or(max(o.MaxTopics, 0), defaultKindTopics)
	c := &consumer{
		cfg: d.cfg, store: d.store, outage: d.outage, name: name, opts: o, fn: fn,
		holder: d.cfg.Node + "." + rand.Text()[:12],
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
	defer context.AfterFunc(d.life.ctx, cancel)()
	ended := make(chan struct{})
	if !d.life.spawn(func(context.Context) { defer close(ended); c.run(ctx) }) {
		return presence.ErrClosed
	}
	<-ended
	if d.life.over() {
		return presence.ErrClosed
	}
	return ctx.Err()
}

// deliveryNeeds returns what a store must be able to do for a consumer of topics.
func deliveryNeeds(topics []presence.Topic) backend.Features {
	if slices.ContainsFunc(topics, isAll) {
		return backend.FeatureConsumers | backend.FeatureStaff
	}
	return backend.FeatureConsumers
}

func validDelivery(name string, topics []presence.Topic, o DeliverOptions) error {
	errs := []error{validConsumer(name)}
	if o.MaxTopics > maxKindTopics {
		errs = append(errs, fmt.Errorf("%w: DeliverOptions.MaxTopics is %d, and %d are allowed", presence.ErrInvalidConfig, o.MaxTopics, maxKindTopics))
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

// RetryIn returns an error with which the fn of [Tracker.Deliver] asks for the same event
// again after a duration.
func RetryIn(after time.Duration, err error) error { return &retryError{err, after} }

// GiveUp returns an error with which the fn of [Tracker.Deliver] gives an event up: the event
// does not come again. It is counted as dropped, and logged at most once a minute.
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

// retryAfter returns how long an event waits after a failed try. It returns false if fn gave
// the event up.
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

// validConsumer returns an error for a name that no consumer may have.
func validConsumer(name string) error {
	if len(name) == 0 || len(name) > maxConsumerLen || strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !wire.TopicByte(byte(r)) }) {
		return fmt.Errorf("%w: a consumer's name must be 1-%d bytes of A-Z a-z 0-9 _ - . and the colon", presence.ErrInvalidConfig, maxConsumerLen)
	}
	return nil
}
