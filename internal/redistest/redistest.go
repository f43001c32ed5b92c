// Package redistest starts real redis-server processes for tests: one on a unix
// socket in a tenth of a second, a cluster on free ports in a few. Each ends
// with its test, and leaves nothing behind.
package redistest

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
)

// patience is how long a server may take for a step that usually takes no time. A server that takes longer
// hangs.
const patience = time.Minute

// Program is the server to start: the value of REDIS_SERVER, or redis-server.
func Program() string {
	if p := os.Getenv("REDIS_SERVER"); p != "" {
		return p
	}
	return "redis-server"
}

// A Server is one running redis-server.
type Server struct {
	t       testing.TB
	program string
	args    []string
	dir     string
	cmd     *exec.Cmd
	exited  chan struct{}
	log     *bytes.Buffer

	Socket string // path of its unix socket; empty: it listens on Addr
	Addr   string // 127.0.0.1:port; empty: it listens on Socket
}

// Start starts a server on a unix socket, without persistence, with further
// arguments as redis-server takes them.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartProgram(t, Program(), args...)
}

// StartProgram is Start with another program, such as valkey-server.
func StartProgram(t testing.TB, program string, args ...string) *Server {
	t.Helper()
	s := newServer(t, program)
	s.Socket = filepath.Join(s.dir, "redis.sock")
	s.args = append(s.plain("--port", "0", "--unixsocket", s.Socket), args...)
	s.Run()
	return s
}

// StartTCP starts a server on a free port of 127.0.0.1.
func StartTCP(t testing.TB, args ...string) *Server {
	t.Helper()
	s := newServer(t, Program())
	s.Addr = need.FreeAddr(t)
	_, port, _ := net.SplitHostPort(s.Addr)
	s.args = append(s.plain("--bind", "127.0.0.1", "--port", port), args...)
	s.Run()
	return s
}

func newServer(t testing.TB, program string) *Server {
	t.Helper()
	program = need.Program(t, "redis", program)
	dir, err := os.MkdirTemp("", "redis") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, program: program, dir: dir}
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	return s
}

// plain are the arguments of a server without persistence.
func (s *Server) plain(args ...string) []string {
	return append([]string{"--save", "", "--appendonly", "no", "--dir", s.dir, "--daemonize", "no"}, args...)
}

// Run starts the server, again after Kill, and returns when it answers.
func (s *Server) Run() {
	s.t.Helper()
	s.log = &bytes.Buffer{}
	s.cmd = bound.To(exec.Command(s.program, s.args...), syscall.SIGKILL)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(s.cmd, s.exited)
	c := s.client()
	defer c.Close()
	for began := time.Now(); time.Since(began) < patience; {
		if c.Ping(context.Background()).Err() == nil {
			return
		}
		select {
		case <-s.exited:
			s.t.Fatalf("%s ended:\n%s", s.program, s.log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.t.Fatalf("%s does not answer:\n%s", s.program, s.log)
}

// Kill ends the server at once, as kill -9 does, and waits.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		<-s.exited
		s.cmd = nil
	}
}

// Pid is the server's process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// URL returns the server's URL, in the form of the forum's flag -redis.
func (s *Server) URL() string {
	if s.Socket != "" {
		return "unix://" + s.Socket
	}
	return "redis://" + s.Addr
}

func (s *Server) options() *redis.Options {
	if s.Socket != "" {
		return &redis.Options{Network: "unix", Addr: s.Socket}
	}
	return &redis.Options{Addr: s.Addr}
}

func (s *Server) client() *redis.Client {
	o := s.options()
	o.MaxRetries = -1
	return redis.NewClient(o)
}

// Client returns a client of the server that is closed with the test.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(s.options())
	s.t.Cleanup(func() { c.Close() })
	return c
}
