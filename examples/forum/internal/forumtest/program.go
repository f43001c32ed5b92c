// Package forumtest drives the forum as a process of its own, from the command line
// to the exit code. The tests of the forum share it.
package forumtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/rollcall-go/rollcall/internal/bound"
)

// CookieName is the forum's cookie with the name of the user.
const CookieName = "forum_name"

// asForum is an environment variable that makes the test program of the forum run as the forum.
const asForum = "FORUM_TEST_RUN"

// program returns the path of the forum's program.
var program = func() string { return os.Args[0] }

// Main runs the tests of a package and ends the process. The forum's own package passes its main function, so
// that its test program can also run as the forum. Other packages pass nil. Then the first test that starts a
// forum builds it once, with the race detector if the tests have it.
func Main(m interface{ Run() int }, main func()) {
	if main != nil {
		if os.Getenv(asForum) != "" {
			main()
		}
		os.Exit(m.Run())
	}
	os.Setenv("PRESENCE_REQUIRE", os.Getenv("PRESENCE_REQUIRE")+",slow") // the suites are slow by nature
	dir, err := os.MkdirTemp("", "forum")
	if err != nil {
		panic(err)
	}
	program = sync.OnceValue(func() string { return build(dir) })
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build builds the forum in a directory and returns the path of the program. It uses go run with cp as the
// runner, because only go run keeps the linked program for the next package's tests. The forum is built in its
// own module, whichever module the tests are in.
func build(dir string) string {
	file := filepath.Join(dir, "forum")
	home, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/rollcall-go/rollcall").Output()
	if err != nil {
		panic(fmt.Sprintf("find the forum: %v", err))
	}
	args := []string{"run", "-ldflags=-s -w", "-exec=cp"}
	if Raced {
		args = append(args, "-race")
	}
	run := exec.Command("go", append(args, "./examples/forum", file)...)
	run.Dir = strings.TrimSpace(string(home))
	if out, err := run.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build the forum: %v\n%s", err, out))
	}
	return file
}

// Command returns a command that runs the forum. With the race detector, a process waits at its end for a
// second for other reports; this forum does not.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := bound.To(exec.CommandContext(ctx, program(), args...), syscall.SIGKILL)
	cmd.Env = append(os.Environ(), asForum+"=1", "ADDR=", "REDIS_URL=", "SQL_URL=", "SECRET=", "MAIL_DIR=", "APP=", "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return cmd
}
