package handlers

import (
	"bytes"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

// A frameReader reads what a client sends over a WebSocket: frames, of which it
// makes whole messages (RFC 6455 §5), from pieces of any size. It believes
// nothing that a frame says of itself, and keeps nothing but what has come of a
// message that is not whole.
type frameReader struct {
	most int64 // bytes of a message; negative: any
	rate window

	head    []byte    // of a frame, while its header is not whole
	frame   ws.Header // whose payload comes
	inside  bool      // a frame
	left    int64     // of its payload
	within  bool      // a message of which a fragment came
	size    int64     // of the message so far
	message []byte    // so far
	control []byte    // of a control frame so far
}

// next takes from p up to the end of the next message, ping or goodbye, and
// returns its kind, its payload, good until the next call, and the rest of p.
// The kind is OpContinuation where there is none in p. An error is a closing: the
// client broke a rule.
func (f *frameReader) next(p []byte, now time.Time) (op ws.OpCode, payload, rest []byte, err error) {
	for len(p) > 0 || f.inside && f.left == 0 {
		if !f.inside {
			if p, err = f.header(p, now); err != nil {
				return 0, nil, nil, err
			}
			continue
		}
		p = f.payload(p)
		if f.left > 0 {
			continue
		}
		f.inside = false
		if op, payload, err = f.whole(); op != ws.OpContinuation || err != nil {
			return op, payload, p, err
		}
	}
	return ws.OpContinuation, nil, nil, nil
}

// header takes as much of p as belongs to a frame's header.
func (f *frameReader) header(p []byte, now time.Time) (rest []byte, err error) {
	for len(p) > 0 && len(f.head) < headerSize(f.head) {
		f.head, p = append(f.head, p[0]), p[1:]
	}
	if len(f.head) < headerSize(f.head) {
		return p, nil
	}
	h, err := ws.ReadHeader(bytes.NewReader(f.head))
	f.head = nil
	if err != nil {
		return nil, closing{ws.StatusProtocolError, err.Error()}
	}
	if err := f.check(h, now); err != nil {
		return nil, err
	}
	f.frame, f.inside, f.left = h, true, h.Length
	return p, nil
}

// headerSize returns the size of a header, as far as its beginning tells.
func headerSize(head []byte) int {
	const masked, length = 0x80, 0x7f
	if len(head) < ws.MinHeaderSize {
		return ws.MinHeaderSize
	}
	n := ws.MinHeaderSize
	if head[1]&masked != 0 {
		n += 4
	}
	switch head[1] & length {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	return n
}

// check returns a closing unless the frame may come now.
func (f *frameReader) check(h ws.Header, now time.Time) error {
	state := ws.StateServerSide
	if f.within {
		state = state.Set(ws.StateFragmented)
	}
	if err := ws.CheckHeader(h, state); err != nil {
		return closing{ws.StatusProtocolError, err.Error()}
	}
	if h.OpCode == ws.OpBinary {
		return closing{ws.StatusUnsupportedData, "messages are text here"}
	}
	if h.OpCode != ws.OpContinuation && f.rate.over(now) {
		return closing{ws.StatusPolicyViolation, "too many messages in one second"}
	}
	if h.OpCode.IsControl() {
		return nil
	}
	length := max(h.Length, 1) // or frames without any would have no end
	if f.most >= 0 && length > f.most-f.size {
		return closing{ws.StatusMessageTooBig, "a message is larger than is allowed here"}
	}
	f.size += length
	return nil
}

// payload takes as much of p as belongs to the frame.
func (f *frameReader) payload(p []byte) (rest []byte) {
	into := &f.message
	if f.frame.OpCode.IsControl() {
		into = &f.control
	}
	n := int(min(f.left, int64(len(p))))
	begin := len(*into)
	*into = append(*into, p[:n]...)
	ws.Cipher((*into)[begin:], f.frame.Mask, int(f.frame.Length-f.left))
	f.left -= int64(n)
	return p[n:]
}

// whole returns what has come to its end with a frame.
func (f *frameReader) whole() (op ws.OpCode, payload []byte, err error) {
	if f.frame.OpCode.IsControl() {
		payload, f.control = f.control, nil
		if f.frame.OpCode == ws.OpPong {
			return ws.OpContinuation, nil, nil
		}
		return f.frame.OpCode, payload, nil
	}
	if f.within = !f.frame.Fin; f.within {
		return ws.OpContinuation, nil, nil
	}
	payload, f.message, f.size = f.message, nil, 0
	if !utf8.Valid(payload) {
		return 0, nil, closing{ws.StatusInvalidFramePayloadData, "a message is not UTF-8"}
	}
	if payload == nil {
		payload = []byte{} // a message, though an empty one
	}
	return ws.OpText, payload, nil
}

// asClosing returns the closing that an error is, if it is one.
func asClosing(err error) (c closing, ok bool) {
	ok = errors.As(err, &c)
	return c, ok
}

// A window counts what happens within a second.
type window struct {
	most  int // negative: any number
	begin time.Time
	n     int
}

// over counts one more, and reports whether that is too many.
func (w *window) over(now time.Time) bool {
	if now.Sub(w.begin) >= time.Second {
		w.begin, w.n = now, 0
	}
	w.n++
	return w.most >= 0 && w.n > w.most
}
