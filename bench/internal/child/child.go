// Package child runs this program again as another process, and calls it over
// its standard input and output.
package child

import (
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A Process is a child.
type Process struct {
	cmd  *exec.Cmd
	rpc  *rpc.Client
	done chan error
}

// Start runs this program with an argument that names a role. The files are the
// child's from descriptor 3 on; they are closed here.
func Start(role string, files ...*os.File) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, role)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, files
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for _, f := range files {
		f.Close()
	}
	p := &Process{cmd: cmd, rpc: rpc.NewClient(stdio{out, in}), done: make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	return p, nil
}

const roleVariable = "ROLLCALL_BENCH_ROLE"

// Role returns the role that this process was started for, or "".
func Role() string { return os.Getenv(roleVariable) }

// Call calls a method of the child's receiver.
func Call[R any](p *Process, method string, args any) (reply R, err error) {
	if err = p.rpc.Call(method, args, &reply); err != nil {
		return reply, fmt.Errorf("%s: %w", method, err)
	}
	return reply, nil
}

// Stop ends the child: it goes when its input ends, and is killed otherwise.
func (p *Process) Stop() error {
	p.rpc.Close()
	select {
	case err := <-p.done:
		return err
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not stop", strings.Join(p.cmd.Args[1:], " "))
	}
}

// Kill ends the child at once, as kill -9 does, and waits.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
	p.rpc.Close()
	p.done <- nil // for Stop
}

// Serve serves a receiver's methods to the parent, until that has gone.
func Serve(name string, receiver any) error {
	s := rpc.NewServer()
	if err := s.RegisterName(name, receiver); err != nil {
		return err
	}
	s.ServeConn(stdio{os.Stdin, os.Stdout})
	return nil
}

type stdio struct {
	io.ReadCloser
	io.WriteCloser
}

func (s stdio) Close() error {
	s.WriteCloser.Close()
	return s.ReadCloser.Close()
}
