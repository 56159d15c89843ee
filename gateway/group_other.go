//go:build !linux

package gateway

import "os/exec"

func launch(cmd *exec.Cmd) error { return cmd.Start() }
