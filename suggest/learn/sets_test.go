package learn

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func falls(t *rapid.T, n int) []float64 {
	p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, n).Draw(t, "p")
	slices.Sort(p)
	slices.Reverse(p)
	return p
}

// The second method: all 2ⁿ true sets.
func TestSizeAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := falls(t, 9)
		best := 0.0
		for k := 1; k <= len(p); k++ {
			e := 0.0
			for set := range 1 << len(p) {
				chance, size, hit := 1.0, 0, 0
				for i := range p {
					if set>>i&1 == 1 {
						chance *= p[i]
						size++
						if i < k {
							hit++
						}
					} else {
						chance *= 1 - p[i]
					}
				}
				e += chance * 2 * float64(hit) / float64(k+size)
			}
			best = max(best, e)
		}
		_, f1 := Size(p, 25)
		assert.InDelta(t, best, f1, 1e-9)
	})
}

func TestSizeKeepsItsBound(t *testing.T) {
	p := make([]float64, 200)
	for i := range p {
		p[i] = .9
	}
	k, _ := Size(p, 25)
	assert.Equal(t, 25, k)
}

func value(w []float64, n int, order []int) float64 {
	v := 0.0
	for i := 1; i < n; i++ {
		v += w[order[i-1]*n+order[i]]
	}
	return v
}

func permutations(n int, f func([]int)) {
	var walk func(order []int)
	walk = func(order []int) {
		if len(order) == n {
			f(order)
		}
		for i := range n {
			if !slices.Contains(order, i) {
				walk(append(order, i))
			}
		}
	}
	walk(nil)
}

func TestPathIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		w := rapid.SliceOfN(rapid.Float64Range(0, 1), n*n, n*n).Draw(t, "w")
		best := 0.0
		permutations(n, func(order []int) { best = max(best, value(w, n, order)) })
		order := Path(w, n)
		sorted := slices.Clone(order)
		slices.Sort(sorted)
		for i := range n {
			require.Equal(t, i, sorted[i])
		}
		assert.InDelta(t, best, value(w, n, order), 1e-12)
	})
	assert.Empty(t, Path(nil, 0))
}

// A long path that is there to be found is found greedily too.
func TestLongPath(t *testing.T) {
	const n = 20
	random := rand.New(rand.NewPCG(1, 2))
	want := random.Perm(n)
	w := make([]float64, n*n)
	for i := range w {
		w[i] = random.Float64() / 2
	}
	for i := 1; i < n; i++ {
		w[want[i-1]*n+want[i]] = .9
	}
	assert.Equal(t, want, Path(w, n))
}

func TestLinks(t *testing.T) {
	// 0 → 1 → 2 likely, 2 → 0 would close a cycle, 0 → 2 is too unlikely to be worth its place
	p := []float64{
		0, .9, .2,
		.1, 0, .8,
		.7, .1, 0,
	}
	assert.Equal(t, []Link{{0, 1, .9}, {1, 2, .8}}, Links(p, 3, 1))
	assert.Equal(t, []int{0, 1, 2}, Order(Links(p, 3, 1), 3))
	assert.Contains(t, Links(p, 3, .25), Link{0, 2, .2}, "unless most links are to nodes that are missing")
	assert.Empty(t, Links(make([]float64, 9), 3, 1))
}

func TestLinksMakeNoCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), n*n, n*n).Draw(t, "p")
		links := Links(p, n, 1)
		order := Order(links, n)
		require.Len(t, order, n)
		for _, l := range links {
			assert.Less(t, slices.Index(order, l.A), slices.Index(order, l.B))
		}
	})
}
