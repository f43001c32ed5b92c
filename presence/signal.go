package presence

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// # Rules of signals
//
//	S1  A user whom the topic's roster does not show to others can send no signal there.
//	S2  A topic has at most 20 signal events a second on a node. Within a window the latest
//	    signal of a type and sender counts.
//	S3  Visitors send at most 50 signals a second into a topic from a node, and each at most
//	    what handlers.Whisper allows. The rest is dropped and counted, or refused. Half of the 50
//	    are for visitors who sent nothing there for a second.
//	S4  A signal moves no cursor, is in no log, delays no diff, and all signals of a topic take
//	    at most 50 KB a second of a node's ring.
//	S5  A signal that stands is shown for its For and a second at most after the last word, and
//	    not after its sender's leave.
//	S6  From is the visitor, whatever a request says.
//	S7  A lost signal leaves nothing wrong, only late: data are absolute.
//
// Their files in package track: signals.go sends, signal_broadcast.go is the form between nodes,
// topic_signals.go is what a replica hears, topic_signals_standing.go what stands there.

// A Signal is a message that the readers of a topic get once, and that is not kept: Bob is typing, or there
// are 17 replies. It travels in the topic's stream, but is in no diff and no log. A signal may be lost, so
// its Data must make sense by itself: "17 replies", never "one more" (rule S7).
type Signal struct {
	Type string // 1 to 32 of a-z 0-9 . _ -
	V    int    // the version of Data. Default: 1

	// From is the user who sends the signal, as the topic's roster shows the user; "": the site. A user whom
	// the roster does not show cannot send (rule S1).
	From UserID

	// For is how long the signal stands, as "is typing" does: 1 to 30 s. With 0 it does not stand, such as a
	// figure. A standing signal ends after this time, by a later one of the same Type and From, by a negative
	// For, or when From leaves the topic, whichever comes first.
	For time.Duration

	Data json.RawMessage // any JSON value of up to MaxSignalData bytes; empty: none
}

// Bounds of a [Signal].
const (
	MaxSignalData = 1 << 10          // bytes of Signal.Data
	MaxSignalFor  = 30 * time.Second // of Signal.For
)

// ErrInvalidSignal is returned for a [Signal] that breaks its bounds. The text says which.
var ErrInvalidSignal = errors.New("invalid signal")

// ErrNotThere is returned by track.Tracker.Whisper for a visitor whom the topic's roster does not
// show.
var ErrNotThere = errors.New("the visitor is not in the topic, as others see it")

// Validate returns nil, or an error that is [ErrInvalidSignal] and names the field.
func (s Signal) Validate() error {
	switch {
	case !validSignalType(s.Type):
		return fmt.Errorf("%w: the type must be 1 to %d of a-z 0-9 . _ -", ErrInvalidSignal, maxSignalType)
	case s.V < 0:
		return fmt.Errorf("%w: the version is negative", ErrInvalidSignal)
	case s.For > MaxSignalFor || s.For > 0 && s.For < time.Second:
		return fmt.Errorf("%w: it stands for 1 to 30 seconds, for none, or ends by a negative number", ErrInvalidSignal)
	case len(s.Data) > MaxSignalData:
		return fmt.Errorf("%w: the data have %d bytes, and %d are allowed", ErrInvalidSignal, len(s.Data), MaxSignalData)
	case len(s.Data) > 0 && !(json.Valid(s.Data) && utf8.Valid(s.Data)):
		return fmt.Errorf("%w: the data are not JSON in UTF-8", ErrInvalidSignal)
	}
	return nil
}

const maxSignalType = 32 // bytes of Signal.Type

func validSignalType(s string) bool {
	if s == "" || len(s) > maxSignalType {
		return false
	}
	for i := range len(s) {
		if b := s[i]; !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '.' || b == '_' || b == '-') {
			return false
		}
	}
	return true
}
