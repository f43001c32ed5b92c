package track

import (
	"context"
	"iter"

	"github.com/rollcall-go/rollcall/presence"
)

// Connect opens a connection. Before it returns, the user's leases are made and seen in
// the rosters here, so that the first state holds the user. Connect waits for that as long
// as the store needs, two seconds at most, and then goes on without it.
//
// It returns [presence.ErrInvalidTopic] without a topic, [presence.ErrTooManyTopics],
// [presence.ErrTooManyTopicsHere], [presence.ErrTooManyConnections], [presence.ErrBarred], [presence.ErrSignedOut] if the user signed out since ConnectOptions.Identified, an error that is [presence.ErrInvalidUser],
// [presence.ErrGuest] or [presence.ErrTooManyPeople] for [presence.PeopleTopic], [presence.ErrStoreOut] if nothing is known of a topic, or if
// so much waits for the store that it takes no more of the user, [presence.ErrClosed], or the error of ctx. Then
// nothing was recorded, except if ctx ended while the leases were being made: then the
// user stays for the grace.
func (t *Tracker) Connect(ctx context.Context, o ConnectOptions) (*Connection, error) {
	return t.opener.open(ctx, o)
}

// Pass checks a token, and returns [presence.ErrForeignToken] for one that this fleet did not make.
// It may be called concurrently, and asks neither the store nor the site. On a node that has
// just started it waits until the fleet's secret is known, and returns [presence.ErrStoreOut] if ctx
// ends before, or [presence.ErrClosed].
//
// Cost: about 1 µs for the connection of this node.
func (t *Tracker) Pass(ctx context.Context, token presence.Token) (Pass, error) {
	return t.tokens.pass(ctx, token)
}

// Beat renews the leases of a page's connection, whichever node has it. It returns false
// if the connection is gone, or if by is another visitor than the connection's: the page
// connects again. With a Visitor of whom only the Tenant is known, the token alone is checked.
//
// For a connection of this node Beat waits for nothing, for another node's it costs one
// round trip. The connection of a guest or an observer has no leases, so another node
// returns true.
//
// It returns an error that is [presence.ErrForeignToken], at no cost to the store, or
// [presence.ErrStoreOut].
func (t *Tracker) Beat(ctx context.Context, token presence.Token, by presence.Visitor, page Page) (alive bool, err error) {
	return t.tokens.beatBy(ctx, token, by, page)
}

// Leave ends a page's connection, whichever node has it, and holds its user for the grace.
// It does nothing when called again, or for a visitor who is not the connection's (see
// Beat). Leave returns when this node knows; the store is told in the background. Its error is [presence.ErrForeignToken], or
// says that the connection's node was not told and finds out by itself.
func (t *Tracker) Leave(ctx context.Context, token presence.Token, by presence.Visitor) error {
	return t.tokens.leaveBy(ctx, token, by)
}

// Changes yields the changes of a topic to a Go program, as events do to a page: those
// after a cursor, or the current state first if the cursor is empty. It ends when ctx
// does or the loop breaks, with [presence.ErrClosed] when the tracker closes, and with
// [presence.ErrStoreOut] if nothing is known of the topic. A slow loop body delays no other
// reader: if it falls out of the log, it gets a state instead of what it missed.
//
//	for change, err := range tracker.Changes(ctx, presence.Site, "") {
//		…
//	}
func (t *Tracker) Changes(ctx context.Context, topic presence.Topic, from presence.Cursor) iter.Seq2[Change, error] {
	return changesOf(ctx, t.opener, topic, from)
}

