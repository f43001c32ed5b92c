package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/peers"
	"github.com/rollcall-go/rollcall/bench/internal/readers"
	"github.com/rollcall-go/rollcall/bench/internal/site"
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

// Readers of a site see each user who comes and goes, once each, in the topic that
// they are of, and nothing is left when it stops.
func TestSiteLosesNothing(t *testing.T) {
	t.Parallel()
	server, addr, err := startSite(site.Begin{Topics: 2, Merge: 20 * time.Millisecond, Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	clients, err := startReaders()
	if err != nil {
		t.Fatal(err)
	}
	defer clients.Stop()
	dial := readers.Dial{Addr: addr, Path: "/presence/events?topic=thread:{topic}", Topics: 2, N: 20}
	if _, err := child.Call[struct{}](clients, "Readers.Dial", dial); err != nil {
		t.Fatal(err)
	}
	if _, err := child.Call[struct{}](clients, "Readers.Reset", false); err != nil {
		t.Fatal(err)
	}
	churned, err := child.Call[site.Churned](server, "Site.Churn", site.Churn{Rate: 100, For: 500 * time.Millisecond, Stay: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	got, err := collect([]*child.Process{clients}, churned)
	if err != nil {
		t.Fatal(err)
	}
	if got.Missing+got.Extra+got.Wrong+got.Ended != 0 || got.Delivered != 20*50 {
		t.Errorf("got %d changes at 20 readers: %d missing, %d too many, %d readers wrong, %d cut; want %d and none", got.Delivered, got.Missing, got.Extra, got.Wrong, got.Ended, 20*50)
	}
	if _, err := child.Call[struct{}](clients, "Readers.Close", struct{}{}); err != nil {
		t.Fatal(err)
	}
	if left, err := child.Call[int](server, "Site.Stop", struct{}{}); err != nil || left != 0 {
		t.Errorf("stopping: got %d goroutines left and error %v, want 0 and nil", left, err)
	}
}
