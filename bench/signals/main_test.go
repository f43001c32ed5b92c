package main

import (
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
