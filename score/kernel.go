package score

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// A Card holds the scores and failed gates of one item.
type Card struct {
	Scores      map[string]*Decimal // by dimension; nil if a conditional one does not apply
	FailedGates []string
}

// A Result is the unrounded score of a card.
type Result struct {
	Dimensions []Scored // in the order of the definition
	Uncapped   *big.Rat // before ceilings and gates
	Composite  *big.Rat
	Max        *big.Rat // the largest composite of the dimensions that apply
	Ceiling    *Decimal // the lowest ceiling that the scores set, whether or not it lowered the composite
	Verdict    string   // empty if the rubric has no bands
	Fails      bool
	Caution    bool
	Reasons    []string // why the card fails
	Warnings   []Warning
	Gates      []Gate // failed ones
}

// Scored is one dimension of a Result.
type Scored struct {
	Name    string
	Weight  Decimal
	Applies bool
	Score   Decimal // 0 if it does not apply
	Anchor  Anchor
}

// Percent returns the composite in percent of its maximum.
func (res *Result) Percent() *big.Rat {
	p := new(big.Rat).Quo(res.Composite, res.Max)
	return p.Mul(p, big.NewRat(100, 1))
}

// Definition returns the definition with its defaults. Its lists must not be modified.
func (r *Rubric) Definition() Definition { return r.def }

// Names returns the names of the dimensions in the order of the definition.
func (r *Rubric) Names() []string {
	names := make([]string, len(r.def.Dimensions))
	for i, d := range r.def.Dimensions {
		names[i] = d.Name
	}
	return names
}

// Dimension returns the dimension of that name.
func (r *Rubric) Dimension(name string) (Dimension, bool) {
	i, ok := r.at[name]
	if !ok {
		return Dimension{}, false
	}
	return r.def.Dimensions[i], true
}

// Shown rounds a composite to the number of decimal places of the rubric.
func (r *Rubric) Shown(x *big.Rat) Decimal { return Round(x, r.places) }

// Reweight returns the rubric with other weights for the named dimensions, and one line for each change in the order
// of the definition: "novelty: weight 0.2 became 0.3". The new definition is checked like any other.
func (r *Rubric) Reweight(weights map[string]Decimal) (*Rubric, []string, error) {
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if _, ok := r.at[name]; !ok {
			return nil, nil, Refuse(plainName(name), "there is no such dimension to weigh")
		}
	}
	def, changes := r.def, []string{}
	def.Dimensions = slices.Clone(def.Dimensions)
	for i := range def.Dimensions {
		d := &def.Dimensions[i]
		if w, given := weights[d.Name]; given && w != d.Weight {
			changes = append(changes, fmt.Sprintf("%s: weight %v became %v", d.Name, d.Weight, w))
			d.Weight = w
		}
	}
	reweighted, err := New(def)
	return reweighted, changes, err
}

// Score scores one card: the aggregate of the scores is lowered by ceilings, then by the caps of failed gates; floors
// and bands give the verdict. A missing, unknown or impossible score is a [RequestError].
func (r *Rubric) Score(card Card) (Result, error) {
	for _, name := range slices.Sorted(maps.Keys(card.Scores)) {
		if _, ok := r.at[name]; !ok {
			const format = "there is no such dimension; there are %s"
			return Result{}, Refuse(plainName(name), format, strings.Join(r.Names(), ", "))
		}
	}
	res := Result{Dimensions: make([]Scored, len(r.def.Dimensions))}
	sum, best, weights := new(big.Rat), new(big.Rat), new(big.Rat) // Σ weight·score, Σ weight·max, Σ weight
	for i, d := range r.def.Dimensions {
		res.Dimensions[i] = Scored{Name: d.Name, Weight: d.Weight}
		score, given := card.Scores[d.Name]
		switch {
		case !given:
			return Result{}, Refuse(d.Name, "the score is missing")
		case score == nil && !d.Conditional:
			return Result{}, Refuse(d.Name, "always applies; null is for a conditional dimension")
		case score == nil:
			continue
		case !d.Scale.OnScale(*score):
			return Result{}, Refuse(d.Name, "%v is off the scale of %v", score, d.Scale)
		}
		res.Dimensions[i] = Scored{d.Name, d.Weight, true, *score, d.AnchorOf(*score)}
		w := d.Weight.Rat()
		sum.Add(sum, new(big.Rat).Mul(w, score.Rat()))
		best.Add(best, new(big.Rat).Mul(w, d.Scale.Max.Rat()))
		weights.Add(weights, w)
	}
	if weights.Sign() == 0 {
		return Result{}, Refuse("dimensions", "no dimension with a weight applies")
	}
	if r.def.Aggregate == Mean {
		sum.Quo(sum, weights)
		best.Quo(best, weights)
	}
	res.Uncapped, res.Composite, res.Max = sum, sum, best
	r.lower(&res, card.FailedGates)
	r.conclude(&res)
	return res, nil
}

