// Package planted_test shows that the simulated fleet finds bugs. Each bug is a change of one
// place in package presence. SIM_PLANTED=1 plants them one by one, with go test -overlay, and
// plays seeds from 0 on until one fails:
//
//	SIM_PLANTED=1 go test -v -timeout 2h ./presence/simtest/planted
//
// SIM_BUG=word plays those alone whose name has the word. [README.md] has what was seen. Without
// SIM_PLANTED the test looks whether each place is still there.
//
// [README.md]: https://github.com/rollcall-go/rollcall/blob/main/presence/simtest/planted/README.md
package planted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	engine  = "../.." // package presence
	most    = 500     // seeds within which each bug must be found
	patient = 3 * time.Minute
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
		if _, err := b.plant(); err != nil {
			t.Error(err)
		}
		if names[b.name] {
			t.Errorf("two bugs are named %q", b.name)
		}
		names[b.name] = true
	}
}

// plant returns the file with the bug.
func (b bug) plant() (string, error) {
	source, err := os.ReadFile(filepath.Join(engine, b.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), b.old); n != 1 || b.old == b.new {
		return "", fmt.Errorf("%s: %s has %q %d times, want once", b.name, b.file, b.old, n)
	}
	return strings.Replace(string(source), b.old, b.new, 1), nil
}

// TestPlanted finds each bug.
func TestPlanted(t *testing.T) {
	if os.Getenv("SIM_PLANTED") == "" {
		t.Skip("slow: an engine is built for each bug; SIM_PLANTED=1 plays them")
	}
	var table strings.Builder
	sound := bug{name: "none", file: "doc.go", old: "package presence\n", new: "package presence // as it is\n"}
	seeds, _ := sound.play(t)
	skip := strings.Join(seeds, " ")
	t.Logf("without a bug these seeds fail, and are left out: %s", skip)
	for _, b := range bugs {
		if !strings.Contains(b.name, os.Getenv("SIM_BUG")) {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			seed, how := b.find(t, skip)
			if seed < 0 {
				t.Errorf("not found in %d seeds: %s", most, how)
			}
			row := fmt.Sprintf("| %s | `%s` | %d | %s |", b.name, b.file, seed+1, how)
			t.Log(row)
			table.WriteString(row + "\n")
		})
	}
	t.Logf("\n| bug | in | seeds | seen as |\n|---|---|--:|---|\n%s", table.String())
}

var failed = regexp.MustCompile(`seed (\d+): (.*)`)

// find plays seeds until one fails, and returns it with what was wrong; -1: none did.
func (b bug) find(t *testing.T, skip string) (seed int, how string) {
	seed = -1
	seeds, hows := b.play(t, "SIM_STOP=1", "SIM_SKIP="+skip)
	for i, found := range seeds {
		if n, _ := strconv.Atoi(found); seed < 0 || n < seed {
			seed, how = n, hows[i]
		}
	}
	return seed, how
}

// play plays the seeds, and returns those that failed with what was wrong.
func (b bug) play(t *testing.T, env ...string) (seeds, hows []string) {
	binary := b.build(t)
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	play := exec.CommandContext(ctx, binary, "-test.run=^TestSeeds$")
	play.Dir = ".."
	play.Env = append(append(os.Environ(), fmt.Sprint("SIM_SEEDS=", most), "SIM_FIRST=0", "SIM_SEED=", "SIM_SHRINK=", "SIM_LATE="), env...)
	out, err := play.CombinedOutput()
	for _, found := range failed.FindAllStringSubmatch(string(out), -1) {
		seeds, hows = append(seeds, found[1]), append(hows, found[2])
	}
	if err != nil && len(seeds) == 0 {
		t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
	}
	return seeds, hows
}

// build builds the simulation over an engine with the bug, and returns its path.
func (b bug) build(t *testing.T) string {
	dir := t.TempDir()
	source, err := b.plant()
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(filepath.Join(engine, b.file))
	if err != nil {
		t.Fatal(err)
	}
	planted, overlay, binary := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simtest")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: planted}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{planted: source, overlay: string(list)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", binary, "github.com/rollcall-go/rollcall/presence/simtest")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
