package plan

import (
	"math"
	"math/bits"

	"waymark/internal/numeric"
	"waymark/learn/choice"
	"waymark/learn/decode"
	"waymark/learn/logit"
)

// fitSets learns which of the sets that may be the answer is the one that was used: a conditional logit
// over the sets of each request and one more, for none of them, whose score is 0.
func (f *fit) fitSets() {
	if lists, taken := f.sets(); !f.stopped.Load() {
		f.fitChoosers(lists, taken, nil)
	}
}

// sets are the sets that may answer each past request, without their tools, and which was used:
// one beyond the last for none of them.
func (f *fit) sets() (lists [][]candidate, taken []int) {
	lists, taken = make([][]candidate, len(f.all)), make([]int, len(f.all))
	f.each(len(f.all), func(k int) {
		q := f.all[k]
		n, _ := decode.Size(q.falling(), mostSteps)
		used := map[string]float64{}
		for _, l := range f.pastSets.groupSets[q.own] {
			used[key(f.pastSets.pasts[l.Label].tools)] += l.Value
		}
		lists[k] = q.choices(n)
		taken[k] = len(lists[k])
		most := 0.0
		for i := range lists[k] {
			c := &lists[k][i]
			if share := used[key(c.tools)]; share > most {
				most, taken[k] = share, i
			}
			c.tools, c.places = nil, nil
		}
	})
	return lists, taken
}

// fitChoosers fits the weights of sets, without some features.
func (f *fit) fitChoosers(lists [][]candidate, taken []int, without []int) {
	for k := range f.kinds {
		f.kinds[k].chooser = f.fitChooser(lists, taken, without, func(q *request) float64 { return f.mass(q, k) })
	}
	f.kinds[foreign].chooser = f.kinds[foreign].chooser.Plus(-1, f.kinds[known].chooser)
}

// fitChooser fits the weights of sets, where a request counts so often.
func (f *fit) fitChooser(lists [][]candidate, taken []int, without []int, mass func(*request) float64) *logit.Model {
	P := len(setNames)
	m := &logit.Model{Mean: make([]float64, P), Slope: make([]float64, P)}
	deviation := spread(lists, m.Mean)
	all := choice.New(P+1, 0, 0)
	index, value := make([]int32, P+1), make([]float32, P+1)
	for k := range index {
		index[k] = int32(k)
	}
	value[P] = 1 // to be any set
	for i, list := range lists {
		for _, c := range list {
			for k, x := range c.f {
				value[k] = float32((x - m.Mean[k]) / deviation[k])
			}
			for _, k := range without {
				value[k] = 0
			}
			all.Candidate(0, index, value)
		}
		all.Candidate(0, nil, nil)
		all.Taken(taken[i], mass(f.all[i]), nil)
	}
	penalties := make([]float64, P+1)
	for k := range P {
		penalties[k] = penalty
	}
	penalties[P] = loose
	w := choice.FitUntil(all, choice.Part{}, make([]float64, P+1), penalties, steps, f.stop).Weights
	m.Bias = w[P]
	for k := range m.Slope {
		m.Slope[k] = w[k] / deviation[k]
	}
	return m
}

const (
	steps = 100  // of the search for the weights of sets
	loose = 1e-3 // penalty of being any set
)

// spread fills mean with that of each feature and returns the deviations, 1 where a feature never varies.
func spread(lists [][]candidate, mean []float64) []float64 {
	n := 0.0
	for _, list := range lists {
		for _, c := range list {
			n++
			for k, x := range c.f {
				mean[k] += x
			}
		}
	}
	n = max(n, 1)
	for k := range mean {
		mean[k] /= n
	}
	deviation := make([]float64, len(mean))
	for _, list := range lists {
		for _, c := range list {
			for k, x := range c.f {
				deviation[k] += float64((x - mean[k]) * (x - mean[k]))
			}
		}
	}
	for k, square := range deviation {
		if deviation[k] = math.Sqrt(square / n); deviation[k] < 1e-5 {
			deviation[k] = 1
		}
	}
	return deviation
}

// choose returns the places of the set with the largest expected worth,
//
//	Σ p(S')·(F1(c, |S|, |S'|) + f/2·F1(c-1, |S|-1, |S'|-1)) + (1-f)/2·p(S),   F1(c, a, b) = 2c/(a+b), c = |S ∩ S'|,
//
// where p(S') is the probability that S' is exactly what is used; what no known set explains is left to the
// probabilities of single tools, c = Σ_{t∈S} p(t) of Σ p(t). One wrong tool costs two links. For a request like past
// ones, being exactly right therefore counts on top; for a foreign one (f), which is hardly ever answered exactly, the
// links between common tools do: a plan of one tool has none.
func (q *request) choose() []int32 {
	k, _ := decode.Size(q.falling(), mostSteps)
	all := q.choices(k)
	if len(all) == 0 {
		return nil
	}
	rest, expected := q.judge(all), 0.0
	for _, p := range q.table.p2 {
		expected += p
	}
	best, bestV := 0, -1.0
	set := bitsets(all, len(q.table.cand))
	for i := range all {
		v, s := 0.0, 0.0
		for j := range all {
			v += float64(all[j].p * q.worth(float64(common(set(i), set(j))), len(all[i].places), float64(len(all[j].places))))
		}
		for _, j := range all[i].places {
			s += q.table.p2[j]
		}
		v += float64(float64(onTop*(1-q.foreign)) * all[i].p)
		v += float64(rest * q.worth(s, len(all[i].places), expected))
		if v > bestV {
			best, bestV = i, v
		}
	}
	return all[best].places
}

// worth is the F1 of the tools of a plan, and for a foreign request that of their links, as if both were chains: common
// tools are in the plan, which has so many, and in what is used.
func (q *request) worth(common float64, planned int, used float64) float64 {
	if common <= 0 {
		return 0
	}
	f1 := 2 * common / (float64(planned) + used)
	if common > 1 {
		f1 += float64(float64(onTop*q.foreign) * (2 * (common - 1) / (float64(planned) + used - 2)))
	}
	return f1
}

// judge fills in the probability of each set and returns that of none of them.
func (q *request) judge(all []candidate) (none float64) {
	chooser := q.mix(func(w *weights) *logit.Model { return w.chooser })
	top, sum := 0.0, 0.0 // 0 is the score of none
	for i := range all {
		all[i].p = chooser.Z(all[i].f)
		top = max(top, all[i].p)
	}
	for i := range all {
		all[i].p = numeric.Exp(all[i].p - top)
		sum += all[i].p
	}
	none = numeric.Exp(-top)
	sum += none
	for i := range all {
		all[i].p /= sum
	}
	return none / sum
}

// bitsets are the sets of places as bits, each of n.
func bitsets(all []candidate, n int) (set func(i int) []uint64) {
	wide := (n + 63) / 64
	words := make([]uint64, wide*len(all))
	for i := range all {
		for _, j := range all[i].places {
			words[i*wide+int(j)/64] |= 1 << (j % 64)
		}
	}
	return func(i int) []uint64 { return words[i*wide : (i+1)*wide] }
}

// common counts what two sets have in common.
func common(a, b []uint64) int {
	n := 0
	for i, x := range a {
		n += bits.OnesCount64(x & b[i])
	}
	return n
}
