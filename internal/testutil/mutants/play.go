package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
)

// Tests are what is held against the mutants of a package.
type Tests struct {
	Source string // the directory of the package that is broken
	Files  string // which of its files are, such as "memory*.go"
	Binary string // the package whose tests are played
	Run    string // which of them: as for go test -run
	Known  string // a file with the mutants that no test needs to notice, a line each
}

// patience is how long the tests of one mutant may take: it may wait, or run, for ever. Then it is noticed.
const patience = 30 * time.Second

// Play plays the tests with each mutant, as many at once as there are processors. It fails for each that no test
// notices, unless the file of known ones has it, and for each known one that is noticed. It takes minutes, so it
// is skipped unless the environment has PRESENCE_MUTANTS.
func Play(t *testing.T, tests Tests) {
	if os.Getenv("PRESENCE_MUTANTS") == "" {
		t.Skip("some hundred runs of a kit; PRESENCE_MUTANTS=1 plays them")
	}
	dir := t.TempDir()
	all, overlay, err := Overlay(tests.Source, tests.Files, dir)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "tests")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", binary, tests.Binary).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	survives := func(number int) bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := bound.To(exec.CommandContext(ctx, binary, "-test.run="+tests.Run, "-test.failfast"), syscall.SIGKILL)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", Variable, number))
		return cmd.Run() == nil
	}
	if !survives(0) {
		t.Fatal("the tests fail without a mutant too")
	}
	file, err := os.ReadFile(tests.Known)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(strings.TrimSpace(string(file)), "\n")
	var mu sync.Mutex
	var survivors []string
	var playing sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, m := range all {
		slots <- struct{}{}
		playing.Go(func() {
			defer func() { <-slots }()
			if survives(i + 1) {
				mu.Lock()
				defer mu.Unlock()
				survivors = append(survivors, m.String())
			}
		})
	}
	playing.Wait()
	t.Logf("%d of %d mutants were noticed", len(all)-len(survivors), len(all))
	slices.Sort(survivors)
	for _, m := range survivors {
		if !slices.Contains(known, m) {
			t.Errorf("no test notices: %s", m)
		}
	}
	for _, m := range known {
		if m != "" && !slices.Contains(survivors, m) {
			t.Errorf("%s has a mutant that is noticed: %s", tests.Known, m)
		}
	}
}
