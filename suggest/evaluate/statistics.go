package evaluate

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
)

// reciprocal returns 1/rank, or 0 for rank 0: not found.
func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rank)
}

// hit returns Hit@k: 1 if the target is among the first k, else 0.
func hit(rank, k int) float64 { return share(rank >= 1 && rank <= k) }

// recall returns the share of gold that is among the first k ranked.
//
//	Recall@k = |ranked[:k] ∩ gold| / |gold|
//
// ranked and gold hold distinct ids; without gold it is 0. The same holds for the two metrics below.
func recall(ranked, gold []string, k int) float64 {
	return ratio(float64(common(ranked[:min(k, len(ranked))], gold)), float64(len(gold)))
}

// NDCG returns the normalised discounted cumulative gain with binary gains, with the ideal also cut at k
// (Järvelin and Kekäläinen, ACM TOIS 20, 2002):
//
//	NDCG@k = Σ_{i<k, ranked[i] ∈ gold} 1/log2(i+2)  /  Σ_{i < min(k,|gold|)} 1/log2(i+2)
func NDCG(ranked, gold []string, k int) float64 {
	gain, ideal := 0.0, 0.0
	for i := range min(k, max(len(ranked), len(gold))) {
		g := 1 / numeric.Log2(float64(i+2))
		if i < len(ranked) && slices.Contains(gold, ranked[i]) {
			gain += g
		}
		if i < len(gold) {
			ideal += g
		}
	}
	return ratio(gain, ideal)
}

// averagePrecision returns the average precision, cut at k:
//
//	AP@k = Σ_{i<k, ranked[i] ∈ gold} (hits up to i)/(i+1)  /  min(k, |gold|)
//
// Its mean over queries is MAP@k.
func averagePrecision(ranked, gold []string, k int) float64 {
	hits, sum := 0, 0.0
	for i, id := range ranked[:min(k, len(ranked))] {
		if slices.Contains(gold, id) {
			hits++
			sum += float64(hits) / float64(i+1)
		}
	}
	return ratio(sum, float64(min(k, len(gold))))
}

// F1 returns the harmonic mean of precision and recall of two lists. Common elements are counted once, but
// the lengths of the lists include repeats: a prediction that repeats an element loses precision.
//
//	F1 = 2·P·R/(P+R),  P = |set(predicted) ∩ set(gold)| / len(predicted),  R = … / len(gold)
//
// For lists of distinct elements it is the F1 of sets. It is 0 if either list is empty.
func F1[T comparable](predicted, gold []T) float64 {
	both := common(predicted, gold)
	if both == 0 {
		return 0
	}
	p, r := float64(both)/float64(len(predicted)), float64(both)/float64(len(gold))
	return 2 * p * r / (p + r)
}

// common counts the distinct elements that both lists have.
func common[T comparable](a, b []T) (n int) {
	for i, x := range a {
		if slices.Contains(b, x) && !slices.Contains(a[:i], x) {
			n++
		}
	}
	return n
}

func ratio(sum, count float64) float64 {
	if count == 0 {
		return 0
	}
	return sum / count
}

// Sample holds one metric for every task: the sum and the number of its values. The bootstrap resamples tasks, not
// positions, because the positions of one task are alike.
type Sample struct{ Sum, Count []float64 }

func newSample(tasks int) Sample { return Sample{make([]float64, tasks), make([]float64, tasks)} }

// Mean returns Σ sums / Σ counts, the micro average; 0 if there is no value.
func (s Sample) Mean() float64 { return ratio(numeric.Sum(s.Sum), numeric.Sum(s.Count)) }

// tasks returns the number of tasks with a value.
func (s Sample) tasks() (n int) {
	for _, c := range s.Count {
		n += int(min(1, c))
	}
	return n
}

// values returns the number of values.
func (s Sample) values() int { return int(numeric.Sum(s.Count)) }

// Interval holds the lower and the upper end of the middle 95 %, unless stated otherwise.
type Interval [2]float64

// Difference of two means over the same tasks.
type Difference struct {
	Mean     float64  `json:"mean"`
	Interval Interval `json:"interval"`
}

// replicates is the number of bootstrap resamples. The tails outside a 95 % interval then hold 50 of them.
const replicates = 1000

// bootstrap returns the 95 % percentile interval of the mean of the first sample, and for each other sample the mean of
// the first minus its own, computed on the same resamples of tasks. If an interval excludes 0, the means differ. A
// resample without any value is left out.
func bootstrap(seed uint64, of Sample, others ...Sample) (Interval, []Difference) {
	all := append([]Sample{of}, others...)
	draws := make([][]float64, len(all))
	r := rand.New(rand.NewPCG(seed, 0))
	drawn := make([]int, len(of.Sum))
	for range replicates {
		for i := range drawn {
			drawn[i] = r.IntN(len(drawn))
		}
		first := math.NaN()
		for i, s := range all {
			sum, count := 0.0, 0.0
			for _, t := range drawn {
				sum += s.Sum[t]
				count += s.Count[t]
			}
			mean := sum / count
			if i == 0 {
				first = mean
			} else {
				mean = first - mean
			}
			if !math.IsNaN(mean) {
				draws[i] = append(draws[i], mean)
			}
		}
	}
	leads := make([]Difference, len(others))
	for i, s := range others {
		leads[i] = Difference{of.Mean() - s.Mean(), quantiles(draws[i+1], 0.025, 0.975)}
	}
	return quantiles(draws[0], 0.025, 0.975), leads
}

// quantiles sorts x and returns two quantiles: each is the smallest value with at least that share of values at or
// below it.
func quantiles(x []float64, lo, hi float64) Interval {
	if len(x) == 0 {
		return Interval{}
	}
	slices.Sort(x)
	at := func(q float64) float64 { return x[max(0, int(math.Ceil(q*float64(len(x))))-1)] }
	return Interval{at(lo), at(hi)}
}
