package numeric

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f(0) … f(n-1), with as many concurrent calls as there are processors, and returns when all have returned.
// The calls begin in the order of the numbers but may end in any order, so a result must not depend on that order: each
// call writes to memory of its own, and sums are computed afterwards. A panic in a call is raised again here, and calls
// that have not begun by then are skipped.
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
