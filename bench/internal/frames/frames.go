// Package frames is the client's side of WebSockets, for programs that read many of them.
package frames

import "encoding/binary"

// Kinds of WebSocket frames.
const (
	Text   = 1
	Binary = 2
	Close  = 8
	Ping   = 9
	Pong   = 10
)

// Client is a frame as a client sends it, masked with zeros.
func Client(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	if n := len(payload); n < 126 {
		b = append(b, 0x80|byte(n))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// A Reader follows the frames that a server sends on one connection.
type Reader struct {
	head []byte // of the frame, as far as it came
	left int    // bytes of its payload that are to come
	ping []byte // the payload of a ping, as far as it came
	op   byte
}

// Add takes what came. It returns how many frames of data began in it, and the pings that are
// complete.
func (f *Reader) Add(p []byte) (began int, pings [][]byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, len(p))
			if f.op == Ping {
				f.ping = append(f.ping, p[:n]...)
			}
			p, f.left = p[n:], f.left-n
			if f.left == 0 && f.op == Ping {
				pings = append(pings, f.ping)
			}
			continue
		}
		f.head = append(f.head, p[0])
		p = p[1:]
		size, whole := headSize(f.head)
		if !whole {
			continue
		}
		f.op, f.left, f.ping, f.head = f.head[0]&15, size, nil, f.head[:0]
		switch {
		case f.op <= Binary:
			began++
		case f.op == Ping && size == 0:
			pings = append(pings, nil)
		}
	}
	return began, pings
}

// headSize returns the size of the payload, if the head of the frame is whole.
func headSize(head []byte) (size int, whole bool) {
	if len(head) < 2 {
		return 0, false
	}
	switch n := int(head[1] & 127); {
	case n == 126 && len(head) == 4:
		return int(binary.BigEndian.Uint16(head[2:])), true
	case n == 127 && len(head) == 10:
		return int(binary.BigEndian.Uint64(head[2:])), true
	case n < 126:
		return n, true
	}
	return 0, false
}
