package stop

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
)

// walks are tasks of ten tools, of which 9 ends a task half of the times, 8 ends it always after a 3
// and never otherwise, and the others one time of ten.
func walks(n int, seed uint64) []Task {
	r := rand.New(rand.NewPCG(seed, 5))
	tasks := make([]Task, n)
	for i := range tasks {
		tasks[i].Group = uint64(i)
		for over := false; !over; {
			t := r.Int32N(10)
			before := tasks[i].Tools
			tasks[i].Tools = append(before, t)
			switch {
			case t == 9:
				over = r.IntN(2) == 0
			case t == 8:
				over = len(before) > 0 && before[len(before)-1] == 3
			default:
				over = r.IntN(10) == 0
			}
		}
	}
	return tasks
}

func TestWeightsAreTheSameOnAnyNumberOfProcessors(t *testing.T) {
	past := walks(300, 3)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := Fit(past, nil)
	runtime.GOMAXPROCS(8)
	assert.Equal(t, one, Fit(past, nil))

	var w codec.Writer
	one.Write(&w)
	r := codec.NewReader(w.Bytes)
	read := Read(r)
	require.NoError(t, r.End())
	assert.Equal(t, one, read)
	assert.Equal(t, New(past, one).Over([]int32{3, 8}), New(past, read).Over([]int32{3, 8}))
}

func TestFitStops(t *testing.T) {
	assert.Nil(t, Fit(walks(300, 3), func() bool { return true }))
}

func TestNoHistoryIsNoReason(t *testing.T) {
	m := New(nil, Fit(nil, nil))
	p := m.Over([]int32{1, 2})
	assert.True(t, p >= 0 && p <= 1, p)
}

func BenchmarkOver(b *testing.B) {
	past := walks(4000, 1)
	m := New(past, Fit(past, nil))
	for b.Loop() {
		m.Over([]int32{1, 2, 3, 4, 5, 6, 7, 8})
	}
}
