package handlers_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/handlers"
)

// Input means the same in pieces of any size, and never makes the reader keep more than
// one message.
func FuzzFrameReader(f *testing.F) {
	text := clientFrame(ws.OpText, true, []byte(`{"type":"heartbeat"}`))
	f.Add(text, uint8(1))
	f.Add(append(clientFrame(ws.OpText, false, []byte(`{"a":`)), clientFrame(ws.OpContinuation, true, []byte(`1}`))...), uint8(3))
	f.Add(append(clientFrame(ws.OpPing, true, []byte("ping")), text...), uint8(2))
	f.Add(clientFrame(ws.OpText, true, bytes.Repeat([]byte("x"), 5000)), uint8(200))
	f.Add(clientFrame(ws.OpClose, true, []byte{0x03, 0xe8}), uint8(1))
	f.Add([]byte{0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}, uint8(5))
	f.Add(clientFrame(ws.OpText, true, nil), uint8(6))
	f.Fuzz(func(t *testing.T, sent []byte, size uint8) {
		whole, _ := handlers.ReadFrames(sent, max(len(sent), 1))
		pieces, kept := handlers.ReadFrames(sent, int(size)+1)
		if got, want := strings.Join(pieces, "\n"), strings.Join(whole, "\n"); got != want {
			t.Errorf("in pieces of %d: got\n%s\nwant\n%s", int(size)+1, got, want)
		}
		if kept > 4<<10+125+14 {
			t.Errorf("the reader keeps %d bytes, want a message at most", kept)
		}
	})
}
