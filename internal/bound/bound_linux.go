package bound

import (
	"os/exec"
	"syscall"
)

// To makes the kernel send a signal to a program, which is yet to be started,
// when this process ends: SIGKILL, or for a program that has children of its own
// what makes it end them. It returns cmd. Elsewhere than on Linux it does nothing.
//
// To the kernel a parent is the thread that started the program, see
// https://go.dev/issue/27505: do not start it from a goroutine that ends locked to
// its thread.
func To(cmd *exec.Cmd, signal syscall.Signal) *exec.Cmd {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = signal
	return cmd
}
