package spectral

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// spread calls work on [0,n) in pieces of the given size, on all processors. Every number is
// written by the one call whose piece it is in, and pieces do not depend on the number of
// processors: neither do results.
func spread(n, size int, work func(lo, hi int)) {
	pieces := (n + size - 1) / size
	workers := min(runtime.GOMAXPROCS(0), pieces)
	if workers <= 1 {
		for lo := 0; lo < n; lo += size {
			work(lo, min(lo+size, n))
			runtime.Gosched()
		}
		return
	}
	var next atomic.Int64
	take := func() {
		for {
			lo := int(next.Add(1)-1) * size
			if lo >= n {
				return
			}
			work(lo, min(lo+size, n))
			runtime.Gosched()
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(take)
	}
	take()
	wg.Wait()
}
