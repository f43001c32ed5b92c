package handlers

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// socket is the transport of WebSocket: each event is one text message.
type socket struct {
	as     *track.Form // how the page reads events
	frames frameReader
}

func (s *socket) form() *track.Form { return s.as }

func frameSocket(b []byte, e presence.Event) []byte {
	const withID, withoutID = `{"event":"","id":"","data":}`, `{"event":"","data":}`
	n := len(withoutID) + len(e.Type) + len(e.Data)
	if e.ID != "" {
		n = len(withID) + len(e.Type) + len(e.ID) + len(e.Data)
	}
	b = appendHeader(b, ws.OpText, n)
	b = append(b, `{"event":"`...)
	b = append(b, e.Type...)
	if e.ID != "" {
		b = append(b, `","id":"`...) // cursors need no escaping
		b = append(b, e.ID...)
	}
	b = append(b, `","data":`...)
	b = append(b, e.Data...)
	return append(b, '}')
}

// appendHeader appends the header of an unmasked frame with n bytes.
func appendHeader(b []byte, op ws.OpCode, n int) []byte {
	const final = 0x80
	b = append(b, final|byte(op))
	switch {
	case n < 126:
		return append(b, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
}

// appendRetry appends nothing: WebSocket has no such field.
func (s *socket) appendRetry(b []byte, _ time.Duration) []byte { return b }

// appendEnd appends a close frame. Nothing may follow it.
func (s *socket) appendEnd(b []byte, why error, _ time.Duration) []byte {
	c := closing{}
	if !errors.As(why, &c) {
		c = closingFor(why)
	}
	body := ws.NewCloseFrameBody(c.code, c.reason)
	return append(appendHeader(b, ws.OpClose, len(body)), body...)
}

// A closing is why a WebSocket ends: the content of its close frame.
type closing struct {
	code   ws.StatusCode
	reason string
}

func (c closing) Error() string { return c.reason }

// Is implements the interface of [errors.Is].
func (c closing) Is(target error) bool {
	return target == errFlood && c.code == ws.StatusPolicyViolation || target == errLarge && c.code == ws.StatusMessageTooBig
}

// closingFor returns the closing for the reason why the handler ends a stream.
func closingFor(why error) closing {
	switch {
	case errors.Is(why, presence.ErrClosed), errors.Is(why, errStops):
		return closing{ws.StatusGoingAway, "this server is shutting down: reconnect"}
	case errors.Is(why, presence.ErrSignedOut):
		return closing{ws.StatusNormalClosure, "the user signed out"}
	case errors.Is(why, errRight):
		return closing{ws.StatusPolicyViolation, why.Error()}
	case errors.Is(why, errSlow):
		return closing{ws.StatusPolicyViolation, why.Error()}
	case errors.Is(why, errAge):
		return closing{ws.StatusGoingAway, why.Error()}
	}
	return closing{ws.StatusNormalClosure, "the page has left"}
}

func (*socket) proof() proof { return proofPongs }

// appendNudge appends a ping.
func (*socket) appendNudge(b []byte) []byte { return appendHeader(b, ws.OpPing, 0) }

// nextMessage answers pings and returns messages. If the client sends a close frame or breaks a rule, the
// error is a closing.
func (s *socket) nextMessage(p []byte, now time.Time) (message, answer, rest []byte, err error) {
	op, payload, rest, err := s.frames.next(p, now)
	switch op {
	case ws.OpText:
		message = payload
	case ws.OpPing:
		answer = append(appendHeader(nil, ws.OpPong, len(payload)), payload...)
	case ws.OpClose:
		err = closingOfClient(payload)
	}
	return message, answer, rest, err
}

// closingOfClient returns the answer to a client's close frame: its own code.
func closingOfClient(payload []byte) closing {
	if len(payload) == 0 {
		return closing{ws.StatusNormalClosure, ""}
	}
	code, reason := ws.ParseCloseFrameData(payload)
	if err := ws.CheckCloseFrameData(code, reason); err != nil {
		return closing{ws.StatusProtocolError, err.Error()}
	}
	return closing{code, ""}
}
