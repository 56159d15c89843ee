//go:build !unix

package bench

import "time"

// Without getrusage processor time is taken as wall time, and the peak of memory is not known.
var began = time.Now()

// ProcessorTime is what has passed since the program began.
func ProcessorTime() time.Duration { return time.Since(began) }

// PeakMiB is 0 where the system does not say.
func PeakMiB() float64 { return 0 }
