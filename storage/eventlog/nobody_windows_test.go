package eventlog

import (
	"os/exec"
	"testing"
)

func asNobody(*testing.T, *exec.Cmd, string) {}
