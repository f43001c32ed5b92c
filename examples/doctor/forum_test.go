package main

import (
	"bufio"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// forum starts the example forum, and returns its address.
func forum(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := bound.To(exec.Command(program, append([]string{"-addr", "127.0.0.1:0"}, args...)...), syscall.SIGTERM)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("got %q, want an address", line)
	}
	return url
}

// Nothing is wrong with the forum. The stream is held for as long as by default.
func TestHealthyForum(t *testing.T) {
	t.Parallel()
	need.Slow(t, "it builds a forum and holds a stream for 35 s")
	program := filepath.Join(t.TempDir(), "forum")
	if out, err := exec.Command("go", "run", "-ldflags=-s -w", "-exec=cp", "../forum", program).CombinedOutput(); err != nil {
		t.Fatalf("build the forum: %v\n%s", err, out)
	}
	redis := redistest.Start(t).URL()
	for name, tt := range map[string]struct {
		flags, args []string
		page        string
		unknown     []string
	}{
		"in memory": {nil, nil, "/threads/1", []string{"sessions", "store"}},
		"on Redis":  {[]string{"-redis", redis}, []string{"-redis", redis, "-cookie", "forum_name=Alice"}, "/online", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, code := verdicts(t, allKnown(tt.unknown...), append(tt.args, forum(t, program, tt.flags...)+tt.page)...)
			if wantAll(t, found); code != 0 {
				t.Errorf("got code %d and %v, want 0", code, found)
			}
		})
	}
}

// A process that may open few files is named, where the site shows its metrics.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	site := wiring{}.handler(t)
	url := answers(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = w.Write([]byte("process_open_fds 12\nprocess_max_fds 1024\n"))
			return
		}
		site.ServeHTTP(w, r)
	})
	found, _ := verdicts(t, knows("limits"), "-for", "2s", url)
	if got := found["limits"]; got.State != isWrong || !strings.Contains(got.Says, "1024") {
		t.Errorf("got %+v, want that 1024 are few", got)
	}
}
