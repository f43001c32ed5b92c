package sites_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/internal/need"
)

// patience is how long a test waits for what should come soon, on a machine that has much
// else to do.
const patience = time.Minute

// The sites' times. A run with SITES_TTL=45s has those of production, and takes more than
// three minutes.
var (
	ttl   = 6 * time.Second
	grace = time.Second
)

// built is the folder with the programs of the sites. The first test builds them.
var built func() string

func TestMain(m *testing.M) {
	if long, err := time.ParseDuration(os.Getenv("SITES_TTL")); err == nil {
		ttl, grace = long, 10*time.Second
	}
	dir, err := os.MkdirTemp("", "sites")
	if err != nil {
		panic(err)
	}
	built = sync.OnceValue(func() string {
		args := []string{"build", "-ldflags=-s -w", "-o", dir + "/"}
		if raced {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, "./echov4", "./echov5", "./nethttp")...).CombinedOutput(); err != nil {
			panic(fmt.Sprintf("build the sites: %v\n%s", err, out))
		}
		return dir
	})
	os.Setenv("PRESENCE_REQUIRE", os.Getenv("PRESENCE_REQUIRE")+",slow") // what is here is slow by nature
	code := browse.Tests{M: m}.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// A process is that of a site. It comes back on the same address after kill.
type process struct {
	t    *testing.T
	host string // by which the browser knows it
	addr string
	name string
	args []string
	log  bytes.Buffer
	cmd  *exec.Cmd
}

// start starts a site by the name of its package.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	need.Slow(t, "it drives sites in a browser")
	p := &process{t: t, host: "site.test", addr: need.FreeAddr(t), name: name}
	p.args = append([]string{"-addr", p.addr, "-ttl", ttl.String(), "-grace", grace.String(), "-age", ttl.String(),
		"-short", (ttl / 2).String(), "-scripts", need.Package(t, ""), "-state", t.TempDir()}, args...)
	p.run()
	t.Cleanup(p.kill)
	return p
}

// url is that of a path, at a name that is not this machine's own: over plain HTTP a
// browser sends no Sec-Fetch-Site there, by which some checks spare what they would refuse.
func (p *process) url(path string) string {
	return "http://" + strings.Replace(p.addr, "127.0.0.1", p.host, 1) + path
}

// run starts the process, and returns once it listens.
func (p *process) run() {
	p.t.Helper()
	p.cmd = bound.To(exec.Command(filepath.Join(built(), p.name), p.args...), syscall.SIGKILL)
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, _ := lines.ReadString('\n'); line != "listening on http://"+p.addr+"\n" {
		p.t.Fatalf("%s: got %q, want that it listens on %s", p.name, line, p.addr)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
}

// kill ends the process at once.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// stop asks the process to end, as a deploy does, and returns all that was logged.
func (p *process) stop() string {
	p.t.Helper()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
		defer late.Stop()
		if err := p.cmd.Wait(); err != nil {
			p.t.Errorf("%s after SIGTERM: got %v, want exit code 0", p.name, err)
		}
		p.cmd = nil
	}
	return p.log.String()
}
