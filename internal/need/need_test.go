package need_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// A verdict is a test that only notes how it ended.
type verdict struct {
	testing.TB
	was string
}

func (v *verdict) Helper()               {}
func (v *verdict) Skipf(string, ...any)  { v.was = "skipped"; runtime.Goexit() }
func (v *verdict) Fatalf(string, ...any) { v.was = "failed"; runtime.Goexit() }

func TestWhatIsMissingSkipsOrFails(t *testing.T) {
	for what, needs := range map[string]func(testing.TB){
		"tool": func(t testing.TB) { need.Program(t, "tool", "no-such-tool", "nor-this") },
		"npm":  func(t testing.TB) { need.Package(t, "no-such-package/index.js") },
	} {
		for require, want := range map[string]string{"": "skipped", "a," + what: "failed", what + "s": "skipped"} {
			t.Setenv("PRESENCE_REQUIRE", require)
			if got := verdictOf(needs); got != want {
				t.Errorf("%s with PRESENCE_REQUIRE=%q: got %s, want %s", what, require, got, want)
			}
		}
	}
}

// A slow test runs where it is asked for, and is skipped elsewhere.
func TestSlow(t *testing.T) {
	asked := "passed"
	if testing.Short() {
		asked = "skipped"
	}
	for require, want := range map[string]string{"": "skipped", "redis": "skipped", "redis,slow": asked, ",slow": asked} {
		t.Setenv("PRESENCE_REQUIRE", require)
		if got := verdictOf(func(t testing.TB) { need.Slow(t, "it waits") }); got != want {
			t.Errorf("PRESENCE_REQUIRE=%q: got %s, want %s", require, got, want)
		}
	}
}

func TestWhatIsThereIsFound(t *testing.T) {
	if got := need.Program(t, "go", "no-such-tool", "go"); filepath.Base(got) != "go" {
		t.Errorf("got %q, want a path that ends in go", got)
	}
}
