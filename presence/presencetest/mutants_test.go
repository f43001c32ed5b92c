package presencetest_test

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// mutantEnv names the mutant that a child process of this test holds against
// the kit.
const mutantEnv = "PRESENCETEST_MUTANT"

// A mutant is a store with a planted bug, and the case that must catch it: its
// rule, and the beginning of its name.
type mutant struct {
	plant  func(backend.Store) backend.Store
	caught string
}

func mutants() map[string]mutant {
	all := map[string]mutant{
		"a feature is lost": {caught: "rule 20/", plant: func(s backend.Store) backend.Store { return backend.Extend(coreOnly{s}) }},
	}
	for _, some := range []map[string]mutant{leaseMutants(), sweepMutants(), nodeMutants(), diffMutants(), busMutants(), figureMutants(), guestMutants(), lastingMutants(),
		recentMutants(), pageMutants(), peakMutants(), botMutants(), activeMutants(), signOffMutants(), unseenMutants(), idleMutants(), sightingMutants(), staffMutants(), consumerMutants(), broadcastMutants(), eraseMutants(), deadlineMutants(), changesMutants()} {
		for name, m := range some {
			all[name] = m
		}
	}
	return all
}

var (
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: TestMemoryStore/(\S+/\S+)`)
	panicked = regexp.MustCompile(`(?m)^panic: .*`)
)

// child runs some tests of this program with a mutant for the memory store.
func child(t *testing.T, mutant, tests string) (out string, failed bool) {
	t.Helper()
	cmd := bound.To(exec.CommandContext(t.Context(), os.Args[0], "-test.run="+tests, "-test.timeout=4m", "-rapid.nofailfile", "-rapid.shrinktime=0s"), syscall.SIGKILL)
	cmd.Env = append(os.Environ(), mutantEnv+"="+mutant)
	all, err := cmd.CombinedOutput()
	return string(all), err != nil
}

// The kit is worth what it catches: each bug in a process of its own, since it
// must fail there, in the case that is meant for it. The cases of the same rule
// are run, and those that caught it are named.
func TestMutants(t *testing.T) {
	all := mutants()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%20 > 0 && !need.AskedFor() { // a process for each mutant is slow
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := all[name]
			want := strings.ReplaceAll(m.caught, " ", "_")
			rule, _, _ := strings.Cut(want, "/")
			out, fails := child(t, name, "^TestMemoryStore$/^"+rule+"$")
			if !fails {
				t.Fatalf("the kit passes, want a failure of %q", m.caught)
			}
			if panics := panicked.FindString(out); panics != "" { // it hides what the cases behind it would say
				t.Errorf("the kit ends with %q; the output ends\n%s", panics, out[max(0, len(out)-3000):])
			}
			var cases []string
			for _, match := range failed.FindAllStringSubmatch(out, -1) {
				cases = append(cases, match[1])
			}
			if !slices.ContainsFunc(cases, func(name string) bool { return strings.HasPrefix(name, want) }) {
				t.Fatalf("got failures %q, want one of %q; the output ends\n%s", cases, m.caught, out[max(0, len(out)-3000):])
			}
			t.Logf("caught by %s", strings.Join(cases, ", "))
		})
	}
}

// What the mutants are made of has no bug of its own.
func TestMutantsWithoutBugs(t *testing.T) {
	need.Slow(t, "the whole kit twice")
	for name, plain := range map[string]func(backend.Store) backend.Store{
		"journal": func(s backend.Store) backend.Store { return newJournal(s) },
		"planted": func(s backend.Store) backend.Store {
			book := newLeaseBook()
			return planted{Store: s, op: func(t presence.Topic, op backend.Op) []backend.Op {
				book.note(t, op)
				return []backend.Op{op}
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := memory(plain)
			presencetest.Run(t, h)
			presencetest.Model(t, h)
		})
	}
}

// Random games find bugs too, and say how to play them again; two stores that
// differ are told apart, also where each is right by itself.
func TestGamesTellStoresApart(t *testing.T) {
	need.Slow(t, "a process for each mutant")
	byRules := []string{"--- FAIL: TestMemoryStoreModel", "-rapid.seed=", "--- FAIL: TestMemoryStoreCompare", "seed 1, second store: "}
	for name, want := range map[string][]string{
		"grace ignored":                        byRules,
		"rotation run twice":                   byRules,
		"expired lease renewed by a beat":      byRules,
		"invisible is a status like any other": byRules,
		"double leave":                         byRules,
		"a leave counts at the sweep":          byRules,
		"who goes invisible is forgotten":      byRules,
		"active by every beat":                 byRules,
		"a sign-off is a sign-out":             byRules,
		"the record goes with the topic":       byRules,
		"bots go with guests":                  byRules,
		"an attend is a heartbeat":             byRules,
		"a page is idle for all pages":         byRules,
		"a leave tells what is not kept":       byRules,
		eagerName:                              {"--- FAIL: TestMemoryStoreCompare", "want, as the first store has it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, fails := child(t, name, "^TestMemoryStore(Model|Compare)$")
			for _, want := range want {
				if !fails || !strings.Contains(out, want) {
					t.Errorf("failed: %v, want true, and %q in\n%s", fails, want, out[:min(len(out), 3000)])
				}
			}
		})
	}
}
