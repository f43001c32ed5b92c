package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// A node is the parts of one Tracker. Each part knows its own subject and its own mutex.
// The verbs that need several parts (choices, attention, signOuts, leases) hold the node.
type node struct {
	cfg       Config
	process   string // names this process in the fleet, and begins the Holder of each connection
	stats     counters
	life      *lifetime
	store     *timedStore
	outage    *outage         // can the store be trusted
	writer    *writer         // what waits to be written
	users     *users          // what is remembered of each user
	topics    *topics         // the topics that are kept current here
	sources   *sources        // what a connection can read
	peaks     *peaks          // the records of topics
	notices   *notices        // messages to and from all nodes
	seal      *seal           // the secret that signs tokens
	directory *directoryCalls // the site's knowledge of people
	lastSeen  *lastSeen       // what waits to be written to it
	untils    *untils         // when statuses end
	found     found           // mistakes in how the site is wired

	deliveries deliveries // what Go programs were told
}

// await waits until the operations of all acks were applied. It returns ErrClosed, the
// error of ctx, or why an operation was given up.
func (n *node) await(ctx context.Context, acks ...*ack) error {
	defer leave(acks)
	for _, a := range acks {
		select {
		case <-a.done:
			if a.err != nil {
				return a.err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-n.writer.done:
			return presence.ErrClosed
		}
	}
	return nil
}

// shown returns the status that a topic's roster shows of a user; "" if the topic is not
// kept current here, or does not have the user.
func (n *node) shown(topic presence.Topic, user presence.UserID) presence.Status {
	r := n.topics.peek(topic)
	if r == nil {
		return ""
	}
	if view := r.view.Load(); view != nil {
		if e, _ := view.find(user); e != nil {
			return e.Status
		}
	}
	return ""
}

// keepKnown has a topic that is kept here in part know a user from now on, so that this node
// hears when the user leaves.
func (n *node) keepKnown(topic presence.Topic, user presence.UserID) {
	if r := n.topics.peek(topic); r != nil {
		if view := r.view.Load(); view != nil && view.asked != nil {
			view.find(user)
		}
	}
}
