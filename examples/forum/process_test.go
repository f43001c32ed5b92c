package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
)

// asForum, in the environment, makes the test's own program the forum: what the
// tests drive is a process of its own, from the command line to the exit code.
const asForum = "FORUM_TEST_RUN"

// patience is how long a test waits for something that should be there at once,
// on a machine that has much else to do.
const patience = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asForum) != "" {
		main()
	}
	os.Exit(m.Run())
}

// forumCommand returns a command that runs the forum.
func forumCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := bound.To(exec.CommandContext(ctx, os.Args[0], args...), syscall.SIGKILL)
	cmd.Env = append(os.Environ(), asForum+"=1", "ADDR=", "REDIS_URL=", "SECRET=")
	return cmd
}

// A forum is a running one.
type forum struct {
	url    string
	cmd    *exec.Cmd
	stderr bytes.Buffer
	rest   chan string // what it still printed when it ended
}

// start runs a forum on a port of its own until the test ends. It must then
// stop cleanly, having printed one line and logged no fault.
func start(t *testing.T, args ...string) *forum {
	t.Helper()
	return startBy(t, forumCommand(context.WithoutCancel(t.Context()), append([]string{"-addr", "127.0.0.1:0"}, args...)...))
}

// startBy is start with a command of another program.
func startBy(t *testing.T, cmd *exec.Cmd) *forum {
	t.Helper()
	f := &forum{cmd: cmd, rest: make(chan string, 1)}
	f.cmd.Stderr = &f.stderr
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.stop(t, syscall.SIGTERM) })
	lines := bufio.NewReader(stdout)
	line, _ := lines.ReadString('\n')
	go func() {
		rest, _ := io.ReadAll(lines)
		f.rest <- string(rest)
	}()
	var ok bool
	if f.url, ok = strings.CutPrefix(strings.TrimSuffix(line, "\n"), "listening on "); !ok {
		t.Fatalf("first line: got %q, want listening on http://…", line)
	}
	return f
}

// stop sends a signal and checks how the forum ends. A second call does nothing.
func (f *forum) stop(t *testing.T, signal os.Signal) {
	t.Helper()
	if f.cmd.ProcessState != nil {
		return
	}
	if err := f.cmd.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	hangs := time.AfterFunc(patience, func() { _ = f.cmd.Process.Kill() })
	defer hangs.Stop()
	rest := <-f.rest // all is read before Wait closes the pipe
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("after %v: got %v, want exit code 0", signal, err)
	}
	if rest != "" {
		t.Errorf("standard output: got another %q, want one line", rest)
	}
	for line := range strings.Lines(f.stderr.String()) {
		if !strings.Contains(line, "level=INFO") {
			t.Errorf("standard error: got %q, want no fault", line)
		}
	}
}

// A visitor is a browser without a screen: it keeps cookies, and follows no
// redirect.
type visitor struct {
	t      *testing.T
	url    string
	client *http.Client
	header http.Header // of every request, beside what a browser sends
}

func (f *forum) visitor(t *testing.T) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, url: f.url, client: &http.Client{
		Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// ready waits until the forum knows who is there. A page waits 50 ms for that, and
// says so if it is too little.
func (f *forum) ready(t *testing.T) {
	t.Helper()
	reader := f.visitor(t)
	await(t, "the roster", func() bool { return reader.get("/presence/roster?topic=site").status == http.StatusOK })
}

// user returns a visitor who has signed in.
func (f *forum) user(t *testing.T, name string) *visitor {
	t.Helper()
	v := f.visitor(t)
	if res := v.post("/login", url.Values{"name": {name}}); res.status != http.StatusSeeOther {
		t.Fatalf("sign in as %q: got %d, want 303", name, res.status)
	}
	return v
}

// A response is one that was read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

func (v *visitor) do(method, path, contentType, body string) response {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	maps.Copy(req.Header, v.header)
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return response{res.StatusCode, res.Header, string(content)}
}

func (v *visitor) get(path string) response { return v.do(http.MethodGet, path, "", "") }

func (v *visitor) post(path string, form url.Values) response {
	v.t.Helper()
	return v.do(http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
}
