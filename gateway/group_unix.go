//go:build unix

package gateway

import (
	"os/exec"
	"syscall"
)

// group makes the child the leader of a process group of its own.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = groupAttr() }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// killGroup kills the processes that are left in the group. It is no error if there are none.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
