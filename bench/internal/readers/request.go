package readers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/rollcall-go/rollcall/bench/internal/peers"
)

// request returns the first bytes of reader n.
func (d *Dial) request(n int) []byte {
	path := strings.NewReplacer("{n}", strconv.Itoa(n), "{topic}", strconv.Itoa(n%max(d.Topics, 1))).Replace(d.Path)
	switch d.Framing {
	case peers.HTTP2:
		return http2Request(path, d.LastEventID)
	case peers.WebSocket:
		return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path)
	}
	b := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n", path)
	if d.LastEventID != "" {
		b = fmt.Appendf(b, "Last-Event-ID: %s\r\n", d.LastEventID)
	}
	return append(b, "\r\n"...)
}

// http2Request is the preface, settings and windows so large that they are never
// touched again, and a request.
func http2Request(path, id string) []byte {
	const window = 1<<31 - 1
	b := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	b = append(b, 0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4) // SETTINGS_INITIAL_WINDOW_SIZE
	b = binary.BigEndian.AppendUint32(b, window)
	b = append(b, 0, 0, 4, 8, 0, 0, 0, 0, 0) // WINDOW_UPDATE of the connection
	b = binary.BigEndian.AppendUint32(b, window-65535)
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "bench"}, {":path", path}, {"last-event-id", id}} {
		if f[1] != "" {
			e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
	}
	b = append(b, 0, byte(block.Len()>>8), byte(block.Len()), 1, 5, 0, 0, 0, 1) // HEADERS, END_STREAM | END_HEADERS
	return append(b, block.Bytes()...)
}

// textFrame is a WebSocket message of a client, masked with zeros.
func textFrame(s string) []byte {
	b := append([]byte{0x81, 0x80 | byte(len(s))}, 0, 0, 0, 0) // up to 125 bytes
	return append(b, s...)
}
