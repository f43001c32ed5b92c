//go:build !linux

package bound

import (
	"os/exec"
	"syscall"
)

// To returns cmd. Only Linux can bind the program to this process.
func To(cmd *exec.Cmd, _ syscall.Signal) *exec.Cmd { return cmd }
