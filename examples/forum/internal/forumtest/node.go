package forumtest

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
)

// A Node is a forum process that can be restarted on the same address.
type Node struct {
	T    *testing.T
	Args []string
	Addr string

	mu  sync.Mutex
	Cmd *exec.Cmd
	Log bytes.Buffer

	ended atomic.Pointer[Ended]
}

// Ended says when a process was last asked to end, and whether it was killed.
type Ended struct {
	At     time.Time
	Killed bool
}

// LastEnd returns when and how a process of the node last ended.
func (n *Node) LastEnd() Ended {
	if e := n.ended.Load(); e != nil {
		return *e
	}
	return Ended{}
}

// Run starts the process, and returns once it listens.
func (n *Node) Run() {
	need.Slow(n.T, "it drives a forum")
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Cmd != nil {
		return
	}
	cmd := Command(context.Background(), append([]string{"-addr", n.Addr}, n.Args...)...)
	cmd.Stderr = &n.Log
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.T.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		n.T.Error(err)
		return
	}
	n.Cmd = cmd
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "listening on http://"+n.Addr+"\n" {
		n.T.Errorf("got %q, want the address %s", line, n.Addr)
	}
}

// Kill ends the process at once.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Cmd != nil {
		n.ended.Store(&Ended{time.Now(), true})
		_ = n.Cmd.Process.Kill()
		_ = n.Cmd.Wait()
		n.Cmd = nil
	}
}

// Stop asks the process to end, as a deploy does, and waits until it has ended.
func (n *Node) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Cmd == nil {
		return
	}
	n.ended.Store(&Ended{time.Now(), false})
	_ = n.Cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(Patience, func() { _ = n.Cmd.Process.Kill() })
	defer late.Stop()
	if err := n.Cmd.Wait(); err != nil {
		n.T.Errorf("after SIGTERM: got %v, want exit code 0", err)
	}
	n.Cmd = nil
}

// URL returns the URL of a page on the node.
func (n *Node) URL(path string) string { return "http://" + n.Addr + path }

// Logged is what the process wrote to standard error.
func (n *Node) Logged() string {
	n.Kill()
	return n.Log.String()
}

// FindTime is how long nodes need to find out that Redis is back (2 s), and to restore data that Redis lost
// before they read it (1.5 s).
const FindTime = 3500 * time.Millisecond
