package handlers_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/gobwas/ws"
)

// handshake are the headers that open a WebSocket: the example of RFC 6455.
var handshake = map[string]string{
	"Connection": "Upgrade", "Upgrade": "websocket",
	"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}

const handshakeAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

// A talker is a client's end of a WebSocket.
type talker struct {
	*listener
	socket *wsSource
}

// talk opens a WebSocket.
func (s *site) talk(r request) talker {
	s.t.Helper()
	header := maps.Clone(handshake)
	maps.Copy(header, r.header)
	r.header = header
	resp := s.do(r)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("%s: got status %d (%s), want 101", r.path, resp.StatusCode, body)
	}
	if got := resp.Header.Get("Sec-WebSocket-Accept"); got != handshakeAccept {
		s.t.Errorf("got Sec-WebSocket-Accept %q, want %q", got, handshakeAccept)
	}
	conn := resp.Body.(io.ReadWriteCloser)
	socket := &wsSource{t: s.t, conn: conn, from: bufio.NewReader(conn), out: make(chan []byte, 1000), done: make(chan struct{})}
	go socket.send()
	s.t.Cleanup(socket.close)
	return talker{&listener{t: s.t, source: socket, resp: resp}, socket}
}

// say sends a text message.
func (c talker) say(text string) { c.socket.out <- clientFrame(ws.OpText, true, []byte(text)) }

// wantError fails unless the next event is an error.
func (c talker) wantError(title string) {
	c.t.Helper()
	if e := c.want("error"); e.data.Title != title || len(e.data.Detail) < 10 || e.id != "" {
		c.t.Errorf("got the error %q (%s, id %q), want %q, with a detail that helps and no id", e.data.Title, e.data.Detail, e.id, title)
	}
}

// wantClosed reads to the end, which must have a code and a reason.
func (c talker) wantClosed(code ws.StatusCode) {
	c.t.Helper()
	for _, ok := c.next(); ok; _, ok = c.next() {
	}
	if c.socket.code != code || (c.socket.reason == "") != (code == ws.StatusNoStatusRcvd || code == ws.StatusAbnormalClosure) {
		c.t.Errorf("got close code %d and reason %q, want %d and some", c.socket.code, c.socket.reason, code)
	}
}

// wsSource reads and writes frames. It is written apart from the library that
// the server uses, but for the names of codes.
type wsSource struct {
	t    *testing.T
	conn io.ReadWriteCloser
	from *bufio.Reader
	out  chan []byte // what waits to be written

	code   ws.StatusCode // of the server's close frame
	reason string

	once sync.Once
	done chan struct{} // closed by close
}

// send writes the messages in out, in a goroutine of its own, so that client and server do
// not wait for each other.
func (s *wsSource) send() {
	for {
		select {
		case b := <-s.out:
			s.conn.Write(b)
		case <-s.done:
			return
		}
	}
}

func (s *wsSource) close() {
	s.once.Do(func() { close(s.done) })
	s.conn.Close()
}

// frame reads one frame.
func (s *wsSource) frame() (op ws.OpCode, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(s.from, head); err != nil {
		return 0, nil, err
	}
	if head[0]&0xf0 != 0x80 || head[1]&0x80 != 0 {
		s.t.Errorf("got a frame that begins % x, want it whole, plain and not masked", head)
	}
	n := uint64(head[1])
	if n >= 126 {
		more := make([]byte, map[uint64]int{126: 2, 127: 8}[n])
		if _, err := io.ReadFull(s.from, more); err != nil {
			return 0, nil, err
		}
		long := n
		n = binary.BigEndian.Uint64(append(make([]byte, 8-len(more)), more...))
		if n < 126 || long == 127 && n < 1<<16 {
			s.t.Errorf("got a length of %d in %d bytes, want it short", n, len(more))
		}
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(s.from, payload)
	return ws.OpCode(head[0] & 0x0f), payload, err
}

func (s *wsSource) next() (event, bool) {
	s.t.Helper()
	for {
		op, body, err := s.frame()
		if err != nil {
			if s.code == 0 {
				s.code = ws.StatusAbnormalClosure
			}
			return event{}, false
		}
		switch op {
		case ws.OpText:
			var m struct {
				Event, ID string
				Data      payload
			}
			if err := json.Unmarshal(body, &m); err != nil {
				s.t.Fatalf("the message %q is no JSON: %v", body, err)
			}
			return event{typ: m.Event, id: m.ID, data: m.Data}, true
		case ws.OpClose:
			s.code = ws.StatusNoStatusRcvd
			if len(body) > 1 {
				s.code, s.reason = ws.StatusCode(binary.BigEndian.Uint16(body)), string(body[2:])
			}
			s.out <- clientFrame(ws.OpClose, true, body[:min(2, len(body))])
		case ws.OpPong:
		default:
			s.t.Fatalf("got a frame of kind %d (%q), which is none of ours", op, body)
		}
	}
}

// clientFrame is a frame as a client sends it: masked.
func clientFrame(op ws.OpCode, fin bool, payload []byte) []byte {
	return maskedFrame(op, fin, payload, [4]byte{0x5a, 0xff, 0x01, 0x80})
}

func maskedFrame(op ws.OpCode, fin bool, payload []byte, mask [4]byte) []byte {
	b := []byte{byte(op), 0x80}
	if fin {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b[1] |= byte(n)
	case n < 1<<16:
		b[1] |= 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] |= 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(b, mask[:]...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

// raw sends bytes as they are.
func (c talker) raw(frames ...[]byte) { c.socket.out <- slices.Concat(frames...) }
