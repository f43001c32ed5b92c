package backend

import (
	"context"
	"time"
)

// A ConsumerStore keeps a record of each consumer of track.Tracker.Deliver: rule 20. All methods
// may be called concurrently, from any number of nodes. Without it a site has no Deliver, and no
// webhooks.
//
// A record is a set of keys and values, which the store does not interpret. One holder at a
// time may write it. A holder is one call of Deliver on one node. It holds the record for a
// time, which each claim and each commit begin anew.
//
// Example: holder A claims a record at 12:00:00 for 6 s, and commits at 12:00:01, again for
// 6 s. A dies. Holder B gets ConsumerTaken until 12:00:07, and then ConsumerHeld. A late
// commit of A gets ConsumerTaken, and changes nothing.
type ConsumerStore interface {
	// ClaimConsumer makes claim.Holder the holder of the record. It is a no-op while
	// another holder has time left, and for a record that is missing unless claim.Create
	// is set. It costs one round trip.
	ClaimConsumer(ctx context.Context, consumer string, claim ConsumerClaim) (ConsumerClaimed, error)

	// CommitConsumer writes entries in one atomic step, and begins the holder's time anew.
	// It is a no-op unless step.Holder holds the record. It costs one round trip.
	CommitConsumer(ctx context.Context, consumer string, step ConsumerStep) (ConsumerState, error)

	// ReadConsumer returns what changed in the record after a version, or the whole record
	// if the store does not know these changes. It costs one round trip. A whole record
	// comes in parts of about 500 entries, each of one more round trip: see
	// [ConsumerChanges].More.
	ReadConsumer(ctx context.Context, consumer string, after ConsumerVersion) (ConsumerChanges, error)
}

// MaxConsumerStep is how many entries one [ConsumerStep] may name.
const MaxConsumerStep = 500

// A ConsumerVersion names one state of a consumer's record. It is opaque. After the empty
// version ReadConsumer returns the whole record.
type ConsumerVersion string

// A ConsumerState is who holds a consumer's record.
type ConsumerState uint8

// The states of a consumer's record, for one holder.
const (
	// ConsumerMissing: there is no record. It is new, or the store lost it, or a step found
	// another record than it expects.
	ConsumerMissing ConsumerState = iota
	ConsumerTaken                 // another holder has it
	ConsumerHeld                  // this holder has it
)

// A ConsumerClaim asks for a consumer's record.
type ConsumerClaim struct {
	Holder string        // unique among all nodes
	For    time.Duration // how long the record is held
	Create bool          // makes an empty record where there is none
}

// A ConsumerClaimed is the answer to a [ConsumerClaim].
type ConsumerClaimed struct {
	State ConsumerState
	Idle  time.Duration // if State is ConsumerHeld: how long the record had no holder before; zero: this holder had it already
}

// A ConsumerStep changes a consumer's record.
type ConsumerStep struct {
	Holder string
	For    time.Duration     // how long the record is held from now on; zero: it is given up
	Set    map[string]string // keys begin with a lower-case letter, and have at most 512 bytes
	Delete []string          // a key that is not there is ignored

	// Expect has entries that the record must have before the step. Without them nothing
	// changes, and the state is ConsumerMissing: the store has lost steps.
	Expect map[string]string
}

// ConsumerChanges lead from one version of a consumer's record to a later one. Apply Set
// first, and then Delete.
type ConsumerChanges struct {
	Missing bool            // there is no record
	Version ConsumerVersion // after the changes
	Whole   bool            // Set is the whole record: entries that it lacks are gone
	Set     map[string]string
	Delete  []string
	More    bool // there are more changes: read again after Version
}
