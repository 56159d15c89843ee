//go:build unix

package gateway

import (
	"os/exec"
	"syscall"
)

// group makes the child the leader of a process group of its own.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = groupAttr() }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// killGroup ends whatever is left of the group; that nothing is left is no error.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
