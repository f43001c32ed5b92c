// Package need finds the programs and packages that some tests need. Where one is
// missing the test is skipped; but it fails where PRESENCE_REQUIRE, a list with
// commas between, names what it belongs to, so that in CI nothing that was skipped
// looks as if it had passed. It also gives servers of tests an address: [FreeAddr].
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

// Program returns the path of a program, which has one of these names. What it
// belongs to is a word of PRESENCE_REQUIRE.
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

// Chromium returns the path of a Chromium.
func Chromium(t testing.TB) string {
	t.Helper()
	return Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
}

// Nginx returns the path of nginx, which is not on everybody's PATH.
func Nginx(t testing.TB) string {
	t.Helper()
	return Program(t, "nginx", "nginx", "/usr/sbin/nginx")
}

// Postgres returns the folder of PostgreSQL's programs, of the newest version that is
// here. Debian keeps them off the PATH. Its word in PRESENCE_REQUIRE is postgres.
func Postgres(t testing.TB) (bin string) {
	t.Helper()
	names, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(b, a)) })
	initdb := Program(t, "postgres", append(names, "initdb")...)
	if path, err := filepath.EvalSymlinks(initdb); err == nil {
		initdb = path // the others are where it is
	}
	return filepath.Dir(initdb)
}

// Package returns the path of a file or folder of the npm packages that stand in
// .ci/clients, here or above.
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
