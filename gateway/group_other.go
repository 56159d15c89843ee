//go:build unix && !linux

package gateway

import (
	"os/exec"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func launch(cmd *exec.Cmd) error { return cmd.Start() }
