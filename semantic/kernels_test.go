package semantic

import (
	"bytes"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/internal/numeric"
)

// plainly runs f without the vector instructions.
func plainly(f func()) {
	defer func(was bool) { fast = was }(fast)
	fast = false
	f()
}

// The oracle is the plain form, bit by bit, on numbers of very different sizes.
func TestKernelsHaveTheSameBits(t *testing.T) {
	if !fast {
		t.Skip("this processor has no AVX2: there is one form only")
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		state := rapid.Uint64().Draw(t, "seed")
		number := func() float64 {
			state++
			x := mix(state)
			return math.Ldexp(float64(int64(x))/(1<<63), int(x%40)-20)
		}
		x, y, x32 := make([][]float64, 4), make([][]float64, 2), make([][]float32, 5)
		for i := range x {
			for range n {
				x[i] = append(x[i], number())
			}
		}
		for i := range x32 {
			for range n {
				x32[i] = append(x32[i], float32(number()))
			}
		}
		for range n {
			v := number()
			y[0], y[1] = append(y[0], v), append(y[1], v)
		}
		both := func(f func(y []float64)) {
			f(y[0])
			plainly(func() { f(y[1]) })
			require.Equal(t, y[1], y[0])
		}
		both(func(y []float64) { z := copyOf(x[1]); rotate(y, z, .6, .8); copy(y, z[:n/2]) })
		d := dot4(y[0], x[0], x[1], x[2], x[3])
		for i := range d {
			require.Equal(t, numeric.Dot(y[0], x[i]), d[i])
		}
		s := dots4(x32[4], x32[0], x32[1], x32[2], x32[3])
		for i := range s {
			require.Equal(t, dotLanes(x32[4], x32[i]), s[i])
			require.Equal(t, s[i], dot32(x32[4], x32[i]))
		}
	})
}

func copyOf(x []float64) []float64 { return append([]float64(nil), x...) }

// The same documents give the same index on any number of processors, with vector instructions and
// without.
func TestBuildIsTheSameWithoutVectorInstructions(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	docs := synthetic(300)
	hash := func() []byte {
		var b bytes.Buffer
		require.NoError(t, Build(docs, Options{}).Hash(&b))
		return b.Bytes()
	}
	want := hash()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 3, 4} {
		runtime.GOMAXPROCS(n)
		assert.True(t, bytes.Equal(want, hash()), "GOMAXPROCS=%d", n)
	}
	plainly(func() { assert.True(t, bytes.Equal(want, hash()), "plain") })
}
