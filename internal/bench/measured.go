// Package bench has the measures of benchmarks that package testing has not: processor time and the peak of memory.
package bench

import "testing"

// Processor is called just before the loop of a benchmark; the function it returns, after the loop,
// reports and returns the nanoseconds of processor time that an operation took. They distort less
// than wall time where the machine does other work as well.
func Processor(b *testing.B) func() float64 {
	begin := ProcessorTime()
	return func() float64 {
		ns := float64((ProcessorTime() - begin).Nanoseconds()) / float64(b.N)
		b.ReportMetric(ns, "cpu-ns/op")
		return ns
	}
}
