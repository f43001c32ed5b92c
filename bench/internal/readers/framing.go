package readers

import "bytes"

// What an answer says in bytes, without the framing that a connection puts
// between them. Each takes what came, and returns the payload in it, in place.
type unframe interface {
	payload(p []byte) []byte
}

// plain is a connection without framing, or with one that does not stand in the
// way of counting: a server's WebSocket frames are not masked.
type plain struct{}

func (plain) payload(p []byte) []byte { return p }

// chunked is HTTP/1.1's chunked encoding.
type chunked struct {
	left int // bytes of the chunk that are still to come
	size int // of the next one, as far as its line was read
	line bool
}

func (c *chunked) payload(p []byte) []byte {
	out := p[:0]
	for len(p) > 0 {
		if c.left > 0 {
			n := min(c.left, len(p))
			out = append(out, p[:n]...)
			p, c.left = p[n:], c.left-n
			continue
		}
		switch b := p[0]; {
		case b >= '0' && b <= '9':
			c.size, c.line = c.size<<4|int(b-'0'), true
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			c.size, c.line = c.size<<4|int(b|0x20-'a'+10), true
		case b == '\n' && c.line:
			c.left, c.size, c.line = c.size, 0, false
		}
		p = p[1:]
	}
	return out
}

// http2 is one stream of HTTP/2, from the server's first frame on.
type http2 struct {
	header [9]byte
	n      int // bytes of header that came
	left   int // bytes of the frame that are still to come
	data   bool
}

func (h *http2) payload(p []byte) []byte {
	out := p[:0]
	for len(p) > 0 {
		if h.left > 0 {
			n := min(h.left, len(p))
			if h.data {
				out = append(out, p[:n]...)
			}
			p, h.left = p[n:], h.left-n
			continue
		}
		n := copy(h.header[h.n:], p)
		p, h.n = p[n:], h.n+n
		if h.n == len(h.header) {
			h.left = int(h.header[0])<<16 | int(h.header[1])<<8 | int(h.header[2])
			h.data, h.n = h.header[3] == 0, 0
		}
	}
	return out
}

// head looks for the end of an answer's head, and says how its body is framed.
type head struct {
	bytes []byte
}

// add takes what came, and returns what followed the head, and how it is framed;
// nil as long as the head goes on.
func (h *head) add(p []byte) (rest []byte, body unframe) {
	h.bytes = append(h.bytes, p...)
	end := bytes.Index(h.bytes, []byte("\r\n\r\n"))
	if end < 0 {
		return nil, nil
	}
	rest = h.bytes[end+4:]
	if bytes.Contains(bytes.ToLower(h.bytes[:end]), []byte("transfer-encoding: chunked")) {
		return rest, &chunked{}
	}
	return rest, plain{}
}

// ok reports whether the head is of an answer that streams.
func (h *head) ok() bool {
	return bytes.HasPrefix(h.bytes, []byte("HTTP/1.1 200")) || bytes.HasPrefix(h.bytes, []byte("HTTP/1.1 101"))
}
