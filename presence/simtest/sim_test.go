package simtest_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/need"
)

// TestMain lets games collect garbage less often, unless GOGC says how often: 60 MB, and two thirds of
// the time.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	leak.VerifyTestMain(m)
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// TestSeeds plays 100 games that are always the same, and 200 where slow tests are asked for, or those of
// SIM_SEEDS, or the one of SIM_SEED. Games that nobody has played before are played by night: see
// .github/workflows/ci.yml. With the race detector it plays 30.
func TestSeeds(t *testing.T) {
	if seed := number("SIM_SEED", -1); seed >= 0 {
		g := newGame(uint64(seed))
		faults, notes := play(t, g)
		t.Log(strings.Join(notes, "\n"))
		for _, fault := range faults {
			t.Error(fault)
		}
		return
	}
	if first, seeds := number("SIM_FIRST", 0), number("SIM_SEEDS", -1); seeds >= 0 {
		playSeeds(t, first, seeds)
		return
	}
	games := 100
	switch {
	case raced:
		games = 30
	case need.AskedFor():
		games = 200
	}
	playSeeds(t, 0, games)
}

// playSeeds plays games of consecutive seeds.
func playSeeds(t *testing.T, first, seeds int) {
	var failed atomic.Bool
	stop, skip := os.Getenv("SIM_STOP") != "", strings.Fields(os.Getenv("SIM_SKIP"))
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprintf("from %d on, part %d", first, part), func(t *testing.T) {
			t.Parallel()
			for seed := first + part; seed < first+seeds && !(stop && failed.Load()); seed += parts {
				if slices.Contains(skip, fmt.Sprint(seed)) {
					continue
				}
				g := newGame(uint64(seed))
				if faults, _ := play(t, g); len(faults) > 0 {
					failed.Store(true)
					t.Errorf("seed %d: %s", seed, strings.Join(faults[:min(len(faults), 2)], "\n"))
					if os.Getenv("SIM_SHRINK") != "" {
						shrink(t, g)
					}
				}
			}
		})
	}
}

// shrink prints the shortest game that still fails, and what happens in it.
func shrink(t *testing.T, g game) {
	less := shortest(t, g)
	t.Log(less)
	for range 20 {
		if faults, notes := play(t, less); len(faults) > 0 {
			t.Log(strings.Join(notes, "\n"))
			return
		}
	}
}

// shortest leaves out acts, one by one and in parts, as long as the game fails.
func shortest(t *testing.T, g game) game {
	fails := func(g game) bool {
		for range number("SIM_PLAYS", 3) { // the order of goroutines is left to chance
			if faults, _ := play(t, g); len(faults) > 0 {
				return true
			}
		}
		return false
	}
	for i := 0; i < len(g.features); {
		if less := g.simpler(i); fails(less) {
			g = less
		} else {
			i++
		}
	}
	for size := len(g.acts) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(g.acts); {
			if less := g.without(at, at+size); fails(less) {
				g = less
			} else {
				at += size
			}
		}
	}
	return g
}
