package simtest_test

import (
	_ "embed"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// A knownGame is one that failed once. Its name says what goes on in it.
type knownGame struct {
	name string
	game game
}

//go:embed testdata/known.txt
var knownGames string

// known returns the games of testdata/known.txt: a line with a name, which begins with #, and one with the game.
func known(t *testing.T) (all []knownGame) {
	name := ""
	for line := range strings.Lines(knownGames) {
		line = strings.TrimSuffix(line, "\n")
		if is, ok := strings.CutPrefix(line, "# "); ok {
			name = is
		} else if name != "" {
			g, err := parseGame(line)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all, name = append(all, knownGame{name, g}), ""
		}
	}
	return all
}

// TestKnown plays the games that failed once. The order of goroutines is left to chance, so SIM_KNOWN, as by
// night, plays each of them so often.
func TestKnown(t *testing.T) {
	all := known(t)
	if len(all) < 190 {
		t.Errorf("got %d games", len(all))
	}
	for i, k := range all {
		if raced && i%6 > 0 { // what they share is raced by a sixth of them
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			if g, err := parseGame(k.game.String()); err != nil || !reflect.DeepEqual(g, k.game) {
				t.Errorf("got %v and error %v, want the game as it was written: %v", g, err, k.game)
			}
			for range number("SIM_KNOWN", 1) {
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

// TestQuiet plays games in which nothing fails: ten, or thirty where slow tests are asked for.
func TestQuiet(t *testing.T) {
	seeds := uint64(10)
	if need.AskedFor() && !raced {
		seeds = 30
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
