package handlers

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A speech is how a transport says things, and hears them. It writes nothing
// itself.
type speech interface {
	// framer returns what appends one event to b, without an id where that is
	// empty, and the number of the form that it makes of the log of a topic.
	framer() (form int, put presence.Framer)
	// retry appends how long the client should wait, once this stream has
	// ended, before it comes back. A frame follows.
	retry(b []byte, wait time.Duration) []byte
	// bye appends the last word: why the stream ends, and how long the client
	// should wait before it comes back. Whether the client hears that matters to
	// nobody but itself.
	bye(b []byte, why error, wait time.Duration) []byte
	// take reads what the client sent, up to the end of one message at most, and
	// returns it, with an answer that is owed to the client at once, and what
	// comes after. The message is nil where it has not come to its end, and good
	// until the next call. An error ends the stream.
	take(p []byte, now time.Time) (message, answer, rest []byte, err error)
}

// The forms in which logs are kept.
const (
	formSSE = iota
	formSocket
)
