package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	mostGrowth  = 400       // percent: collecting a small heap constantly costs 40 % of the processor time under load
	leastGrowth = 25        // percent
	spare       = 192 << 20 // bytes that a large heap may grow between collections
)

// tuneCollector lets a small heap grow to five times its live size between collections, and a large one by about
// [spare] bytes. It adjusts the growth after every collection. If GOGC is set, it does nothing.
func tuneCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	afterCollection()
}

// afterCollection sets the growth. It runs after each collection, as the cleanup of an object that it allocates and
// drops.
func afterCollection() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := max(sample[0].Value.Uint64(), 1)
	debug.SetGCPercent(int(min(max(spare*100/live, leastGrowth), mostGrowth)))
	runtime.AddCleanup(new([16]byte), func(struct{}) { afterCollection() }, struct{}{})
}
