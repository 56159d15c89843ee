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

// tuneCollector lets the heap grow between collections to five times what is live while that is little, and by about
// [spare] bytes once it is large. It adjusts the growth after every collection. GOGC says otherwise.
func tuneCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(mostGrowth)
	afterCollection()
}

// afterCollection runs after each collection, which frees the object that it leaves behind.
func afterCollection() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() == metrics.KindUint64 {
		live := max(sample[0].Value.Uint64(), 1)
		debug.SetGCPercent(int(min(max(spare*100/live, leastGrowth), mostGrowth)))
	}
	runtime.AddCleanup(new([16]byte), func(struct{}) { afterCollection() }, struct{}{})
}
