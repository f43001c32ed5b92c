package presence

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Consumers is the part of a [Store] that remembers what each consumer of [Tracker.Deliver]
// was told: rule 20. All methods may be called concurrently, from any number of nodes.
//
// A consumer's record is a set of entries, each a key and a value, which the store does not
// interpret. One holder at a time may write them, until a moment that it keeps moving. A
// holder is one call of Deliver on one node.
type Consumers interface {
	// ClaimConsumer makes a holder the one that may write the record, unless another
	// holder's time is not over. It costs one round trip.
	ClaimConsumer(ctx context.Context, consumer string, claim ConsumerClaim) (ConsumerClaimed, error)

	// CommitConsumer writes entries in one atomic step, and moves the end of the
	// holder's time. It changes nothing unless the record is held by that holder. It
	// costs one round trip.
	CommitConsumer(ctx context.Context, consumer string, step ConsumerStep) (ConsumerState, error)

	// ReadConsumer returns what changed in the record after a version, or the whole
	// record where that is unknown. It costs one round trip, and one more for about
	// 500 entries of a whole record.
	ReadConsumer(ctx context.Context, consumer string, after ConsumerVersion) (ConsumerChanges, error)
}

// MaxConsumerStep is how many entries one [ConsumerStep] may name.
const MaxConsumerStep = 500

// A ConsumerVersion names one state of a consumer's record. It is opaque; the empty one
// names none.
type ConsumerVersion string

// A ConsumerState is who holds a consumer's record.
type ConsumerState uint8

// The states of a consumer's record, for one holder.
const (
	// ConsumerMissing: there is no record. It is new, or the store lost it.
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
	Idle  time.Duration // of a record that is held now: how long nobody held it; zero: it was held by this holder
}

// A ConsumerStep changes a consumer's record.
type ConsumerStep struct {
	Holder string
	For    time.Duration     // how long the record is held from now on; zero gives it up
	Set    map[string]string // keys begin with a lower-case letter, and have at most 512 bytes
	Delete []string          // a key that is not there is ignored
}

// ConsumerChanges are what leads from one version of a consumer's record to a later one:
// first Set, then Delete.
type ConsumerChanges struct {
	Missing bool            // there is no record
	Version ConsumerVersion // after the changes
	Whole   bool            // Set is the whole record: entries that it lacks are gone
	Set     map[string]string
	Delete  []string
	More    bool // read again from Version on
}

// maxConsumerLen is the length of the longest name of a consumer, in bytes.
const maxConsumerLen = 64

// validConsumer returns an error for a name that no consumer may have.
func validConsumer(name string) error {
	if len(name) == 0 || len(name) > maxConsumerLen || strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !topicByte(byte(r)) }) {
		return fmt.Errorf("%w: a consumer's name must be 1-%d bytes of A-Z a-z 0-9 _ - . and the colon", ErrInvalidConfig, maxConsumerLen)
	}
	return nil
}
