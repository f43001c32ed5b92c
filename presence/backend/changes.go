package backend

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// A ChangeTeller is a [Core] that can tell which topics' figures changed, without being asked for each topic. A
// store need not be one: a node then asks for the figures of each topic that it follows, at least once a second.
// The engine asks in figure_changes.go. track.Tracker.Changes, joins and leaves for programs, is another thing.
type ChangeTeller interface {
	// Changes returns the topics whose [Counts] may have changed since the call that returned a mark. An empty
	// mark is that of no call. A topic that changed is among them unless All is true, and topics that did not
	// change may be. A change may be lost if the node that made it, or the store, ends at that moment. So a node
	// asks for the figures of every topic once in a minute, too. It costs one round trip.
	Changes(ctx context.Context, mark string) (Changes, error)
}

// Changes are what a [ChangeTeller] answers.
type Changes struct {
	Mark   string // for the next call; empty: the store cannot tell
	All    bool   // every topic may have changed, and Topics is empty: the mark is not known, or too old
	Topics []presence.Topic
}
