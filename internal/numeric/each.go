package numeric

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f(0) … f(n-1), as many at once as there are processors, and returns when all have returned.
// Calls take the next number when they are free, so the order in which numbers are begun is fixed and that in which they
// end is not: a result must not depend on it. Each call writes to places of its own, and sums are taken afterwards.
// What panics in a call panics here, and calls not begun by then are left out.
func Each(n int, f func(i int)) {
	var next atomic.Int64
	var panicked atomic.Pointer[any]
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.CompareAndSwap(nil, &p)
				}
			}()
			for i := next.Add(1) - 1; i < int64(n) && panicked.Load() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wait.Wait()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
}
