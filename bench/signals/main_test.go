package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
)

// The program starts itself again, and in a test that is the test's binary.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := serve(role, os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "signals:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every peer tells each other member each word, once.
func TestPeersTellEachWordOnce(t *testing.T) {
	need.Program(t, "redis", "redis-server")
	r := &run{config: config{Rates: []int{15}, For: time.Second, NodeModules: "../node_modules", Mercure: "mercure"}}
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			if err := p.missing(r.config); err != nil {
				t.Skip(err)
			}
			r.Talks = nil
			if err := r.peer(t.Context(), p, 10); err != nil {
				t.Fatal(err)
			}
			got := r.Talks[0]
			if got.Got != 15*9 || got.Wanted != 15*9 {
				t.Errorf("got %d of %d words, want 15 at each of 9 others", got.Got, got.Wanted)
			}
			if got.P50 <= 0 || got.P99 > 10*time.Second {
				t.Errorf("got latencies of %v and %v, want those of the words", got.P50, got.P99)
			}
		})
	}
}

// What is cut between two reads counts once.
func TestScanAcrossAnyCut(t *testing.T) {
	at := time.Unix(1763725381, 118)
	text := "\x81\x7e~1" + word(7, at) + "~" + stamp(changeMark, at, stranger) + "]"
	for cut := range len(text) {
		var got []string
		found := func(mark byte, at int64, member int) { got = append(got, fmt.Sprintf("%c%d %d", mark, at, member)) }
		read := scan([]byte(text[:cut]), found)
		rest := text[read:]
		if read = scan([]byte(rest), found); read != len(rest) {
			t.Fatalf("cut at %d: %q is left", cut, rest[read:])
		}
		if got, want := strings.Join(got, ", "), "~1763725381000000118 7, ^1763725381000000118 99999"; got != want {
			t.Fatalf("cut at %d: got %s, want %s", cut, got, want)
		}
	}
}

// Frames are counted, and pings are answered, however the network cuts them.
func TestFramesAcrossAnyCut(t *testing.T) {
	var all []byte
	for _, f := range []struct {
		op   byte
		size int
	}{{opText, 5}, {opPing, 3}, {opBinary, 200}, {opText, 70_000}, {opPing, 0}, {opText, 0}} {
		all = append(all, serverFrame(f.op, bytes.Repeat([]byte{opText}, f.size))...)
	}
	for _, size := range []int{1, 2, 3, 7, 1000, len(all)} {
		f, began, pings := &frames{}, 0, 0
		for rest := all; len(rest) > 0; {
			part := rest[:min(size, len(rest))]
			b, p := f.add(part)
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
