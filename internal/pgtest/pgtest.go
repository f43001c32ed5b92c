// Package pgtest starts real PostgreSQL servers for tests, on a unix socket and without
// TCP. A server takes about two seconds to start, so the tests of a package share one, and
// each test has a database of its own.
package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
)

// patience is how long a server may take to start.
const patience = time.Minute

// A Server is one PostgreSQL server. Its methods may not be called concurrently, except
// for Database.
type Server struct {
	bin, dir  string
	databases atomic.Int64
	cmd       *exec.Cmd // nil: stopped
	exited    chan struct{}
	log       *bytes.Buffer
}

// Start starts a server that ends with the test. A test that stops its server needs one
// of its own. Other tests call [Database].
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{bin: need.Postgres(t)}
	t.Cleanup(s.remove)
	if err := s.create(); err != nil {
		t.Fatal(err)
	}
	return s
}

// create makes a folder with a cluster of databases, and starts a server for it.
func (s *Server) create() (err error) {
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { // t.TempDir is too long for a socket
		return err
	}
	initdb := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err := owned(s.dir); err != nil {
		return err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.start()
}

// command is a program of PostgreSQL, which refuses to run as root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := bound.To(exec.Command(filepath.Join(s.bin, name), args...), syscall.SIGQUIT) // which ends its children too
	cmd.Dir = s.dir
	lowly(cmd)
	return cmd
}

// Run starts the server again after Stop or Kill, with the data that it had.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) start() error {
	s.log = &bytes.Buffer{}
	s.cmd = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-h", "",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200", "-c", "shared_buffers=32MB")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(s.cmd, s.exited)
	for began := time.Now(); time.Since(began) < patience; {
		var refused *exec.ExitError
		err := s.command("pg_isready", "-q", "-h", s.dir, "-U", "postgres").Run()
		if err == nil || !errors.As(err, &refused) {
			return err
		}
		select {
		case <-s.exited:
			return fmt.Errorf("postgres ended:\n%s", s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("postgres does not answer after %v", patience)
}

// Stop shuts the server down cleanly: it closes its connections and keeps all data.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Kill ends the server like a crash. It recovers when it runs again.
func (s *Server) Kill() { s.end(syscall.SIGQUIT) }

func (s *Server) end(signal syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal)
	select {
	case <-s.exited:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	s.cmd = nil
}

func (s *Server) remove() {
	s.Kill()
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// Database makes an empty database, and returns its URL. It takes about 50 ms.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if out, err := s.command("psql", "-qX", "-h", s.dir, "-U", "postgres", "-c", "CREATE DATABASE "+name).CombinedOutput(); err != nil {
		t.Fatalf("CREATE DATABASE: %v\n%s", err, out)
	}
	return "postgres://postgres@/" + name + "?host=" + url.QueryEscape(s.dir) + "&sslmode=disable"
}

// shared is the server of this process, which starts at the first use.
var shared struct {
	mu     sync.Mutex
	main   bool // Main is there to stop it
	server *Server
	err    error
}

// Database returns the URL of an empty database on a server that all tests of this
// process share. TestMain must pass its M through [Main], which stops that server.
func Database(t testing.TB) string {
	t.Helper()
	bin := need.Postgres(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		shared.server = &Server{bin: bin}
		shared.err = shared.server.create()
		if !shared.main {
			shared.err = errors.New("TestMain must pass its M through pgtest.Main")
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Database(t)
}

// A Runner is a [testing.M].
type Runner interface{ Run() int }

// Main returns an M that runs the tests and then stops the server that they shared, if
// any did. Use it as leak.VerifyTestMain(pgtest.Main(m)).
func Main(m Runner) Runner {
	shared.main = true
	return stopping{m}
}

type stopping struct{ Runner }

func (m stopping) Run() int {
	code := m.Runner.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		shared.server.remove()
	}
	return code
}
