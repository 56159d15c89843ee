package evaluate

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
)

// Sample is one measure of every episode: the sum of its values and how many there are. Episodes, not
// positions, are what is drawn again: the positions of one episode are alike.
type Sample struct {
	Sum, Count []float64
}

func newSample(episodes int) Sample {
	return Sample{make([]float64, episodes), make([]float64, episodes)}
}

// Mean is Σ sums / Σ counts, the micro average; 0 without any value.
func (s Sample) Mean() float64 { return ratio(numeric.Sum(s.Sum), numeric.Sum(s.Count)) }

// values is how many there are.
func (s Sample) values() int { return int(numeric.Sum(s.Count)) }

func ratio(sum, count float64) float64 {
	if count == 0 {
		return 0
	}
	return sum / count
}

// Interval is where the middle 95 % lie, from lowest to highest.
type Interval [2]float64

// replicates is how often episodes are drawn again. The ends of a 95 % interval then rest on 50
// replicates.
const replicates = 1000

// Difference of two means over the same episodes.
type Difference struct {
	Mean     float64  `json:"mean"`
	Interval Interval `json:"interval"`
}

// PairedBootstrap is the difference of the means of a and b with its 95 % percentile interval, both
// measured on the same draws of episodes. An interval without 0 is a difference.
func PairedBootstrap(a, b Sample, seed uint64) Difference {
	means := replicate([]Sample{a, b}, seed)
	return paired(a.Mean()-b.Mean(), means[0], means[1])
}

func paired(mean float64, a, b []float64) Difference {
	difference := make([]float64, len(a))
	for i := range a {
		difference[i] = a[i] - b[i]
	}
	return Difference{mean, middle(difference)}
}

// replicate draws episodes [replicates] times and returns the means of each sample. A draw without any
// value of a sample is NaN there.
func replicate(samples []Sample, seed uint64) [][]float64 {
	means := make([][]float64, len(samples))
	for i := range means {
		means[i] = make([]float64, replicates)
	}
	if len(samples) == 0 {
		return means
	}
	n := len(samples[0].Sum)
	r := rand.New(rand.NewPCG(seed, 0))
	drawn := make([]int, n)
	for k := range replicates {
		for i := range drawn {
			drawn[i] = r.IntN(n)
		}
		for i, s := range samples {
			sum, count := 0.0, 0.0
			for _, e := range drawn {
				sum += s.Sum[e]
				count += s.Count[e]
			}
			means[i][k] = math.NaN()
			if count > 0 {
				means[i][k] = sum / count
			}
		}
	}
	return means
}

// middle is the interval of the middle 95 % of x; NaN is left out.
func middle(x []float64) Interval { return quantiles(x, 0.025, 0.975) }

// quantiles are those of the sorted values: the smallest that at least that share lies at or below.
func quantiles(x []float64, lo, hi float64) Interval {
	x = slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	if len(x) == 0 {
		return Interval{}
	}
	slices.Sort(x)
	at := func(q float64) float64 { return x[max(0, int(math.Ceil(q*float64(len(x))))-1)] }
	return Interval{at(lo), at(hi)}
}
