package numeric

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEachCallsEveryNumberOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]atomic.Int32, n)
		Each(n, func(i int) { calls[i].Add(1) })
		for i := range calls {
			assert.EqualValues(t, 1, calls[i].Load(), i)
		}
	}
}

func TestEachPanicsWhereACallDoes(t *testing.T) {
	assert.PanicsWithValue(t, "seven", func() {
		Each(100, func(i int) {
			if i == 7 {
				panic("seven")
			}
		})
	})
}

func TestSpareLeavesAProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	defer Spare(0)
	for spare, most := range map[int]int32{0: 4, 1: 3, 9: 1} {
		Spare(spare)
		var now, seen atomic.Int32
		Each(64, func(int) {
			for n := now.Add(1); ; {
				if old := seen.Load(); n <= old || seen.CompareAndSwap(old, n) {
					break
				}
			}
			for range 100 { // so that the others begin
				runtime.Gosched()
			}
			now.Add(-1)
		})
		assert.LessOrEqual(t, seen.Load(), most)
	}
}
