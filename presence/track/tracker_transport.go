package track

import (
	"context"
	"iter"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// Connect opens a connection. Before it returns, the user's leases are made and the rosters here have the
// user, so that the first state contains the user. Connect waits for that as long as the store needs, two
// seconds at most, and then goes on without it. The caller must have asked whether the visitor may see the
// topics, and must ask again while the connection is open.
//
// It returns [presence.ErrInvalidTopic] without a topic, [presence.ErrTooManyTopics],
// [presence.ErrTooManyTopicsHere], [presence.ErrTooManyConnections], [presence.ErrBarred],
// [presence.ErrClosed], or the error of ctx. It returns [presence.ErrSignedOut] if the user signed out since
// ConnectOptions.Identified, and an error that is [presence.ErrInvalidUser]. For [presence.PeopleTopic] it
// may return [presence.ErrGuest] or [presence.ErrTooManyPeople]. It returns [presence.ErrStoreOut] if nothing
// is known of a topic, or if too much of the user waits for the store. After an error nothing was recorded,
// except if ctx ended while the leases were being made: then the user stays for the grace.
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

// Leave ends a page's connection, whichever node has it, and holds its user for the grace. It is a no-op when
// called again, or for a visitor who is not the connection's (see Beat). Leave returns when this node knows;
// the store is told in the background. Its error is [presence.ErrForeignToken], or says that the connection's
// node could not be told. That node then notices by itself.
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

// Deliver calls fn for each join and leave in topics, at least once in the whole fleet: see
// [deliver.Consumers.Run]. It returns [presence.ErrClosed] once the Tracker closes.
func (t *Tracker) Deliver(ctx context.Context, name string, topics []presence.Topic, o deliver.Options, fn func(context.Context, deliver.Event) error) error {
	return t.deliveries.Run(ctx, name, topics, o, fn)
}

// Serve makes a LineSource open the topics of some kinds (see [presence.Topic.Kind]), which are then not
// rosters. Call it before the first connection is opened. It returns [presence.ErrInvalidConfig] for a kind
// that has a LineSource already.
func (t *Tracker) Serve(s LineSource, kinds ...string) error { return t.sources.serve(s, kinds) }

// Serves reports whether a topic has no roster, because a [LineSource] keeps it or because it is
// [presence.PeopleTopic].
func (t *Tracker) Serves(topic presence.Topic) bool {
	return t.sources.serves(topic)
}

// Hint sends a short text to each [LineSource] of every node, this one included. It may be lost, and
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

// Signal sends a signal to everyone who reads a topic now, on every node. From is empty for a signal of the
// site, or the user in whose name it is sent. Signal never waits. Of several signals with the same type and
// sender within 50 ms, only the latest is sent. Under pressure, and while the store is out, signals are
// dropped and counted. The error is [presence.ErrInvalidSignal]. Signals in a topic without a roster are dropped.
func (t *Tracker) Signal(topic presence.Topic, s presence.Signal) error {
	return t.signals.signal(topic, s)
}

// Whisper is Signal for a visitor with names inside: From is the visitor, whatever s says (rule S6). It
// returns [presence.ErrGuest], [presence.ErrInvalidSignal], [presence.ErrNotThere] for a user whom the
// topic's roster does not show (rule S1), or the error of [Tracker.View] if nothing is known of the topic. It
// only reads memory if the topic is kept here.
func (t *Tracker) Whisper(ctx context.Context, v presence.Visitor, topic presence.Topic, s presence.Signal) error {
	return t.signals.whisper(ctx, v, topic, s)
}

// Standing returns the signals that stand in a topic now, as far as this node knows: each with its remaining
// For, in the order in which they began. From and the topic are names inside. It only reads memory, and
// returns nil for a topic that is not kept here.
func (t *Tracker) Standing(topic presence.Topic) []presence.Signal {
	return t.topics.standing(topic)
}
