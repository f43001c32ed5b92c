package handlers

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

// A frameReader joins the frames that a client sends over a WebSocket to whole messages (RFC 6455 §5). Input
// may come in pieces of any size. The memory grows with the bytes that have arrived, not with the length that
// a frame announces, and only an incomplete message is kept.
type frameReader struct {
	maxMessage int64 // bytes; negative: any number
	maxList    int64 // bytes of a message that isWatch; 0: maxMessage
	rate       perSecond

	head       []byte    // the beginning of an incomplete frame header
	frame      ws.Header // the frame whose payload is read
	inFrame    bool
	left       int64 // bytes of the frame's payload to come
	fragmented bool  // the message has frames to come
	size       int64 // bytes of the message so far
	message    []byte
	control    []byte // the payload of a control frame so far
}

// next parses p up to the end of the next message, ping or close frame. It returns the kind, the payload,
// valid until the next call, and the rest of p. If none of them is complete, the kind is OpContinuation. The
// error is a closing, because the client broke a rule.
func (f *frameReader) next(p []byte, now time.Time) (op ws.OpCode, payload, rest []byte, err error) {
	for len(p) > 0 || f.inFrame && f.left == 0 {
		if !f.inFrame {
			if p, err = f.header(p, now); err != nil {
				return 0, nil, nil, err
			}
			continue
		}
		if p, err = f.payload(p); err != nil {
			return 0, nil, nil, err
		}
		if f.left > 0 {
			continue
		}
		f.inFrame = false
		if op, payload, err = f.whole(); op != ws.OpContinuation || err != nil {
			return op, payload, p, err
		}
	}
	return ws.OpContinuation, nil, nil, nil
}

// header reads the part of p that belongs to a frame's header.
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
	f.frame, f.inFrame, f.left = h, true, h.Length
	return p, nil
}

// headerSize returns the size of a header, or of its known part while it is incomplete.
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

// check returns a closing unless the frame is allowed now.
func (f *frameReader) check(h ws.Header, now time.Time) error {
	state := ws.StateServerSide
	if f.fragmented {
		state = state.Set(ws.StateFragmented)
	}
	if err := ws.CheckHeader(h, state); err != nil {
		return closing{ws.StatusProtocolError, err.Error()}
	}
	if h.OpCode == ws.OpBinary {
		return closing{ws.StatusUnsupportedData, "messages must be text"}
	}
	if h.OpCode != ws.OpContinuation && f.rate.exceeded(now) {
		return closing{ws.StatusPolicyViolation, "too many messages in one second"}
	}
	if h.OpCode.IsControl() {
		return nil
	}
	length := max(h.Length, 1) // empty frames count too, since a message could have any number of them
	if f.maxMessage >= 0 && length > max(f.maxMessage, f.maxList)-f.size {
		return errTooBig
	}
	f.size += length
	return nil
}

// errTooBig ends a WebSocket whose client sends a message over its limit.
var errTooBig = closing{ws.StatusMessageTooBig, "a message is too large"}

// checkList returns a closing if a message is larger than ordinary ones may be, and its beginning shows that
// it is no list of people.
func (f *frameReader) checkList() error {
	if f.maxMessage < 0 || f.size <= f.maxMessage || isWatch(f.message) || len(f.message) < maxWatchHead && f.left > 0 {
		return nil
	}
	return errTooBig
}

// payload reads the part of p that belongs to the frame.
func (f *frameReader) payload(p []byte) (rest []byte, err error) {
	into := &f.message
	if f.frame.OpCode.IsControl() {
		into = &f.control
	}
	n := int(min(f.left, int64(len(p))))
	begin := len(*into)
	*into = append(*into, p[:n]...)
	ws.Cipher((*into)[begin:], f.frame.Mask, int(f.frame.Length-f.left))
	f.left -= int64(n)
	if !f.frame.OpCode.IsControl() {
		err = f.checkList()
	}
	return p[n:], err
}

// whole returns the message or control frame that the latest frame completes.
func (f *frameReader) whole() (op ws.OpCode, payload []byte, err error) {
	if f.frame.OpCode.IsControl() {
		payload, f.control = f.control, nil
		if f.frame.OpCode == ws.OpPong {
			return ws.OpContinuation, nil, nil
		}
		return f.frame.OpCode, payload, nil
	}
	if f.fragmented = !f.frame.Fin; f.fragmented {
		return ws.OpContinuation, nil, nil
	}
	payload, f.message, f.size = f.message, nil, 0
	if !utf8.Valid(payload) {
		return 0, nil, closing{ws.StatusInvalidFramePayloadData, "a message is not UTF-8"}
	}
	if payload == nil {
		payload = []byte{} // nil would mean no message
	}
	return ws.OpText, payload, nil
}
