// Package cluster has no code: its tests run the fleet of this directory.
package cluster

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
)

// patience is how long the fleet may take to start on a machine that has much
// else to do.
const patience = 3 * time.Minute

// TestRun starts the fleet as its documentation says, signs in at one forum, sees
// the user at both and through nginx, and stops it: nothing may be left.
func TestRun(t *testing.T) {
	t.Parallel()
	need.Slow(t, "it builds a forum and starts a fleet")
	need.Program(t, "redis", "redis-server")
	need.Program(t, "redis", "redis-cli")
	need.Nginx(t)
	tmp := t.TempDir()
	port := freePorts(t)
	cmd := bound.To(exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "./run"), syscall.SIGTERM)
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port), "TMPDIR="+tmp)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hangs := time.AfterFunc(patience, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer hangs.Stop()

	var forums []string
	var front string
	lines := bufio.NewScanner(stdout)
	for front == "" && lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "nginx in front: "); ok {
			front = url
		}
		if m := regexp.MustCompile(`^forum\d: (http://\S+) `).FindStringSubmatch(lines.Text()); m != nil {
			forums = append(forums, m[1])
		}
	}
	if front != "" && len(forums) == 2 {
		signIn(t, front)
		for _, url := range append(forums, front) {
			sees(t, url)
		}
	} else {
		t.Errorf("got forums %v and front %q, want two and an address\n%s", forums, front, &stderr)
	}

	_ = cmd.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, want exit code 0\n%s", err, &stderr)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "tmp.*")); err != nil || len(left) > 0 {
		t.Errorf("got %v left over, want nothing", left)
	}
	for _, url := range append(forums, front) {
		if conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
			conn.Close()
			t.Errorf("%s still listens", url)
		}
	}
}

// signIn views a page as Alice.
func signIn(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Post(url+"/login", "application/x-www-form-urlencoded", strings.NewReader("name=Alice"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		req.AddCookie(c)
	}
	page, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if res.StatusCode != http.StatusSeeOther || page.StatusCode != http.StatusOK {
		t.Errorf("%s: got %d for the sign-in and %d for the page, want 303 and 200", url, res.StatusCode, page.StatusCode)
	}
}

// sees waits until a forum shows Alice.
func sees(t *testing.T, url string) {
	t.Helper()
	var body []byte
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		res, err := http.Get(url + "/presence/roster?topic=site")
		if err != nil {
			t.Fatal(err)
		}
		body, _ = io.ReadAll(res.Body)
		res.Body.Close()
		if strings.Contains(string(body), `"alice"`) {
			return
		}
	}
	t.Errorf("%s: got %s, want alice in it", url, body)
}

// freePorts returns a port that is free, with those that run derives from it.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		probe, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := probe.Addr().(*net.TCPAddr).Port
		probe.Close()
		free := port < 65000
		for _, offset := range []int{0, 1, 2, 3, 11, 12, 101, 102, 103} {
			l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+offset))
			if free = free && err == nil; err == nil {
				l.Close()
			}
		}
		if free {
			return port
		}
	}
	t.Fatal("there are no free ports")
	return 0
}

// TestCompose holds compose.yaml against what it refers to: its own anchors and
// services, the files of this directory, and the forum's flags.
func TestCompose(t *testing.T) {
	text := read(t, "compose.yaml")
	_, services, _ := strings.Cut(text, "\nservices:\n")
	defined := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^  (\w+):`).FindAllStringSubmatch(services, -1) {
		defined[m[1]] = true
	}
	for _, name := range []string{"redis1", "redis2", "redis3", "create", "forum1", "forum2", "nginx"} {
		if !defined[name] {
			t.Errorf("there is no service %s", name)
		}
	}
	anchors := make(map[string]bool)
	for _, m := range regexp.MustCompile(`: &(\w+)\n`).FindAllStringSubmatch(text, -1) {
		anchors[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`: \*(\w+)\n`).FindAllStringSubmatch(text, -1) {
		if !anchors[m[1]] {
			t.Errorf("nothing is called &%s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+(\w+): \{ condition:|depends_on: \[(.*)\]`).FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			if !defined[strings.TrimSpace(name)] {
				t.Errorf("something depends on %q, which is no service", name)
			}
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "\t") || (len(line)-len(strings.TrimLeft(line, " ")))%2 != 0 {
			t.Errorf("line %d: got %q, want an even number of spaces before it", i+1, line)
		}
	}
	for _, file := range regexp.MustCompile(`dockerfile: (\S+)`).FindStringSubmatch(text)[1:] {
		read(t, filepath.Join("../..", file))
	}
	conf := read(t, strings.Trim(regexp.MustCompile(`"\./(\S+?):`).FindStringSubmatch(text)[1], " "))
	for _, name := range []string{"forum1", "forum2"} {
		if !strings.Contains(conf, "server "+name+":8080") {
			t.Errorf("nginx.conf does not know %s", name)
		}
	}
	command := regexp.MustCompile(`\n  command: \[(.*)\]`).FindStringSubmatch(text)[1]
	flags := read(t, "../forum/config.go")
	for _, m := range regexp.MustCompile(`"-([a-z]+)"`).FindAllStringSubmatch(command, -1) {
		if !strings.Contains(flags, `, "`+m[1]+`", `) {
			t.Errorf("the forum has no flag -%s", m[1])
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
