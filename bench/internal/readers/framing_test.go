package readers

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
)

// Changes are counted right however the network cuts what it carries.
func TestCountingAcrossAnyCut(t *testing.T) {
	const changes = 9
	at := time.Now()
	var plainly []byte
	for n := range changes {
		plainly = diff.AppendSSE(plainly, n, at, "")
	}
	var chunks, frames bytes.Buffer
	for part := plainly; len(part) > 0; {
		n := min(len(part), 333)
		fmt.Fprintf(&chunks, "%x\r\n%s\r\n", n, part[:n])
		frames.Write([]byte{0, byte(n >> 8), byte(n), 0, 0, 0, 0, 0, 1})
		frames.Write(part[:n])
		frames.Write([]byte{0, 0, 3, 8, 0, 0, 0, 0, 0, '@', '1', '2'}) // a frame that is no data
		part = part[n:]
	}
	chunkedHead := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, tc := range []struct {
		name  string
		bytes []byte
		conn  func() *conn
	}{
		{"plain", append([]byte("HTTP/1.1 200 OK\r\n\r\n"), plainly...), func() *conn { return &conn{head: &head{}} }},
		{"chunked", append([]byte(chunkedHead), chunks.Bytes()...), func() *conn { return &conn{head: &head{}} }},
		{"HTTP/2", frames.Bytes(), func() *conn { return &conn{body: &http2{}} }},
	} {
		for size := 1; size < 400; size += 7 {
			s, c := &Set{now: at.UnixNano() + int64(time.Millisecond)}, tc.conn()
			buf := make([]byte, diff.Readable+1024)
			for rest := tc.bytes; len(rest) > 0; {
				n := copy(buf[diff.Readable:diff.Readable+size], rest)
				s.take(c, buf, diff.Readable, diff.Readable+n)
				rest = rest[n:]
			}
			if want := diff.Sum(0, changes); c.count != changes || c.sum != want {
				t.Fatalf("%s, %d bytes at a time: got %d changes with the sum %d, want %d with %d", tc.name, size, c.count, c.sum, changes, want)
			}
			if got := s.lag.Max(); got < 900*time.Microsecond || got > 1100*time.Microsecond || s.lag.N != 5 {
				t.Fatalf("%s, %d bytes at a time: got %d latencies up to %v, want 5 of 1ms", tc.name, size, s.lag.N, got)
			}
		}
	}
}
