package main

import (
	"os"
	"runtime/debug"
)

// quietCollector lets the heap grow to five times what is live before it is collected: the live heap
// is small, and collecting it constantly costs 40 % of the processor time under load.
func quietCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// boundMemory makes the collector work harder rather than let the heap outgrow three fifths of the
// memory there is: a rebuild holds a second state beside the running one. GOMEMLIMIT says otherwise.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		if m := memory(); m > 0 {
			debug.SetMemoryLimit(int64(m / 5 * 3))
		}
	}
}
