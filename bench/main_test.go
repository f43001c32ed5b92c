package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/peers"
)

// The program starts itself again, and in a test that is the test's binary.
func TestMain(m *testing.M) {
	if role := child.Role(); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every peer sends ten readers each change once, whether as many as they take or
// at a pace.
func TestPeersLoseNothing(t *testing.T) {
	for _, p := range peers.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			b, err := start(p, peers.Options{Padding: 100})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.stop(); err != nil {
					t.Error(err)
				}
			}()
			if err := b.dial(10, nil); err != nil {
				t.Fatal(err)
			}
			for _, l := range []Load{{Window: 32, For: 50 * time.Millisecond}, {Rate: 200, For: 200 * time.Millisecond}} {
				m, err := b.measure(l)
				if err != nil {
					t.Fatal(err)
				}
				if f := m.faults(); f != "" || m.Delivered == 0 || m.Delivered != 10*m.Count {
					t.Errorf("load %+v: got %d deliveries of %d changes to 10 readers (%s), want each once", l, m.Delivered, m.Count, f)
				}
				if m.Lag.N == 0 || m.Lag.Max() > time.Minute {
					t.Errorf("load %+v: got %d latencies up to %v, want those of all joins", l, m.Lag.N, m.Lag.Max())
				}
			}
		})
	}
}
