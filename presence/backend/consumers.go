package backend

import "time"

// MaxConsumerStep is how many entries one [ConsumerStep] may name.
const MaxConsumerStep = 500

// A ConsumerState is who holds a consumer's record (rule 11). A record is a set of keys and values, which the
// store does not interpret. A holder is one call of track.Tracker.Deliver on one node. It holds the record for a
// time, which each claim and each commit begin anew.
//
// Example: holder A claims a record at 12:00:00 for 6 s, and commits at 12:00:01, again for
// 6 s. A dies. Holder B gets ConsumerTaken until 12:00:07, and then ConsumerHeld. A late
// commit of A gets ConsumerTaken, and changes nothing.
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
