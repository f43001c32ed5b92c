// Package ownredis starts a Redis of its own for a run.
package ownredis

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/internal/bound"
)

// A Server is a Redis without persistence.
type Server struct {
	Dir     string // a folder of its own, which Stop removes
	Socket  string // where it listens
	Client  *redis.Client
	Process *os.Process

	cmd *exec.Cmd
}

// Start starts redis-server, and returns once it answers.
func Start(ctx context.Context) (*Server, error) {
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, Socket: filepath.Join(dir, "redis.sock")}
	s.cmd = bound.To(exec.Command("redis-server", "--port", "0", "--unixsocket", s.Socket, "--save", "", "--appendonly", "no", "--dir", dir), syscall.SIGKILL)
	if err := s.cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s.Process = s.cmd.Process
	s.Client = redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket, MaxRetries: -1})
	for range 500 {
		if s.Client.Ping(ctx).Err() == nil {
			return s, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Stop()
	return nil, errors.New("redis-server does not answer")
}

// Stop kills the server.
func (s *Server) Stop() {
	s.Client.Close()
	_ = s.Process.Kill()
	_ = s.cmd.Wait()
	os.RemoveAll(s.Dir)
}