// Deliver calls fn for each join and leave in topics: at least once in the whole fleet, on
// one node at a time, and in order for each user and topic. name is that of the consumer, under
// which the store keeps what fn was told: 1-64 bytes of A-Z a-z 0-9 _ - . and the colon. Call
// Deliver on every node, with the same name and topics. It blocks until ctx ends, or until the
// Tracker closes ([presence.ErrClosed]). An invalid argument is an error at once: [presence.ErrInvalidConfig] or
// [presence.ErrInvalidTopic]. So is a store that is no [backend.ConsumerStore], or for [AllOf] no
// [backend.StaffStore]: [errors.ErrUnsupported].
//
//	topics := []presence.Topic{presence.Site}
//	go tracker.Deliver(ctx, "mailer", topics, track.DeliverOptions{}, func(ctx context.Context, d track.Delivery) error {
//		…
//	})
//
// One node calls fn. If that node dies, another one takes over within 8 s; if it closes,
// within a second or two, and one that has just begun within six. The new node goes on where the
// consumer was, and may repeat the latest events, with the same IDs. A consumer that is new is
// told of the users who are online as joins, after some seconds, and of all that happened
// meanwhile, also if each node that called Deliver has ended by then. If the store is out all the time until they end, the
// consumer stays new. A change of status or name is no event. A user who turns invisible
// leaves. A count-only topic has names here as any other.
//
// If fn returns an error or panics, the same event comes again after 1 s, then 2 s, up to
// 1 min, and later events of that user and topic wait for it; [RetryIn] and [GiveUp]
// choose otherwise. fn must return when its ctx ends. A slow or failing fn delays no other
// consumer, and no page.
//
// If the store lost its data, or its log does not reach back to what the consumer was told
// last, fn is called with a [DeliveredGap], and then with the joins and leaves that lead to
// the roster as it is. Users who stayed are not among them. If the node that calls fn also ended
// or was cut off about then, what it told in the last second may come again with other IDs. If
// the node that goes on was cut off too, so may what was told meanwhile; and the next leave of a user
// who left and came back meanwhile has the ID of that leave. If no node is left that knew the
// consumer, the consumer is new.
//
// Among topics may be all topics of a kind: [AllOf]. The promises are the same, with these
// differences. An event is up to two seconds late, and later where the store lists more than
// 1,000 topics of the kind, guests' topics included: by a second for each further 1,000. At most
// DeliverOptions.MaxTopics are followed at a time; a topic for which there is no room is told of
// later, as far as its log reaches back. The kind has a gap where topics may have come and gone
// untold: as there is no room, and again once there is; where the store loses the consumer's
// record; where no node held the record for 20 s, as in a long restart; and where the leader
// could not look at all topics for 15 s, since the store was out or has more than some 15,000
// topics of the kind. Who came into a new topic and left it within the last two seconds before
// the store lost its data is not told.
//
//	topics := []presence.Topic{presence.Site, track.AllOf("thread")}
//
// Deliver costs the store two round trips a second on each node, and on the node that calls
// fn one more for a topic with changes, and one for all events of about 20 ms. Each node
// follows the named topics, as if it showed them. A kind costs the node that calls fn three round
// trips a second more, and one for each of its topics with changes. Deliver keeps about 200 bytes for each user
// online and 500 for each event that waits, in the store and on each node.
func (t *Tracker) Deliver(ctx context.Context, name string, topics []presence.Topic, o DeliverOptions, fn func(context.Context, Delivery) error) error {
	return t.deliveries.deliver(ctx, name, topics, o, fn)
}

// Serve has a LineSource open the topics of some kinds (see [presence.Topic.Kind]) in place of rosters.
// Call it before the first connection is opened. It returns [presence.ErrInvalidConfig] for a kind
// that is served already.
func (t *Tracker) Serve(s LineSource, kinds ...string) error { return t.sources.serve(s, kinds) }

// Serves reports whether a topic is kept by a [LineSource], or is [presence.PeopleTopic], and so has no
// roster.
func (t *Tracker) Serves(topic presence.Topic) bool {
	return t.sources.serves(topic)
}

// Hint sends a short text to the Sources of every node, this one included. It may be lost, and
// may arrive twice. It has at most 2 KiB of UTF-8, and nothing private beyond the names
// of topics. Cost: one round trip.
func (t *Tracker) Hint(ctx context.Context, hint string) error {
	return sendHint(ctx, t.store, t.cfg.Node, hint)
}

// NewLine returns a line at a version. wanted is called when a reader needs a state that is
// not in memory: it must not block, and should lead to a call of Replace soon.
func (t *Tracker) NewLine(topic presence.Topic, v LineVersion, wanted func()) *Line {
	return newLine(topic, v, wanted, t.stats)
}

// Signal sends a signal to all who read a topic now, on every node: the site's with an empty
// From, or one in the name of a user. It never waits. Within 50 ms the latest signal of a type
// and sender counts. Under pressure, and while the store is out, signals are dropped and
// counted. It returns an error that is [presence.ErrInvalidSignal], or [errors.ErrUnsupported] if
// the store is no [backend.BroadcastStore], and then nothing was sent. A topic that is no roster has
// no signals: they go nowhere.
func (t *Tracker) Signal(topic presence.Topic, s presence.Signal) error {
	return t.signals.signal(topic, s)
}

// Whisper is Signal for a visitor, whose names are those of inside: From is the visitor's,
// whatever s says (rule S6). It returns [presence.ErrGuest], [presence.ErrInvalidSignal], [presence.ErrNotThere] for a user
// whom the topic's roster does not show (rule S1), or what [Tracker.View] returns where nothing
// is known of the topic. It reads memory if the topic is kept here.
func (t *Tracker) Whisper(ctx context.Context, v presence.Visitor, topic presence.Topic, s presence.Signal) error {
	return t.signals.whisper(ctx, v, topic, s)
}

// Standing returns the signals that stand in a topic now, as far as this node knows: each with
// the rest of its For, in the order in which they began. From and the topic have the names of
// inside. It reads memory only, and returns nil for a topic that is not kept here.
func (t *Tracker) Standing(topic presence.Topic) []presence.Signal {
	return t.topics.standing(topic)
}
