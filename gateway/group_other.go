//go:build !linux && !windows

package gateway

import "os/exec"

func launch(cmd *exec.Cmd) error { return cmd.Start() }
