package forumtest

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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
)

// Patience is how long a test waits for something that should be there at once, in case the machine is busy.
const Patience = time.Minute

// A Forum is a running forum process.
type Forum struct {
	URL    string
	cmd    *exec.Cmd
	stderr logged
	rest   chan string // the rest of its output, once it has ended
}

// A logged is a buffer that may be read while a process writes to it.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Start runs a forum on a port of its own until the test ends. Then the forum must stop cleanly, having
// printed one line and logged no fault.
func Start(t *testing.T, args ...string) *Forum {
	t.Helper()
	need.Slow(t, "it drives a forum")
	args = append([]string{"-addr", "127.0.0.1:0"}, args...)
	f := &Forum{cmd: Command(context.WithoutCancel(t.Context()), args...), rest: make(chan string, 1)}
	f.cmd.Stderr = &f.stderr
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Stop(t, syscall.SIGTERM) })
	lines := bufio.NewReader(stdout)
	line, _ := lines.ReadString('\n')
	go func() {
		rest, _ := io.ReadAll(lines)
		f.rest <- string(rest)
	}()
	var ok bool
	if f.URL, ok = strings.CutPrefix(strings.TrimSuffix(line, "\n"), "listening on "); !ok {
		t.Fatalf("first line: got %q, want listening on http://…", line)
	}
	return f
}

// Logged is what the forum wrote to standard error so far.
func (f *Forum) Logged() string { return f.stderr.String() }

// Stop sends a signal and checks how the forum ends. A second call does nothing.
func (f *Forum) Stop(t *testing.T, signal os.Signal) {
	t.Helper()
	if f.cmd.ProcessState != nil {
		return
	}
	if err := f.cmd.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	hangs := time.AfterFunc(Patience, func() { _ = f.cmd.Process.Kill() })
	defer hangs.Stop()
	rest := <-f.rest // read all output, before Wait closes the pipe
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

// A Visitor is a browser without a screen. It keeps cookies, and does not follow redirects.
type Visitor struct {
	T      *testing.T
	URL    string
	Client *http.Client
	Header http.Header // of every request, beside the headers of a browser
	Host   string      // the host in the browser's address bar; empty: that of URL
}

// As returns the same browser at another host of the forum. Cookies are by host, as in browsers.
func (v *Visitor) As(host string) *Visitor {
	other := *v
	other.Host = host
	return &other
}

func (f *Forum) Visitor(t *testing.T) *Visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Visitor{T: t, URL: f.URL, Client: &http.Client{
		Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// Ready waits until the forum has loaded its roster. A page waits only 50 ms for that, and otherwise says that
// it does not know who is online.
func (f *Forum) Ready(t *testing.T) {
	t.Helper()
	reader := f.Visitor(t)
	Await(t, "the roster", func() bool { return reader.Get("/presence/roster?topic=site").Status == http.StatusOK })
}

// User returns a visitor who has signed in. If the address has sent too many requests, it waits. A test with
// many users on a fast machine gets there.
func (f *Forum) User(t *testing.T, name string) *Visitor {
	t.Helper()
	v := f.Visitor(t)
	v.SignIn(name)
	return v
}

// SignIn signs the visitor in.
func (v *Visitor) SignIn(name string) {
	v.T.Helper()
	res := v.Post("/login", url.Values{"name": {name}})
	for deadline := time.Now().Add(Patience); res.Status == http.StatusTooManyRequests && time.Now().Before(deadline); {
		time.Sleep(time.Second)
		res = v.Post("/login", url.Values{"name": {name}})
	}
	if res.Status != http.StatusSeeOther {
		v.T.Fatalf("sign in as %q: got %d, want 303", name, res.Status)
	}
}

// A Response is an answer whose body was read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

func (v *Visitor) Do(method, path, contentType, body string) Response {
	v.T.Helper()
	ctx, cancel := context.WithTimeout(v.T.Context(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, v.URL+path, strings.NewReader(body))
	if err != nil {
		v.T.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	maps.Copy(req.Header, v.Header)
	req.Host = v.Host
	res, err := v.Client.Do(req)
	if err != nil {
		v.T.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		v.T.Fatal(err)
	}
	return Response{res.StatusCode, res.Header, string(content)}
}

func (v *Visitor) Get(path string) Response { return v.Do(http.MethodGet, path, "", "") }

func (v *Visitor) Post(path string, form url.Values) Response {
	v.T.Helper()
	return v.Do(http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
}
