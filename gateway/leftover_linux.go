package gateway

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// endLeftovers kills what children of a process that was killed have left behind: processes that carry its mark
// in a group whose leader, the child, is gone. What left its group is its own.
func endLeftovers(mark string) (ended int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	marked := append([]byte{0}, markOf(mark)+"\x00"...)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !bytes.Contains(append([]byte{0}, environment...), marked) {
			continue
		}
		if group, _, ok := processOf(pid); ok && group != pid && !runs(group) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			ended++
		}
	}
	return ended
}

// runs reports whether a process is there and not only waiting to be buried.
func runs(pid int) bool {
	_, state, ok := processOf(pid)
	return ok && state != 'Z'
}

// processOf is the group and the state of a process: pid (name) state parent group …
func processOf(pid int) (group int, state byte, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // a name may hold anything
	if len(fields) < 3 {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[2]))
	return group, fields[0][0], err == nil
}
