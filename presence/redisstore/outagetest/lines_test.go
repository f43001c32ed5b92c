package outagetest_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// nodeEnv names the Redis of a child process that is a node: see runNode.
const nodeEnv = "OUTAGETEST_NODE"

// runNode is a node as a site has it, with the client of Open, the jobs and the default
// logger, until standard input ends.
func runNode(servers string) error {
	client, err := redisstore.OpenClient(servers)
	if err != nil {
		return err
	}
	defer client.Close()
	store := redisstore.New(client, redisstore.Config{})
	defer store.Close()
	tracker, err := track.New(store, track.Config{Age: 10 * time.Second, TTL: 6 * time.Second})
	if err != nil {
		return err
	}
	runner, err := jobs.Start(tracker, jobs.Config{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	conn, err := tracker.Connect(ctx, track.ConnectOptions{Topics: []presence.Topic{presence.Site}, Visitor: presence.Visitor{User: presence.User{ID: "alice"}}})
	if err != nil {
		return err
	}
	var views sync.WaitGroup
	views.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			tracker.Seen(presence.Site, presence.User{ID: "bob"}, presence.Device{})
			tracker.SeenGuest(presence.Site, "g")
			_, _ = tracker.Sightings(ctx, presence.Site, "bob")
		}
	})
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	views.Wait()
	conn.Close()
	runner.Stop()
	return tracker.Close(context.Background())
}

// A childNode is a node in a process of its own, and what it wrote on standard error.
type childNode struct {
	stdout, stderr syncbuf.Buffer
	stdin          io.Closer
	cmd            *exec.Cmd
}

func startNode(t *testing.T, servers string) *childNode {
	t.Helper()
	n := &childNode{cmd: bound.To(exec.Command(os.Args[0]), syscall.SIGKILL)}
	n.cmd.Env = append(os.Environ(), nodeEnv+"="+servers)
	n.cmd.Stdout, n.cmd.Stderr = &n.stdout, &n.stderr
	in, err := n.cmd.StdinPipe()
	noError(t, err)
	n.stdin = in
	noError(t, n.cmd.Start())
	t.Cleanup(func() { _ = n.cmd.Process.Kill(); _ = n.cmd.Wait() })
	n.until(t, &n.stdout, "ready")
	return n
}

func (n *childNode) until(t *testing.T, in *syncbuf.Buffer, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(in.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in\n%s%s", text, n.stdout.String(), n.stderr.String())
		}
	}
}

// While Redis is out a node writes two lines, whatever writes them: one when Redis goes
// out, and one when it is back.
func TestLinesOfAnOutage(t *testing.T) {
	need.Slow(t, "Redis is out for seconds")
	for name, start := range map[string]func(*testing.T) (servers string, kill, run func()){
		"one server": func(t *testing.T) (string, func(), func()) {
			s := redistest.StartTCP(t)
			return s.Addr, s.Kill, s.Run
		},
		"a cluster": func(t *testing.T) (string, func(), func()) {
			c := redistest.StartCluster(t, 1, 0, redistest.Patient()...)
			s := c.Master("k")
			return c.Addrs()[0] + ",", s.Kill, func() { s.Run(); c.Ready() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, kill, run := start(t)
			nodes := []*childNode{startNode(t, servers), startNode(t, servers)}
			time.Sleep(2 * time.Second)
			kill()
			for _, n := range nodes {
				n.until(t, &n.stderr, "the store is out")
			}
			time.Sleep(7 * time.Second)
			run()
			for _, n := range nodes {
				n.until(t, &n.stderr, "the store is back")
			}
			time.Sleep(3 * time.Second)
			for i, n := range nodes {
				n.stdin.Close()
				if err := n.cmd.Wait(); err != nil {
					t.Errorf("node %d: %v", i, err)
				}
				lines := strings.Split(strings.TrimSpace(n.stderr.String()), "\n")
				if len(lines) != 2 || !strings.Contains(lines[0], "WARN presence: the store is out") || !strings.Contains(lines[1], "INFO presence: the store is back") {
					t.Errorf("node %d wrote %d lines, want two:\n%s", i, len(lines), n.stderr.String())
				}
			}
		})
	}
}
