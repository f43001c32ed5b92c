package main

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// The program starts itself again, and in a test that is the test's binary.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "people:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every peer tells each watcher of each person who comes or goes, once.
func TestPeersTellEachChangeOnce(t *testing.T) {
	cfg := config{Watchers: 10, Persons: 40, Watched: 20, Rate: 20, For: time.Second, NodeModules: "node_modules"}
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			if err := p.missing(cfg); err != nil {
				t.Skip(err)
			}
			r, err := measure(cfg, p)
			if err != nil {
				t.Fatal(err)
			}
			for name, part := range map[string]part{"paced": r.paced, "busy": r.busy} {
				if part.got != part.wanted || part.wanted == 0 {
					t.Errorf("%s: got %d deliveries, want %d", name, part.got, part.wanted)
				}
				if part.p50 <= 0 || part.p99 > time.Minute {
					t.Errorf("%s: got latencies of %v and %v, want those of the joins", name, part.p50, part.p99)
				}
			}
		})
	}
}

// What is cut between two reads counts once.
func TestScan(t *testing.T) {
	const json = "\x81\x7e~1\"push\":{\"joins\":{\"p12\":{\"name\":\"~1763725381118000000\"}},\"leaves\":{\"p7\":{},\"p\":3}}"
	const xml = "<presence from='p1'><status>~1763725381118000000</status></presence><presenc"
	for _, tt := range []struct {
		text       string
		scan       func([]byte) found
		deliveries int
	}{{json, scanJSON, 2}, {xml, scanXML, 1}} {
		for cut := range len(tt.text) {
			first := tt.scan([]byte(tt.text[:cut]))
			second := tt.scan([]byte(tt.text[first.read:]))
			if got := first.deliveries + second.deliveries; got != tt.deliveries {
				t.Errorf("cut at %d: got %d deliveries, want %d", cut, got, tt.deliveries)
			}
			if stamps := append(first.stamps, second.stamps...); len(stamps) != 1 || stamps[0] != 1763725381118000000 {
				t.Errorf("cut at %d: got stamps %d", cut, stamps)
			}
		}
	}
}
