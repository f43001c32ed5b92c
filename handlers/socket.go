package handlers

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence"
)

// A socket is the transport of WebSocket: each event is one text message.
type socket struct {
	conn     net.Conn
	frames   frameReader
	deadline time.Duration // of one write; negative: none
	limited  *atomic.Uint64

	mu     sync.Mutex // held while something is written
	closed bool       // a close frame was sent, after which nothing may follow
}

// closeWait is how long the client has to answer our close frame.
const closeWait = time.Second

func (s *socket) frame(b []byte, event presence.EventType, id presence.Cursor, data []byte) []byte {
	const withID, withoutID = `{"event":"","id":"","data":}`, `{"event":"","data":}`
	n := len(withoutID) + len(event) + len(data)
	if id != "" {
		n = len(withID) + len(event) + len(id) + len(data)
	}
	b = appendHeader(b, ws.OpText, n)
	b = append(b, `{"event":"`...)
	b = append(b, event...)
	if id != "" {
		b = append(b, `","id":"`...) // cursors need no escaping
		b = append(b, id...)
	}
	b = append(b, `","data":`...)
	b = append(b, data...)
	return append(b, '}')
}

// appendHeader appends the header of a frame with n bytes, not masked.
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

// retry appends nothing: WebSocket has no way to say it.
func (s *socket) retry(b []byte, _ time.Duration) []byte { return b }

func (s *socket) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.send(b)
}

// send writes b. The caller holds mu.
func (s *socket) send(b []byte) error {
	if s.closed {
		return net.ErrClosed
	}
	if s.deadline > 0 {
		s.conn.SetWriteDeadline(time.Now().Add(s.deadline))
	}
	_, err := s.conn.Write(b)
	if err != nil {
		s.conn.Close() // what was written may end within a frame
	}
	return err
}

func (s *socket) bye(why error, _ time.Duration) { s.hangUp(closingFor(why)) }

// closingFor says to the client why we end its stream.
func closingFor(why error) closing {
	switch {
	case errors.Is(why, presence.ErrClosed):
		return closing{ws.StatusGoingAway, "this server stops: come back"}
	case errors.Is(why, presence.ErrSignedOut):
		return closing{ws.StatusNormalClosure, "the user signed out"}
	case errors.Is(why, errRight):
		return closing{ws.StatusPolicyViolation, why.Error()}
	case errors.Is(why, errAge):
		return closing{ws.StatusGoingAway, why.Error()}
	}
	return closing{ws.StatusNormalClosure, "the page said goodbye"}
}

// hangUp sends a close frame, unless one was sent, and gives the client a short
// while to answer.
func (s *socket) hangUp(c closing) {
	body := ws.NewCloseFrameBody(c.code, c.reason)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(append(appendHeader(nil, ws.OpClose, len(body)), body...))
	s.closed = true
	s.conn.SetReadDeadline(time.Now().Add(closeWait))
}

// pong answers a ping.
func (s *socket) pong(payload []byte) {
	s.write(append(appendHeader(nil, ws.OpPong, len(payload)), payload...))
}

// listen hands on what the client says, until it says goodbye or breaks a rule,
// or the stream is over.
func (s *socket) listen(over context.Context, said chan<- []byte) {
	for {
		message, err := s.frames.next()
		if c := (closing{}); errors.As(err, &c) {
			if c.code == ws.StatusPolicyViolation {
				s.limited.Add(1)
			}
			s.hangUp(c)
		}
		if err != nil {
			return
		}
		select {
		case said <- message:
		case <-over.Done():
			return
		}
	}
}

// close ends the connection once nobody listens any more. What the client still
// sends is read until it closes too: if it were left unread, its network would
// throw away our last word.
func (s *socket) close() {
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, s.frames.from)
	s.conn.Close()
}
