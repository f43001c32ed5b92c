package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/npm"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
	"github.com/rollcall-go/rollcall/internal/bound"
)

// A peer is one server among those compared.
type peer struct {
	name string
	// missing returns why the peer cannot run here, or nil.
	missing func(config) error
	// command returns a node's process. Nil: this program, with the peer's name as the role.
	command func(cfg config, b *bus, dir string) (*exec.Cmd, error)
	// open lets a member enter. The rest is what came behind what open waited for.
	open func(addr string, n int) (s socket, rest []byte, err error)
	// say lets a member say a word.
	say func(m *member, at time.Time) error
	// sse: members read events over HTTP, not frames of WebSockets.
	sse bool
	// alone: there is one node, and no Redis.
	alone bool
}

func nothing(config) error { return nil }

var peers = []*peer{
	{name: "rollcall", missing: nothing, open: openRollcall, say: sayRollcall},
	{name: "centrifuge", missing: nothing, open: openCentrifuge, say: sayCentrifuge},
	{name: "centrifuge, 50 ms", missing: nothing, open: openCentrifuge, say: sayCentrifuge},
	{name: "socket.io", missing: needs("socket.io", "@socket.io/redis-streams-adapter", "redis"), command: script("socketio.js", socketIOServer), open: openSocketIO, say: saySocketIO},
	{name: "hocuspocus", missing: needs("@hocuspocus/server", "@hocuspocus/extension-redis", "ioredis"), command: script("hocuspocus.mjs", hocuspocusServer), open: openHocuspocus, say: sayHocuspocus},
	{name: "mercure", missing: missingMercure, command: mercure, open: openMercure, say: sayMercure, sse: true, alone: true},
}

// roleVariable names the server that a child is.
const roleVariable = "ROLLCALL_BENCH_SIGNALS"

// A chatServer is a node in this program.
type chatServer interface {
	addr() string
	// obey does what a line says that only Rollcall understands.
	obey(words []string) error
}

// serve is a child. Its arguments are the path of the socket of Redis, or "", and the name of the
// node. It prints its address, and then obeys lines: "usage" asks for the time of its processors
// in nanoseconds; for the others see rollcall.go. It ends when its input does.
func serve(role string, args []string, in io.Reader, out io.Writer) error {
	makers := map[string]func(socket, name string) (chatServer, error){
		"rollcall":          newRollcall,
		"centrifuge":        func(socket, name string) (chatServer, error) { return newCentrifuge(socket, name, 0) },
		"centrifuge, 50 ms": func(socket, name string) (chatServer, error) { return newCentrifuge(socket, name, mergeWindow) },
	}
	if makers[role] == nil || len(args) != 2 {
		return errors.New("there is no server " + role)
	}
	s, err := makers[role](args[0], args[1])
	if err != nil {
		return err
	}
	fmt.Fprintln(out, s.addr())
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if words[0] != "usage" {
			if err := s.obey(words); err != nil {
				return err
			}
			continue
		}
		u, err := usage.Now(false)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, u.CPU().Nanoseconds())
	}
	return lines.Err()
}

// A node is a server as the parent has it.
type node struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr string
	dir  string // of its files
}

// start starts a node of a peer, with the name of the node.
func start(cfg config, p *peer, b *bus, name string) (n *node, err error) {
	n = &node{}
	if n.dir, err = os.MkdirTemp("", "signals"); err != nil {
		return nil, err
	}
	if p.command != nil {
		n.cmd, err = p.command(cfg, b, n.dir)
	} else {
		var self string
		self, err = os.Executable()
		n.cmd = exec.Command(self, b.path(), name)
		n.cmd.Env = append(os.Environ(), roleVariable+"="+p.name)
	}
	if err == nil {
		n.cmd.Stderr = os.Stderr
		n.in, err = n.cmd.StdinPipe()
	}
	var out io.Reader
	if err == nil {
		out, err = n.cmd.StdoutPipe()
	}
	if err == nil {
		err = bound.To(n.cmd, syscall.SIGKILL).Start()
	}
	if err != nil {
		os.RemoveAll(n.dir)
		return nil, err
	}
	n.out = bufio.NewReader(out)
	if p.alone {
		n.addr = mercureAddr
		if err := awaitPort(n.addr); err != nil {
			n.stop()
			return nil, err
		}
		return n, nil
	}
	line, err := n.out.ReadString('\n')
	if err != nil {
		n.stop()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	n.addr = strings.TrimSpace(line)
	return n, nil
}

// startAll starts all nodes of a peer.
func startAll(cfg config, p *peer, b *bus) (nodes []*node, err error) {
	count := 2
	if p.alone {
		count = 1
	}
	for i := range count {
		n, err := start(cfg, p, b, "n"+strconv.Itoa(i))
		if err != nil {
			stopAll(nodes)
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func stopAll(nodes []*node) {
	for _, n := range nodes {
		n.stop()
	}
}

// stop ends the node.
func (n *node) stop() {
	n.in.Close()
	n.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { n.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		n.cmd.Process.Kill()
		<-done
	}
	os.RemoveAll(n.dir)
}

// tell tells a node a line.
func (n *node) tell(line string) error {
	_, err := io.WriteString(n.in, line+"\n")
	return err
}

// exact returns the time of the processors that a node of this program has used.
func (n *node) exact() (time.Duration, error) {
	if err := n.tell("usage"); err != nil {
		return 0, err
	}
	answer, err := n.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(answer), 10, 64)
	return time.Duration(ns), err
}

// used returns the time of the processors that the nodes have used, in steps of 10 ms.
func used(nodes []*node) (sum time.Duration, err error) {
	for _, n := range nodes {
		t, err := processorTime(n.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		sum += t
	}
	return sum, nil
}

// ticksPerSecond is the unit of /proc/<pid>/stat.
const ticksPerSecond = 100

func processorTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("/proc/<pid>/stat is too short")
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// needs returns a function that tells which packages of npm are missing.
func needs(packages ...string) func(config) error {
	return func(cfg config) error { return npm.Missing(cfg.NodeModules, packages...) }
}

// script returns a function that starts a script of Node.js. Its argument is the socket of Redis.
func script(name string, text []byte) func(config, *bus, string) (*exec.Cmd, error) {
	return func(cfg config, b *bus, dir string) (*exec.Cmd, error) {
		err := npm.Write(dir, cfg.NodeModules, map[string][]byte{name: text})
		return exec.Command("node", filepath.Join(dir, name), b.path()), err
	}
}
