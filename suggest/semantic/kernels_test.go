package semantic

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The oracle is the plain form, bit by bit, on numbers of very different sizes.
func TestKernelsHaveTheSameBits(t *testing.T) {
	if !fast {
		t.Skip("this processor has no AVX2: there is one form only")
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		number := func() float64 {
			x := random.Uint64()
			return math.Ldexp(float64(int64(x))/(1<<63), int(x%40)-20)
		}
		x32 := make([][]float32, 5)
		for i := range x32 {
			for range n {
				x32[i] = append(x32[i], float32(number()))
			}
		}
		s := dots4(x32[4], x32[0], x32[1], x32[2], x32[3])
		for i := range s {
			require.Equal(t, dotLanes(x32[4], x32[i]), s[i])
			require.Equal(t, s[i], dot32(x32[4], x32[i]))
		}
	})
}
