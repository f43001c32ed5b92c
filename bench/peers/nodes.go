package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
)

// nodes are the processes of a fleet: the part of it that most peers share.
type nodes struct {
	dir string // for their logs
	// command returns the process of a node that is to listen at addr.
	command func(node int, addr string) (*exec.Cmd, error)
	// ready returns nil once the node answers. Nil: once it accepts a connection.
	ready func(ctx context.Context, addr string) error

	mu    sync.Mutex
	addrs [4]string
	procs [4]*process
}

// A process is a node that runs.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startTime is how long a node may take to start.
const startTime = 30 * time.Second

func (n *nodes) addr(node int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.addrs[node] == "" {
		n.addrs[node] = freeAddr()
	}
	return n.addrs[node]
}

// freeAddr returns an address of this machine where nobody listens.
func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // the machine has no port left
	}
	defer l.Close()
	return l.Addr().String()
}

func (n *nodes) start(ctx context.Context, node int) error {
	addr := n.addr(node)
	cmd, err := n.command(node, addr)
	if err != nil {
		return err
	}
	path := filepath.Join(n.dir, fmt.Sprintf("node%d.log", node))
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := bound.To(cmd, syscall.SIGKILL).Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() { cmd.Wait(); close(p.done) }()
	n.mu.Lock()
	n.procs[node] = p
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ready := n.ready
	if ready == nil {
		ready = accepts
	}
	for {
		if err = ready(ctx, addr); err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("node %d ended: %s", node, tail(path))
		case <-ctx.Done():
			n.kill(node)
			return fmt.Errorf("node %d does not answer: %w; %s", node, err, tail(path))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func accepts(_ context.Context, addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		conn.Close()
	}
	return err
}

// fetch sends a request, and returns the body of an answer that is no error. A function, if there is
// one, sets headers.
func fetch(ctx context.Context, client *http.Client, method, address, body string, headers func(http.Header)) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if headers != nil {
		headers(req.Header)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", address, res.Status)
	}
	return b, err
}

// tail returns the end of a file.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(len(b)-1000, 0):])
}

func (n *nodes) running(node int) *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.procs[node]
}

func (n *nodes) kill(node int) {
	if p := n.running(node); p != nil {
		p.cmd.Process.Kill()
		<-p.done
	}
}

func (n *nodes) stop(node int) error {
	p := n.running(node)
	if p == nil {
		return nil
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(10 * time.Second):
		n.kill(node)
		return errors.New("the node did not stop within ten seconds")
	}
}

func (n *nodes) pid(node int) int {
	if p := n.running(node); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

func (n *nodes) killAll() {
	n.kill(1)
	n.kill(2)
	n.kill(3)
}
