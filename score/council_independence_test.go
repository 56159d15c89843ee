package score

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// judged is the panel of reviewers, a row each, who gave the answers these scores; NaN is none.
func judged(scores ...[]float64) *panel {
	p := &panel{}
	for i := range scores[0] {
		p.ids = append(p.ids, fmt.Sprintf("%04d", i))
	}
	for _, row := range scores {
		v := &vote{marks: map[string]mark{}}
		for i, x := range row {
			if !math.IsNaN(x) {
				v.marks[p.ids[i]] = mark{score: new(big.Rat).SetFloat64(x)}
			}
		}
		p.counted = append(p.counted, v)
	}
	return p
}

// drawnJudges have a factor in common, so that each two of them correlate by rho: score = √ρ·common + √(1−ρ)·own.
func drawnJudges(r *rand.Rand, n, answers int, rho float64) [][]float64 {
	scores := make([][]float64, n)
	for range answers {
		common := r.NormFloat64()
		for i := range scores {
			scores[i] = append(scores[i], math.Sqrt(rho)*common+math.Sqrt(1-rho)*r.NormFloat64())
		}
	}
	return scores
}

func TestEffectiveVotesOfJudgesOfKnownCorrelation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 5, 9} {
		for _, rho := range []float64{0, .2, .5, .8, .95, 1} {
			votes := judged(drawnJudges(r, n, 1000, rho)...).independence()
			want := float64(n) / (1 + float64(n-1)*rho)
			assert.InEpsilon(t, want, *votes.Effective, .1, "%d judges of correlation %v", n, rho)
			assert.Equal(t, *votes.Effective < 2, votes.Warning != "")
			assert.InDelta(t, 2/math.Pi*math.Asin(rho), *votes.Kappa, .06, "Kendall's tau of normal variables")
			assert.InDelta(t, .5, *votes.BaseRate, 1e-12, "no two scores are equal")
		}
	}
}

// The first k of n judges say the same, the others decide by themselves: n² / (k² + n − k).
func TestEffectiveVotesOfClones(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, row := range []struct {
		n, k int
		want float64
	}{{3, 2, 9. / 5}, {4, 2, 16. / 6}, {5, 3, 25. / 11}, {9, 8, 81. / 65}, {4, 4, 1}} {
		scores := drawnJudges(r, row.n, 1000, 0)
		for i := range row.k {
			scores[i] = scores[0]
		}
		assert.InEpsilon(t, row.want, *judged(scores...).independence().Effective, .1, "%+v", row)
	}
}

func TestVotesByHand(t *testing.T) {
	nan := math.NaN()
	for _, row := range []struct {
		name                       string
		panel                      *panel
		effective, kappa, baseRate *float64
	}{
		{"one reviewer", judged([]float64{1, 2, 3, 4, 5}), nil, nil, nil},
		{"two common answers", judged([]float64{1, 2, 3}, []float64{nan, 2, 3}), nil, nil, nil},
		{"clones", judged([]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}), new(1.), new(1.), new(.5)},
		{"one of ten pairs turned", judged([]float64{1, 2, 3, 4, 5}, []float64{2, 1, 3, 4, 5}), new(2 / 1.9), new(.8), new(.5)},
		{"opposites are no more than two", judged([]float64{1, 2, 3, 4, 5}, []float64{5, 4, 3, 2, 1}), new(2.), new(-1.), new(.5)},
		// Both score six of ten pairs equal: they agree by chance on .6·.6 + .4·.4/2 of the pairs, and do on 1 or .4.
		{"the same answer above the ceiling", judged([]float64{4, 4, 4, 4, 9}, []float64{4, 4, 4, 4, 9}), new(1.), new(1.), new(.44)},
		{"another above the ceiling", judged([]float64{4, 4, 4, 4, 9}, []float64{9, 4, 4, 4, 4}), new(2.), new((.3 - .44) / .56), new(.44)},
		{"nobody sees a difference", judged([]float64{7, 7, 7, 7, 7}, []float64{7.9, 7.9, 7.9, 7.9, 7.9}), nil, nil, nil},
		{"one sees none", judged([]float64{7, 7, 7, 7, 7}, []float64{5, 6, 7, 8, 9}), nil, new(0.), new(0.)},
	} {
		got := row.panel.independence()
		for what, pair := range map[string][2]*float64{"effective": {row.effective, got.Effective}, "kappa": {row.kappa, got.Kappa}, "base rate": {row.baseRate, got.BaseRate}} {
			if pair[0] == nil || pair[1] == nil {
				assert.Equal(t, pair[0], pair[1], "%s: %s", row.name, what)
				continue
			}
			assert.InDelta(t, *pair[0], *pair[1], 1e-9, "%s: %s", row.name, what)
		}
	}
}
