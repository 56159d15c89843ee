//go:build unix

package gateway

import (
	"os/exec"
	"syscall"
)

// leave gives a process a group of its own.
func leave(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
