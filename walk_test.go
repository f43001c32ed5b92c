package rollcall_test

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// walkOfSettings are the files that a change of settings passes, from its request to the diff of a
// watcher, without the store: whoever changes the one must know the others.
var walkOfSettings = []string{
	// the request
	"handlers/endpoint_settings.go", "handlers/body.go", "handlers/choices.go", "handlers/limit_rates.go",
	// the change, at the node that has the request
	"presence/track/tracker_people.go", "presence/track/settings.go", "presence/track/directory_calls.go",
	// the notice, at every node
	"presence/track/notices.go",
	// what the Directory says now, and in which topics this node writes it
	"presence/track/choices_doubts.go", "presence/track/choices_take.go", "presence/track/users_choices.go",
	"presence/track/whereabouts.go", "presence/track/writer_pending.go",
	// the diff of the store
	"presence/track/topic_hidden.go", "presence/track/topic_roster.go",
	// the list of the watcher, and the stream
	"presence/track/watch_news.go", "presence/track/watch_list.go", "presence/track/outlet_log.go", "presence/track/outlet_reader.go",
	"handlers/stream.go",
}

// TestWalks compares two runs of one test, of which one changes nothing. A file is on the walk if a
// statement of it runs in the other run alone. A change that needs a file more fails here: is there
// one that the walk can do without?
func TestWalks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two packages for coverage")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "walk.test")
	run := func(env, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = "handlers", append(os.Environ(), "WALK="+env)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run("", "go", "test", "-c", "-o", binary, "-cover", "-covermode=atomic", "-coverpkg="+module+"handlers,"+module+"presence/track", ".")
	covered := func(env string) map[string]bool {
		profile := filepath.Join(dir, env)
		run(env, binary, "-test.run=^TestWalkOfSettings$", "-test.coverprofile="+profile)
		return statements(t, profile)
	}
	// Some statements run now and then, as goroutines meet.
	walks, still := covered("walks"), covered("still")
	for range 4 {
		again := covered("walks")
		maps.DeleteFunc(walks, func(statement string, _ bool) bool { return !again[statement] })
		maps.Copy(still, covered("still"))
	}
	passed := make(map[string]bool)
	for statement := range walks {
		if !still[statement] {
			file, _, _ := strings.Cut(statement, ":")
			passed[strings.TrimPrefix(file, module)] = true
		}
	}
	if len(passed) < len(walkOfSettings)/2 {
		t.Errorf("a change of settings passes the files %q: where is the walk?", slices.Sorted(maps.Keys(passed)))
	}
	for _, file := range slices.Sorted(maps.Keys(passed)) {
		if !slices.Contains(walkOfSettings, file) {
			t.Errorf("a change of settings passes %s too, and so %d files", file, len(passed))
		}
	}
	t.Logf("a change of settings passes %d files", len(passed))
}

// statements returns the blocks of a coverage profile that ran, by file and place.
func statements(t *testing.T, profile string) map[string]bool {
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran := make(map[string]bool)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // the first line
		}
		if n, err := strconv.Atoi(fields[2]); err == nil && n > 0 {
			ran[fields[0]] = true
		}
	}
	return ran
}
