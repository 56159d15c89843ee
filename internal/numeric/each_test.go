package numeric

import (
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
