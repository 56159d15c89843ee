package rubric

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
)

// A Verdict is the judgement of a user on a scored item.
type Verdict struct {
	ID       string
	Card     Card
	Accepted bool
}

// The least numbers of verdicts for proposing weights.
const (
	enoughVerdicts = 50
	enoughOfEach   = 10
	folds          = 5
)

// A Calibration reports the agreement of a rubric with users and the weights that would agree better. It changes
// nothing: weights change only on request.
//
// concordance is the share of pairs of an accepted and a rejected item in which the accepted one scores higher, ties
// counted half (the area under the ROC curve; 0.5 is chance). With the concordance c of a single dimension, its weight
// w moves towards Σw · max(0, 2c − 1), normalised over all dimensions, by the factor n/(n + 50).
type Calibration struct {
	Records    int          `json:"records"`
	Accepted   int          `json:"accepted"`
	Enough     bool         `json:"enough"`
	Note       string       `json:"note"`
	Dimensions []Calibrated `json:"dimensions"`
	// concordance of the composite with the current and the proposed weights, by cross-validation in five folds.
	Concordance concordance `json:"concordance"`
	Better      bool        `json:"better"` // the proposed weights have the higher concordance
	Applied     bool        `json:"applied"`
}

// Calibrated is one dimension of a Calibration.
type Calibrated struct {
	Name        string   `json:"name"`
	Weight      Decimal  `json:"weight"`
	Concordance *Decimal `json:"concordance"` // null without a pair
	Proposed    *Decimal `json:"proposed"`    // null unless there are enough verdicts
}

// concordance before and after; null without enough verdicts.
type concordance struct {
	InForce  *Decimal `json:"in_force"`
	Proposed *Decimal `json:"proposed"`
}

// Calibrate compares a rubric with the verdicts of users, in any order and with distinct ids.
func (r *Rubric) Calibrate(verdicts []Verdict) (Calibration, error) {
	verdicts = slices.SortedFunc(slices.Values(verdicts), func(a, b Verdict) int { return cmp.Compare(a.ID, b.ID) })
	results := make([]Result, len(verdicts))
	c := Calibration{Records: len(verdicts)}
	for i, v := range verdicts {
		if i > 0 && verdicts[i-1].ID == v.ID {
			return Calibration{}, Refuse(shown(v.ID), "has two verdicts")
		}
		var err error
		if results[i], err = r.Score(v.Card); err != nil {
			return Calibration{}, fmt.Errorf("verdict on %s: %w", shown(v.ID), err)
		}
		if v.Accepted {
			c.Accepted++
		}
	}
	rejected := c.Records - c.Accepted
	c.Enough = c.Records >= enoughVerdicts && c.Accepted >= enoughOfEach && rejected >= enoughOfEach
	c.Note = "reported only: weights change where a request names others"
	if !c.Enough {
		c.Note = fmt.Sprintf("%d verdicts, %d accepted and %d rejected: weights are proposed from %d on, with %d of each",
			c.Records, c.Accepted, rejected, enoughVerdicts, enoughOfEach)
	}
	proposed := r.propose(verdicts, results, func(int) bool { return true })
	for i, d := range r.def.Dimensions {
		one := Calibrated{Name: d.Name, Weight: d.Weight, Concordance: r.concordanceOf(i, verdicts, results, func(int) bool { return true }).decimal()}
		if c.Enough {
			one.Proposed = new(proposed[i])
		}
		c.Dimensions = append(c.Dimensions, one)
	}
	if !c.Enough {
		return c, nil
	}
	var before, after pairs
	for fold := range folds {
		within := func(i int) bool { return i%folds == fold }
		weights := r.propose(verdicts, results, func(i int) bool { return !within(i) })
		before.add(count(verdicts, within, func(i int) *big.Rat { return r.weighted(results[i], r.weights()) }))
		after.add(count(verdicts, within, func(i int) *big.Rat { return r.weighted(results[i], weights) }))
	}
	c.Concordance = concordance{before.decimal(), after.decimal()}
	c.Better = after.won > before.won // of the same pairs
	return c, nil
}

func (r *Rubric) weights() []Decimal {
	w := make([]Decimal, len(r.def.Dimensions))
	for i, d := range r.def.Dimensions {
		w[i] = d.Weight
	}
	return w
}

