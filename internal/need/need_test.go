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
			v := &verdict{was: "passed"}
			done := make(chan struct{})
			go func() { defer close(done); needs(v) }()
			<-done
			if v.was != want {
				t.Errorf("%s with PRESENCE_REQUIRE=%q: got %s, want %s", what, require, v.was, want)
			}
		}
	}
}

func TestWhatIsThereIsFound(t *testing.T) {
	if got := need.Program(t, "go", "no-such-tool", "go"); filepath.Base(got) != "go" {
		t.Errorf("got %q, want a path that ends in go", got)
	}
}
