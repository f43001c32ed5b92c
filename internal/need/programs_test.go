package need_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// Whoever runs go test ./... reads in one line for each missing program which tests were skipped.
func TestPrograms(t *testing.T) {
	program := func(what string, names ...string) func(testing.TB) {
		return func(t testing.TB) { need.Program(t, what, names...) }
	}
	for _, p := range []struct {
		untested string
		look     func(testing.TB)
	}{
		{"chromium is missing: no test with a browser", func(t testing.TB) { need.Chromium(t) }},
		{"node is missing: no test of the widget's script", program("node", "node", "nodejs")},
		{"npm packages are missing (.ci/test gets them): no check of the script's types", func(t testing.TB) { need.Package(t, ".bin/tsc") }},
		{"redis-server is missing: no test of the Redis store", program("redis", "redis-server")},
		{"valkey-server is missing: no test of the Redis store on Valkey", program("valkey", "valkey-server")},
		{"nginx is missing: no test behind a proxy", func(t testing.TB) { need.Nginx(t) }},
		{"PostgreSQL is missing: no test of people and feeds in PostgreSQL", func(t testing.TB) { need.Postgres(t) }},
		{"promtool is missing: no test of the alerts and the dashboard", program("prometheus", "promtool")},
		{"slow tests: .ci/test runs them", func(t testing.TB) { need.Slow(t, "") }},
	} {
		switch verdictOf(p.look) {
		case "skipped":
			t.Log(p.untested)
			if err := tell("skipped: " + p.untested); err != nil {
				t.Log(err)
			}
		case "failed":
			t.Error(p.untested)
		}
	}
}

// tell writes a line to the standard error of the go command, which shows what a passing test writes only if
// it runs with -v. Linux has that file in /proc. The terminal serves other systems. A regular file is left
// alone, because the go command would write over the line.
func tell(line string) error {
	name := fmt.Sprintf("/proc/%d/fd/2", os.Getppid())
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		name = "/dev/tty"
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, line)
	return errors.Join(err, out.Close())
}

// verdictOf returns how a test ends that needs something.
func verdictOf(needs func(testing.TB)) string {
	v := &verdict{was: "passed"}
	done := make(chan struct{})
	go func() { defer close(done); needs(v) }()
	<-done
	return v.was
}
