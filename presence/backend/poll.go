package backend

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Poll is what a node says, and asks, in [Store.Poll].
type Poll struct {
	// Process is the node's process, and Gen its generation. With no process and no term, a poll only asks.
	Process string
	Gen     int32

	// Term is for how long the lease of the process lasts from now on (rule 7). A term of 0 ends the lease: the
	// process has released what hung on it, and no sweep of that follows.
	Term time.Duration

	// Before is for how long the generations before last from now on; 0: as it was said before.
	Before time.Duration

	// Mark is that of the latest answer; empty: there was none.
	Mark string
}

// Polled is the answer to a [Poll].
type Polled struct {
	// Alive is false if the store knew no lease of the process, or a sweep has begun to end what hangs on it:
	// then the node must write what it holds again, in the next generation.
	Alive bool

	// Next is how long it takes until the next lease of any process lapses, if it is not renewed before; 0 or
	// less: one has lapsed. Until then a sweep need not look at processes.
	Next time.Duration

	// Nodes is how many nodes share the store now. A node that was killed may still count, and one that has
	// closed does not. A store that only one process can use says 0.
	Nodes int

	// Changes are the topics whose [Counts] changed since Poll.Mark. A change may be lost if the node that made it,
	// or the store, ends at that moment. So a node asks for the figures of every topic once in a minute, too.
	Changes Changes

	// Erasures says that the list of this store has an erasure that can be claimed.
	Erasures bool
}

// Changes say which topics changed (rule 12). track.Tracker.Changes, joins and leaves for programs, is another thing.
type Changes struct {
	Mark   string           // for the next poll; empty: the store cannot tell
	All    bool             // every topic may have changed, and Topics is empty: the mark is not known, or too old
	Topics []presence.Topic // those that changed, and perhaps others
}
