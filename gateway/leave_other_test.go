//go:build !unix

package gateway

import "os/exec"

func leave(*exec.Cmd) {}
