//go:build !linux

package handlers

import (
	"errors"
	"syscall"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// On systems other than Linux every stream has a goroutine.
const shardsWork = false

type poller struct{}

type edge struct {
	fd                         int
	readable, writable, hungUp bool
}

func newPoller() (*poller, error)          { return nil, errors.ErrUnsupported }
func (p *poller) watch(int) error          { return errors.ErrUnsupported }
func (p *poller) wait(wait.Wakeup)         {}
func (p *poller) edges(to []edge) []edge   { return to }
func (p *poller) close()                   {}
func descriptor(syscall.Conn) (int, bool)  { return 0, false }
func limitSocket(int)                      {}
func limitSharedSocket(int)                {}
func write(int, []byte) (n int, err error) { return 0, errors.ErrUnsupported }
func read(int, []byte) (n int, err error)  { return 0, errors.ErrUnsupported }
func closeWrite(int)                       {}
