package handlers

import (
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/presence/track"
)

// A transport formats the output of a stream and parses its input. It does no I/O.
type transport interface {
	// form returns how the transport writes events. An event whose id is empty is written without one.
	form() *track.Form
	// appendRetry appends how long the client should wait, after the end of this
	// stream, before it reconnects. A frame follows.
	appendRetry(b []byte, wait time.Duration) []byte
	// appendEnd appends the last bytes: why the stream ends, and how long the client
	// should wait before it reconnects.
	appendEnd(b []byte, why error, wait time.Duration) []byte
	// nextMessage parses input up to the end of one message. It returns the message, valid until the next
	// call, an answer to send at once, and the rest of the input. An incomplete message is nil.
	// An error ends the stream. One that is errFlood or errLarge is counted.
	nextMessage(p []byte, now time.Time) (message, answer, rest []byte, err error)
	// proof returns by what the client shows that it is alive.
	proof() proof
	// appendNudge appends what is no event and has the client give its proof soon: a client with proofPongs
	// answers it, and one with proofBeats runs its script.
	appendNudge(b []byte) []byte
}

// Errors of nextMessage that the stream counts.
var (
	errFlood = errors.New("the client sends too much")
	errLarge = errors.New("the client sends too large a message")
)

// A proof is how a client shows that it is alive, where the page asked the server to watch over that.
type proof int

const (
	proofBeats proof = iota // by requests of its own
	proofPongs              // by the answers to pings
)

// The forms of events. All handlers share them, so events are encoded once a transport.
var (
	formSSE    = track.NewForm(frameSSE)
	formSocket = track.NewForm(frameSocket)
)