// plainName returns a valid name unchanged and quotes any other text.
func plainName(name string) string {
	if nameForm.MatchString(name) {
		return name
	}
	return quoted(name)
}

// lower applies the ceilings, then the caps of failed gates.
func (r *Rubric) lower(res *Result, failedGates []string) {
	lowerTo := func(bound Decimal) {
		if x := bound.Rat(); x.Cmp(res.Composite) < 0 {
			res.Composite = x
		}
	}
	for _, c := range r.def.Ceilings {
		s := res.Dimensions[r.at[c.Dimension]]
		if s.Applies && s.Score < c.Below && (res.Ceiling == nil || c.Cap < *res.Ceiling) {
			res.Ceiling = new(c.Cap)
			lowerTo(c.Cap)
		}
	}
	for _, g := range r.def.Gates {
		if !slices.Contains(failedGates, g.Name) {
			continue
		}
		res.Gates = append(res.Gates, g)
		if g.Cap != nil {
			lowerTo(*g.Cap)
		}
	}
}

// conclude sets verdict, reasons and warnings. A card below a floor or with a failing gate fails whatever its
// composite, and a low composite then adds no reason.
func (r *Rubric) conclude(res *Result) {
	for _, s := range res.Dimensions {
		var floors []Decimal
		for _, f := range r.def.Floors {
			if s.Applies && s.Score < f.Below && (f.Dimension == "" || f.Dimension == s.Name) {
				floors = append(floors, f.Below)
			}
		}
		if len(floors) > 0 {
			reason := fmt.Sprintf("%s scored %v (below minimum threshold of %v)", s.Name, s.Score, slices.Max(floors))
			res.Reasons = append(res.Reasons, reason)
		}
	}
	for _, g := range res.Gates {
		if g.Fails {
			res.Reasons = append(res.Reasons, "gate "+g.Name+" failed")
		}
	}
	res.Fails = len(res.Reasons) > 0
	if bands := r.def.Bands; len(bands) > 0 {
		band := bands[len(bands)-1]
		if !res.Fails {
			band = r.band(res)
		}
		res.Verdict, res.Fails, res.Caution = band.Verdict, band.Fails, band.Caution
	}
	for _, w := range r.def.Warnings {
		low := w.Dimension == "" && res.Percent().Cmp(w.Below.Rat()) < 0
		if w.Dimension != "" {
			s := res.Dimensions[r.at[w.Dimension]]
			low = s.Applies && s.Score < w.Below
		}
		if low {
			res.Warnings = append(res.Warnings, w)
		}
	}
}

// band returns the first band that the composite (or percent) reaches, and adds a reason if that band fails.
func (r *Rubric) band(res *Result) Band {
	what, value := "Composite score", res.Composite
	if r.def.BandsOn == onPercent {
		what, value = "Percent of maximum", res.Percent()
	}
	passing := Decimal(0) // the lowest threshold that does not fail
	for _, b := range r.def.Bands {
		if b.AtLeast != nil && !b.Fails {
			passing = *b.AtLeast
		}
		if b.AtLeast != nil && value.Cmp(b.AtLeast.Rat()) < 0 {
			continue
		}
		if b.Fails {
			reason := fmt.Sprintf("%s %s below threshold of %s", what, r.below(value, passing), threshold(passing))
			res.Reasons = append(res.Reasons, reason)
		}
		return b
	}
	panic("score: the last band has no threshold")
}

// below formats a value below a threshold with enough decimal places to show that it is below.
func (r *Rubric) below(value *big.Rat, threshold Decimal) string {
	n := max(r.places, 2)
	for n < places && Round(value, n) >= threshold {
		n++
	}
	return min(Round(value, n), threshold-1).Fixed(n)
}

// threshold formats a number with at least one decimal place: 3.0, 3.25.
func threshold(d Decimal) string {
	if d%unit == 0 {
		return d.Fixed(1)
	}
	return d.String()
}

// Compare orders two results, the better one first: by composite, then by the tie-breaking dimensions, where a
// dimension that does not apply is below every score. It returns 0 if only the ids can decide.
func (r *Rubric) Compare(a, b *Result) int {
	order := b.Composite.Cmp(a.Composite)
	for _, name := range r.def.TieBreaks {
		value := func(res *Result) Decimal {
			if s := res.Dimensions[r.at[name]]; s.Applies {
				return s.Score
			}
			return math.MinInt64
		}
		order = cmp.Or(order, cmp.Compare(value(b), value(a)))
	}
	return order
}

// Rank returns the rank of every result from 1 on, 0 for those that fail. Equal results are ordered by id.
func (r *Rubric) Rank(ids []string, results []Result) []int {
	var order []int
	for i := range results {
		if !results[i].Fails {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(r.Compare(&results[a], &results[b]), cmp.Compare(ids[a], ids[b]))
	})
	ranks := make([]int, len(results))
	for n, i := range order {
		ranks[i] = n + 1
	}
	return ranks
}
