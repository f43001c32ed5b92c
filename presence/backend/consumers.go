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

	// ReadConsumer returns the whole record; nil if there is none. A record that another
	// holder writes meanwhile may be returned in part as it was and in part as it became. It
	// costs a round trip for every 500 entries.
	ReadConsumer(ctx context.Context, consumer string) (map[string]string, error)
}

// MaxConsumerStep is how many entries one [ConsumerStep] may name.
const MaxConsumerStep = 500

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
