//go:build unix

package bench

import (
	"runtime"
	"syscall"
	"time"
)

func usage() (r syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails only for another argument
	return r
}

// ProcessorTime is what the process has used, user and system.
func ProcessorTime() time.Duration {
	r := usage()
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// PeakMiB is the most memory the process has had resident.
func PeakMiB() float64 {
	unit := 1024.0
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return float64(usage().Maxrss) * unit / (1 << 20)
}