// weighted returns the composite with other weights, before ceilings.
func (r *Rubric) weighted(res Result, weights []Decimal) *big.Rat {
	sum, of := new(big.Rat), new(big.Rat)
	for i, s := range res.Dimensions {
		if s.Applies {
			sum.Add(sum, new(big.Rat).Mul(weights[i].Rat(), s.Score.Rat()))
			of.Add(of, weights[i].Rat())
		}
	}
	if r.def.Aggregate == mean && of.Sign() > 0 {
		sum.Quo(sum, of)
	}
	return sum
}

// pairs counts pairs of an accepted and a rejected item, and half-points won by the accepted.
type pairs struct{ won, of int64 }

func (p *pairs) add(q pairs) { p.won, p.of = p.won+q.won, p.of+q.of }

// share returns the concordance, nil without a pair.
func (p pairs) share() *big.Rat {
	if p.of == 0 {
		return nil
	}
	return big.NewRat(p.won, 2*p.of)
}

func (p pairs) decimal() *Decimal {
	if p.of == 0 {
		return nil
	}
	return new(RoundHalfUp(p.share(), places))
}

// count compares the values of all accepted with those of all rejected verdicts for which in is true; nil values are
// left out.
func count(verdicts []Verdict, in func(int) bool, value func(int) *big.Rat) pairs {
	type valued struct {
		value    *big.Rat
		accepted bool
	}
	var all []valued
	for i, v := range verdicts {
		if !in(i) {
			continue
		}
		if x := value(i); x != nil {
			all = append(all, valued{x, v.Accepted})
		}
	}
	slices.SortFunc(all, func(a, b valued) int { return a.value.Cmp(b.value) })
	var p pairs
	var below, accepted int64 // rejected ones of smaller value; accepted ones in all
	for i := 0; i < len(all); {
		var yes, no int64 // of equal value
		j := i
		for ; j < len(all) && all[j].value.Cmp(all[i].value) == 0; j++ {
			if all[j].accepted {
				yes++
			} else {
				no++
			}
		}
		p.won += 2*yes*below + yes*no
		below += no
		accepted += yes
		i = j
	}
	p.of = accepted * below
	return p
}

// concordanceOf returns the concordance of a single dimension.
func (r *Rubric) concordanceOf(i int, verdicts []Verdict, results []Result, in func(int) bool) pairs {
	return count(verdicts, in, func(n int) *big.Rat {
		if s := results[n].Dimensions[i]; s.Applies {
			return s.Score.Rat()
		}
		return nil
	})
}

// propose moves the weights towards the concordances of the single dimensions. Their sum is kept.
func (r *Rubric) propose(verdicts []Verdict, results []Result, in func(int) bool) []Decimal {
	weights := r.weights()
	n := int64(0)
	for i := range verdicts {
		if in(i) {
			n++
		}
	}
	lean, all, sum := make([]*big.Rat, len(weights)), new(big.Rat), new(big.Rat)
	for i, w := range weights {
		sum.Add(sum, w.Rat())
		lean[i] = new(big.Rat)
		if c := r.concordanceOf(i, verdicts, results, in).share(); c != nil && c.Cmp(big.NewRat(1, 2)) > 0 {
			lean[i].Sub(c.Mul(c, big.NewRat(2, 1)), big.NewRat(1, 1))
		}
		all.Add(all, lean[i])
	}
	if all.Sign() == 0 {
		return weights
	}
	trust := big.NewRat(n, n+enoughVerdicts)
	want := make([]*big.Rat, len(weights))
	for i, w := range weights {
		target := lean[i].Mul(lean[i], sum)
		target.Quo(target, all)
		target.Sub(target, w.Rat())
		target.Mul(target, trust)
		want[i] = target.Add(target, w.Rat())
	}
	return apportion(want, sum)
}

// apportion rounds to four places and keeps the sum: it rounds down, then adds the rest to the largest remainders
// (Hamilton's method), the earlier dimension first.
func apportion(want []*big.Rat, sum *big.Rat) []Decimal {
	left := RoundHalfUp(sum, places)
	out, remainder, order := make([]Decimal, len(want)), make([]*big.Rat, len(want)), make([]int, len(want))
	for i, w := range want {
		out[i] = RoundHalfUp(w, places)
		if out[i].Rat().Cmp(w) > 0 {
			out[i]--
		}
		remainder[i], order[i] = new(big.Rat).Sub(w, out[i].Rat()), i
		left -= out[i]
	}
	slices.SortStableFunc(order, func(i, j int) int { return remainder[j].Cmp(remainder[i]) })
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}
