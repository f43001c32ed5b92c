package presencetest_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// mutantEnv names the mutant that a child process of this test holds against
// the kit.
const mutantEnv = "PRESENCETEST_MUTANT"

// A mutant is a store with a planted bug, and the case that must catch it:
// part of its name, as go test prints it.
type mutant struct {
	plant  func(presence.Store) presence.Store
	caught string
}

func mutants() map[string]mutant {
	all := make(map[string]mutant)
	for _, some := range []map[string]mutant{leaseMutants(), sweepMutants(), diffMutants(), busMutants(), figureMutants()} {
		for name, m := range some {
			all[name] = m
		}
	}
	return all
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: TestMemoryStore/(\S+/\S+)`)

// The kit is worth what it catches: each bug in a process of its own, since it
// must fail.
func TestMutants(t *testing.T) {
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryStore$", "-test.timeout=1m")
			child.Env = append(os.Environ(), mutantEnv+"="+name)
			out, err := child.CombinedOutput()
			var cases []string
			for _, match := range failed.FindAllSubmatch(out, -1) {
				cases = append(cases, string(match[1]))
			}
			if err == nil {
				t.Fatal("the kit passes, want a failure")
			}
			caught := func(name string) bool { return strings.Contains(name, strings.ReplaceAll(m.caught, " ", "_")) }
			if !slices.ContainsFunc(cases, caught) {
				t.Fatalf("got failures %q, want one of %q; the output ends\n%s", cases, m.caught, out[max(0, len(out)-3000):])
			}
			t.Logf("caught by %s", strings.Join(cases, ", "))
		})
	}
}

// What the mutants are made of has no bug of its own.
func TestMutantsWithoutBugs(t *testing.T) {
	for name, plain := range map[string]func(presence.Store) presence.Store{
		"journal": func(s presence.Store) presence.Store { return newJournal(s) },
		"planted": func(s presence.Store) presence.Store {
			book := newLeaseBook()
			return planted{Store: s, op: func(t presence.Topic, op presence.Op) []presence.Op {
				book.note(t, op)
				return []presence.Op{op}
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := harness()
			h.New = func(*testing.T) presence.Store { return plain(presence.NewMemoryStore()) }
			presencetest.Run(t, h)
			presencetest.Model(t, h)
		})
	}
}

// A game that two stores play differently ends at the move that shows it.
func TestCompareTellsStoresApart(t *testing.T) {
	for _, name := range []string{"grace ignored", "rotation run twice", "expired lease renewed by a beat", "invisible is a status like any other"} {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryStore(Model|Compare)$", "-rapid.nofailfile", "-rapid.shrinktime=0s")
			child.Env = append(os.Environ(), mutantEnv+"="+name)
			out, err := child.CombinedOutput()
			for _, want := range []string{"--- FAIL: TestMemoryStoreModel", "-rapid.seed=", "--- FAIL: TestMemoryStoreCompare", "seed 1, "} {
				if err == nil || !strings.Contains(string(out), want) {
					t.Errorf("error %v, want one, and %q in\n%s", err, want, out[:min(len(out), 3000)])
				}
			}
		})
	}
}
