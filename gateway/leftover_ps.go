//go:build unix && !linux

package gateway

import (
	"os/exec"
	"runtime"
	"syscall"
)

// endLeftovers kills what children of a process that was killed have left behind, as far as ps shows the environment of
// processes: macOS hides that of its own programs.
func endLeftovers(mark string) (ended int) {
	flags := "-axwwe"
	if runtime.GOOS == "darwin" {
		flags = "-axwwE" // there -e is another flag
	}
	list, err := exec.Command("/bin/ps", flags, "-o", "pid=", "-o", "pgid=", "-o", "command=").Output()
	if err != nil {
		return 0
	}
	for _, pid := range leftovers(string(list), mark) {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			ended++
		}
	}
	return ended
}
