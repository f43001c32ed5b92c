package bound

import (
	"os/exec"
	"syscall"
)

// To makes the kernel send a signal to cmd's program when this process ends, and returns cmd. Call it before
// the program starts. Send SIGKILL; a program with children of its own needs the signal that makes it end
// them too. On other systems than Linux, To does nothing.
//
// To the kernel, the parent is the thread that started the program: see https://go.dev/issue/27505. Do not
// start the program from a goroutine that ends while it is locked to its thread.
func To(cmd *exec.Cmd, signal syscall.Signal) *exec.Cmd {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = signal
	return cmd
}
