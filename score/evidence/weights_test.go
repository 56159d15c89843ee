package evidence

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The entropies of origins of the seed documents, 4.3, computed there independently.
func TestEntropy(t *testing.T) {
	for _, tt := range []struct {
		name       string
		weights    []float64
		nats, bits float64
	}{
		{"5 equal", []float64{.2, .2, .2, .2, .2}, 1.6094, 2.3219},
		{"3 equal", []float64{1. / 3, 1. / 3, 1. / 3}, 1.0986, 1.5850},
		{"certain", []float64{1, 0, 0}, 0, 0},
		{".8, rest equal", []float64{.8, .05, .05, .05, .05}, .7777, 1.1219},
		{".7", []float64{.7, .1, .1, .05, .05}, 1.0098, 1.4568},
		{".55, rest equal", []float64{.55, .1125, .1125, .1125, .1125}, 1.3120, 1.8928},
		{".35, rest equal", []float64{.35, .1625, .1625, .1625, .1625}, 1.5485, 2.2341},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.InDelta(t, tt.nats, entropy(tt.weights), 5e-5)
			assert.InDelta(t, tt.bits, entropy(tt.weights)/math.Ln2, 5e-5)
			assert.InDelta(t, tt.bits/math.Log2(float64(len(tt.weights))), entropyShare(tt.weights), 5e-5, "the share has no base")
		})
	}
	assert.Zero(t, entropyShare([]float64{1}))
	assert.Equal(t, 1.0, entropyShare([]float64{.2, .2, .2, .2, .2}), "never above 1 by rounding")
}

// Seed 001 says of its gate that an entropy below .8 means a hypothesis above .55, and that 1.4 "bits" are
// undecided. Both are wrong with 5 hypotheses: .8 nats need a lead of .792, .8 bits one of .874; and
// 1.4 bits are exceeded up to a lead of .725, that is nearly always. Hence nats as a share of ln k, and
// the lead as a condition of its own.
func TestEntropyOfTheSeedsGloss(t *testing.T) {
	lead := func(target, unit float64) float64 { // the lead, the rest equal, at which the entropy falls to target
		lo, hi := .2, 1.0
		for range 60 {
			mid := (lo + hi) / 2
			rest := (1 - mid) / 4
			if entropy([]float64{mid, rest, rest, rest, rest})/unit > target {
				lo = mid
			} else {
				hi = mid
			}
		}
		return lo
	}
	for _, tt := range []struct{ target, unit, lead float64 }{
		{.8, 1, .792}, {.8, math.Ln2, .874}, {1.4, 1, .490}, {1.4, math.Ln2, .725},
	} {
		assert.InDelta(t, tt.lead, lead(tt.target, tt.unit), 6e-4)
	}
	assert.Greater(t, entropy([]float64{.55, .1125, .1125, .1125, .1125}), .8)
	assert.InDelta(t, .497, .8/math.Log(5), 1e-4)
	assert.InDelta(t, .870, 1.4/math.Log(5), 2e-4)
}

func TestWeights(t *testing.T) {
	for _, tt := range []struct {
		name       string
		prior, net []float64
		want       []float64
	}{
		{"no evidence keeps the priors", []float64{.35, .33, .32}, []float64{0, 0, 0}, []float64{.35, .33, .32}},
		{"net ln 2", []float64{.5, .5}, []float64{math.Ln2, 0}, []float64{2. / 3, 1. / 3}},
		{"odds are multiplied", []float64{.8, .2}, []float64{0, math.Log(4)}, []float64{.5, .5}},
		// support - falsification as a weight would be negative here, and 0/0 in the next.
		{"more against than for", []float64{.5, .5}, []float64{-2, -2 - math.Ln2}, []float64{2. / 3, 1. / 3}},
		{"nothing for any", []float64{.25, .25, .25, .25}, []float64{0, 0, 0, 0}, []float64{.25, .25, .25, .25}},
		{"impossible stays so", []float64{0, .5, .5}, []float64{900, 0, 0}, []float64{0, .5, .5}},
		{"far apart", []float64{.5, .5}, []float64{2000, -2000}, []float64{1, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.InDeltaSlice(t, tt.want, Weights(tt.prior, tt.net), 1e-12) })
	}
	assert.Equal(t, []float64{.35, .33, .32}, Weights([]float64{.35, .33, .32}, []float64{1, 1, 1}), "exactly: .35 is not below .35")
}

func TestWeightsAreAProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 11).Draw(t, "k")
		prior := rapid.SliceOfN(rapid.Float64Range(1e-9, 1), n, n).Draw(t, "prior")
		net := rapid.SliceOfN(rapid.Float64Range(-800, 800), n, n).Draw(t, "net")
		w := Weights(prior, net)
		total := 0.0
		for i := range w {
			if !(w[i] >= 0) {
				t.Fatalf("w = %v", w)
			}
			total += w[i]
		}
		if math.Abs(total-1) > 1e-12 {
			t.Fatalf("sum %v", total)
		}
		order := rapid.Permutation(seq(n)).Draw(t, "order")
		p, m := make([]float64, n), make([]float64, n)
		for i, j := range order {
			p[i], m[i] = prior[j], net[j]
		}
		for i, x := range Weights(p, m) {
			if x != w[order[i]] {
				t.Fatal("another order, other bits")
			}
		}
		moved := slices.Clone(w)
		slices.Reverse(moved)
		if share := entropyShare(w); share != entropyShare(moved) || share < 0 || share > 1 {
			t.Fatalf("share %v", share)
		}
	})
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
