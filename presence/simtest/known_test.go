package simtest_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// A knownGame is one that failed once. Its name says what goes on in it.
type knownGame struct {
	name string
	game game
}

var known = slices.Concat(knownRosters, knownLosses, knownPeople, knownConsumers)

// TestKnown plays the games that failed once, each some times, because the order of goroutines
// is left to chance.
func TestKnown(t *testing.T) {
	for i, k := range known {
		if raced && i%3 > 0 { // what they share is raced by a third of them
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			for range plays() {
				faults, notes := play(t, k.game)
				if len(faults) == 0 {
					continue
				}
				t.Error(strings.Join(faults[:min(len(faults), 3)], "\n"))
				if os.Getenv("SIM_NOTES") != "" {
					t.Log(strings.Join(notes, "\n"))
				}
				return
			}
		})
	}
}

// plays is how often a known game is played. The race detector takes ten times as long.
func plays() int {
	if raced {
		return 1
	}
	return 5
}

// TestQuiet plays games in which nothing fails: thirty, or five with the race detector.
func TestQuiet(t *testing.T) {
	seeds := uint64(30)
	if raced {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			g := newGame(seed)
			g.acts = g.users()
			if faults, _ := play(t, g); len(faults) > 0 {
				t.Errorf("%s\n%v", strings.Join(faults[:min(len(faults), 3)], "\n"), g)
			}
		})
	}
}
