//go:build unix

package logtest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asNobody has a command run without the rights of root, and gives it a directory.
func asNobody(t *testing.T, cmd *exec.Cmd, dir string) {
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	require.NoError(t, os.Chown(dir, nobody, nobody))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}
