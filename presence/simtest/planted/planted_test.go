// Package planted_test shows that the simulated fleet finds bugs. Each bug is a change of one
// place in package track. SIM_PLANTED=1 builds an engine that can have each of them, with
// go test -overlay, and plays seeds from 0 on with one bug after another until one fails:
//
//	SIM_PLANTED=1 go test -v -timeout 2h ./presence/simtest/planted
//
// SIM_BUG=word plays those alone whose name has the word, or any of several between commas.
// SIM_PLANTED=file also writes each row of the table to a file. [README.md] has what was seen.
// Without SIM_PLANTED the tests look whether each place is still there.
//
// [README.md]: https://github.com/rollcall-go/rollcall/blob/main/presence/simtest/planted/README.md
package planted_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	source  = "../../track"
	most    = 500 // seeds within which each bug must be found
	again   = 3   // times that the game of such a seed is played once more
	patient = 10 * time.Minute
	atOnce  = 2 // bugs
)

// A bug is planted by replacing a text that its file has once.
type bug struct {
	name     string
	file     string
	old, new string
}

// TestPlaces holds each bug against the engine as it is.
func TestPlaces(t *testing.T) {
	names := make(map[string]bool)
	for _, b := range bugs {
		if err := (&surgery{calls: make(map[string]string)}).add(b, 1); err != nil {
			t.Error(err)
		}
		if names[b.name] {
			t.Errorf("two bugs are named %q", b.name)
		}
		names[b.name] = true
	}
}

// TestPlanted finds each bug.
func TestPlanted(t *testing.T) {
	file := os.Getenv("SIM_PLANTED")
	if file == "" {
		t.Skip("slow: an engine is built for each bug; SIM_PLANTED=1 plays them")
	}
	sound := &engine{binary: build(t, bugs)}
	if known := os.Getenv("SIM_SKIP"); known != "" {
		sound.skip = strings.Fields(known)
	} else {
		sound.skip, _ = sound.play(t)
	}
	t.Logf("without a bug these seeds fail, and are left out: %v", sound.skip)
	rows, slots := make([]string, len(bugs)), make(chan struct{}, atOnce)
	t.Run("bugs", func(t *testing.T) {
		for i, b := range bugs {
			if !b.chosen() {
				continue
			}
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				seed, how, times := find(t, i+1, sound)
				rows[i] = fmt.Sprintf("| %s | `%s` | %d | %d | %s |\n", b.name, b.file, seed+1, times, how)
				if seed < 0 {
					t.Errorf("not found in %d seeds", most)
					rows[i] = fmt.Sprintf("| %s | `%s` | not in %d | | |\n", b.name, b.file, most)
				}
				t.Log(rows[i])
				record(t, file, rows[i])
			})
		}
	})
	t.Logf("\n| bug | in | seeds | of %d | seen as |\n|---|---|--:|--:|---|\n%s", again, strings.Join(rows, ""))
}

// chosen reports whether SIM_BUG asks for the bug.
func (b bug) chosen() bool {
	return slices.ContainsFunc(strings.Split(os.Getenv("SIM_BUG"), ","), func(word string) bool { return strings.Contains(b.name, word) })
}

// record adds a row to a file.
func record(t *testing.T, file, row string) {
	if file == "1" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	_, _ = f.WriteString(row)
}

// An engine is the simulation over package track, with a bug or as it is.
type engine struct {
	binary string
	number int // of the bug; 0: none

	mu   sync.Mutex
	skip []string // seeds that fail without a bug
}

// find plays seeds until one fails that does not without the bug. It returns the seed with what
// was wrong, and how often its game failed of those that were played again; -1: none did.
func find(t *testing.T, number int, sound *engine) (seed int, how string, times int) {
	planted := &engine{binary: sound.binary, number: number}
	for {
		skip := sound.skipped()
		found, hows := planted.play(t, "SIM_STOP=1", "SIM_SKIP="+strings.Join(skip, " "))
		seed = -1
		for i, s := range found {
			if n, _ := strconv.Atoi(s); seed < 0 || n < seed {
				seed, how = n, hows[i]
			}
		}
		if seed < 0 {
			return seed, "", 0
		}
		if sound.fails(t, seed) == 0 {
			return seed, how, planted.fails(t, seed)
		}
		sound.mu.Lock()
		sound.skip = append(sound.skip, strconv.Itoa(seed))
		sound.mu.Unlock()
	}
}

func (e *engine) skipped() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.skip)
}

// fails plays a seed again and again: the order of goroutines is left to chance.
func (e *engine) fails(t *testing.T, seed int) (times int) {
	for range again {
		found, _ := e.play(t, "SIM_SEEDS=1", fmt.Sprint("SIM_FIRST=", seed))
		times += len(found)
	}
	return times
}

var failed = regexp.MustCompile(`seed (\d+): (.*)`)

// play plays seeds, and returns those that failed with what was wrong.
func (e *engine) play(t *testing.T, env ...string) (seeds, hows []string) {
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	play := exec.CommandContext(ctx, "nice", "-n", "15", e.binary, "-test.run=^TestSeeds$")
	play.Dir = ".."
	play.Env = append(append(os.Environ(), fmt.Sprint("SIM_SEEDS=", most), "SIM_FIRST=0", "SIM_SEED=", "SIM_SHRINK=", "SIM_LATE=", fmt.Sprint("SIM_PLANT=", e.number)), env...)
	out, err := play.CombinedOutput()
	for _, found := range failed.FindAllStringSubmatch(string(out), -1) {
		seeds, hows = append(seeds, found[1]), append(hows, found[2])
	}
	if err != nil && len(seeds) == 0 {
		t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
	}
	return seeds, hows
}
