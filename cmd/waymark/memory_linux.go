package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// memory is how much this process may have: what its control group allows, or what the machine has.
// 0 if neither says.
func memory() uint64 {
	var s syscall.Sysinfo_t
	if err := syscall.Sysinfo(&s); err != nil {
		return 0
	}
	total := uint64(s.Totalram) * uint64(s.Unit)
	b, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return total
	}
	if allowed, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil { // else it is "max"
		return min(allowed, total)
	}
	return total
}
