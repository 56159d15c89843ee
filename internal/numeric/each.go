package numeric

import (
	"runtime"
	"sync"
	"sync/atomic"
)

var spared atomic.Int32

// Spare makes [Each] leave n processors to other work, but use at least one: a server answers requests while it builds.
func Spare(n int) { spared.Store(int32(n)) }

// Each calls f(0) … f(n-1), with as many concurrent calls as there are processors that [Spare] does not reserve, and
// returns when all have returned.
// The calls begin in the order of the numbers but may end in any order, so a result must not depend on that order: each
// call writes to memory of its own, and sums are computed afterwards. A panic in a call is raised again here, and calls
// that have not begun by then are skipped.
func Each(n int, f func(i int)) {
	var next atomic.Int64
	var panicked atomic.Pointer[any]
	var wait sync.WaitGroup
	for range min(n, max(1, runtime.GOMAXPROCS(0)-int(spared.Load()))) {
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
