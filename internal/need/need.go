// Package need finds the programs and packages that some tests need. A test whose program is missing is
// skipped. It fails instead if PRESENCE_REQUIRE, a comma-separated list, names that program's group: so in CI
// a skipped test never looks like a passed one. Tests that take long run only where the list has the word slow,
// see [Slow]. [FreeAddr] returns addresses for servers of tests.
package need

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Program returns the path of a program that has one of these names. what is the program's group in
// PRESENCE_REQUIRE.
func Program(t testing.TB, what string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, what, strings.Join(names, " or "))
	return ""
}

// Chromium returns the path of a Chromium: of its shell without windows, where that is installed, since it takes
// a third of the processor's time.
func Chromium(t testing.TB) string {
	t.Helper()
	return Program(t, "chromium", append([]string{"chromium-headless-shell"}, windowed...)...)
}

// WindowedChromium returns the path of a Chromium as people have it. It keeps pages for the back button, which
// the shell does not.
func WindowedChromium(t testing.TB) string {
	t.Helper()
	return Program(t, "chromium", windowed...)
}

var windowed = []string{"chromium", "chromium-browser", "google-chrome"}

// Nginx returns the path of nginx, which is often in a directory that is not in PATH.
func Nginx(t testing.TB) string {
	t.Helper()
	return Program(t, "nginx", "nginx", "/usr/sbin/nginx")
}

// Postgres returns the directory with the programs of the newest PostgreSQL that is installed. Debian keeps
// it out of PATH. Its group in PRESENCE_REQUIRE is postgres.
func Postgres(t testing.TB) (bin string) {
	t.Helper()
	names, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(b, a)) })
	initdb := Program(t, "postgres", append(names, "initdb")...)
	if path, err := filepath.EvalSymlinks(initdb); err == nil {
		initdb = path // the other programs are beside it
	}
	return filepath.Dir(initdb)
}

// Package returns the path of a file or directory of the npm packages in .ci/clients, which it looks for in
// this directory and its parents.
func Package(t testing.TB, file string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".ci", "clients", "node_modules", file)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	missing(t, "npm", file)
	return ""
}

// Slow skips a test that takes seconds by nature, because it waits for processes, browsers or real time. It runs
// where PRESENCE_REQUIRE names slow, as in .ci/test, and not with -short.
func Slow(t testing.TB, why string) {
	t.Helper()
	if !AskedFor() {
		t.Skipf("slow: %s; .ci/test runs it, and so does PRESENCE_REQUIRE=slow", why)
	}
}

// AskedFor reports whether slow tests are to run.
func AskedFor() bool { return Required("slow") && !testing.Short() }

// Required reports whether PRESENCE_REQUIRE names something.
func Required(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("PRESENCE_REQUIRE"), ","), what)
}

func missing(t testing.TB, what, name string) {
	t.Helper()
	if Required(what) {
		t.Fatalf("%s is missing, and %s is required here: .ci/test installs it", name, what)
	}
	t.Skipf("%s is missing, so that this is not tested: .ci/test installs it", name)
}
