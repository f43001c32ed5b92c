package frames_test

import (
	"bytes"
	"testing"

	"github.com/rollcall-go/rollcall/bench/internal/frames"
)

// Frames are counted, and pings are answered, however the network cuts them.
func TestFramesAcrossAnyCut(t *testing.T) {
	var all []byte
	for _, f := range []struct {
		op   byte
		size int
	}{{frames.Text, 5}, {frames.Ping, 3}, {frames.Binary, 200}, {frames.Text, 70_000}, {frames.Ping, 0}, {frames.Text, 0}} {
		all = append(all, serverFrame(f.op, bytes.Repeat([]byte{frames.Text}, f.size))...)
	}
	for _, size := range []int{1, 2, 3, 7, 1000, len(all)} {
		f, began, pings := &frames.Reader{}, 0, 0
		for rest := all; len(rest) > 0; {
			part := rest[:min(size, len(rest))]
			b, p := f.Add(part)
			began, pings, rest = began+b, pings+len(p), rest[len(part):]
		}
		if began != 4 || pings != 2 {
			t.Errorf("%d bytes at a time: got %d frames of data and %d pings, want 4 and 2", size, began, pings)
		}
	}
}

// serverFrame is a frame without a mask.
func serverFrame(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = append(b, 126, byte(n>>8), byte(n))
	default:
		b = append(b, 127, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, payload...)
}
