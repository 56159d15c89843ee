package rubric

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// A Card holds the scores and failed gates of one item.
type Card struct {
	Scores        map[string]Decimal // by dimension
	NotApplicable []string           // conditional dimensions that do not apply
	FailedGates   []string
}

// A Result is the unrounded score of a card.
type Result struct {
	Dimensions []Scored // in the order of the definition
	Uncapped   ratio    // before ceilings and gates
	Composite  ratio
	Max        ratio    // the largest composite of the dimensions that apply
	Ceiling    *Decimal // the lowest ceiling that the scores set, whether or not it lowered anything
	Verdict    string   // empty if the rubric has no bands
	Fails      bool
	Caution    bool
	Reasons    []string // why it fails
	Warnings   []warning
	Gates      []Gate // failed ones
}

// Scored is one dimension of a Result.
type Scored struct {
	Name    string
	Weight  Decimal
	Applies bool
	Score   Decimal // 0 where it does not apply
	Anchor  anchor
}

// Percent is the composite in percent of the largest possible.
func (res Result) Percent() *big.Rat {
	p := res.Composite.Rat()
	p.Quo(p, res.Max.Rat())
	return p.Mul(p, big.NewRat(100, 1))
}

// Score scores one card. It fails with a [RequestError] if a score is missing, unknown or off its scale.
func (r *Rubric) Score(card Card) (Result, error) {
	skip, err := r.skipped(card)
	if err != nil {
		return Result{}, err
	}
	res := Result{Dimensions: make([]Scored, len(r.def.Dimensions))}
	var scores, best, weights int64 // Σ weight·score, Σ weight·max and Σ weight
	for i := range r.def.Dimensions {
		d := &r.def.Dimensions[i]
		res.Dimensions[i] = Scored{Name: d.Name, Weight: d.Weight}
		if skip[d.Name] {
			continue
		}
		score, given := card.Scores[d.Name]
		switch {
		case !given:
			return Result{}, Refuse(d.Name, "the score is missing")
		case !d.Scale.OnScale(score):
			return Result{}, Refuse(d.Name, "%v is off the scale of %v", score, d.Scale)
		}
		res.Dimensions[i] = Scored{d.Name, d.Weight, true, score, d.AnchorOf(score)}
		scores += int64(d.Weight) * int64(score)
		best += int64(d.Weight) * int64(d.Scale.Max)
		weights += int64(d.Weight)
	}
	if weights == 0 {
		return Result{}, Refuse("dimensions", "no dimension with a weight applies")
	}
	per := int64(unit)
	if r.def.Aggregate == mean {
		per = weights
	}
	res.Uncapped, res.Max = lowest(scores, per*unit), lowest(best, per*unit)
	res.Composite = res.Uncapped
	r.lower(&res, card)
	r.judge(&res)
	return res, nil
}

// skipped is the set of dimensions that do not apply, after checking every name of the card.
func (r *Rubric) skipped(card Card) (map[string]bool, error) {
	known := 0
	for name := range card.Scores {
		if _, ok := r.at[name]; ok {
			known++
		}
	}
	if known < len(card.Scores) {
		for _, name := range slices.Sorted(maps.Keys(card.Scores)) {
			if _, ok := r.at[name]; !ok {
				return nil, Refuse(shownName(name), "%s", "there is no such dimension; there are "+strings.Join(r.Names(), ", "))
			}
		}
	}
	if len(card.FailedGates) > 0 {
		for _, name := range slices.Sorted(slices.Values(card.FailedGates)) {
			if _, ok := r.gates[name]; !ok {
				return nil, Refuse(shownName(name), "there is no such gate")
			}
		}
	}
	if len(card.NotApplicable) == 0 {
		return nil, nil
	}
	skip := make(map[string]bool, len(card.NotApplicable))
	for _, name := range slices.Sorted(slices.Values(card.NotApplicable)) {
		i, ok := r.at[name]
		switch _, scored := card.Scores[name]; {
		case !ok:
			return nil, Refuse(shownName(name), "%s", "there is no such dimension; there are "+strings.Join(r.Names(), ", "))
		case !r.def.Dimensions[i].Conditional:
			return nil, Refuse(name, "always applies")
		case scored:
			return nil, Refuse(name, "has a score and does not apply: only one can be true")
		}
		skip[name] = true
	}
	return skip, nil
}

// Names returns the names of the dimensions in the order of the definition.
func (r *Rubric) Names() []string {
	names := make([]string, len(r.def.Dimensions))
	for i, d := range r.def.Dimensions {
		names[i] = d.Name
	}
	return names
}

func shownName(name string) string {
	if nameForm.MatchString(name) {
		return name
	}
	return shown(name)
}

// lower applies ceilings, then the caps of failed gates.
func (r *Rubric) lower(res *Result, card Card) {
	for _, c := range r.def.Ceilings {
		s := res.Dimensions[r.at[c.Dimension]]
		if s.Applies && s.Score < c.Below && (res.Ceiling == nil || c.Cap < *res.Ceiling) {
			res.Ceiling = new(c.Cap)
		}
	}
	if res.Ceiling != nil {
		res.Composite = least(res.Composite, DecimalRatio(*res.Ceiling))
	}
	for _, g := range r.def.Gates {
		if !slices.Contains(card.FailedGates, g.Name) {
			continue
		}
		res.Gates = append(res.Gates, g)
		if g.Cap != nil {
			res.Composite = least(res.Composite, DecimalRatio(*g.Cap))
		}
	}
}

func least(a, b ratio) ratio {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

// judge finds verdict, reasons and warnings. Floors come before bands: a card that falls through a floor
// fails whatever its composite, and the composite is then no reason of its own.
func (r *Rubric) judge(res *Result) {
	for _, s := range res.Dimensions {
		if f, ok := r.floorUnder(s); ok {
			res.Reasons = append(res.Reasons, fmt.Sprintf("%s scored %v (below minimum threshold of %v)", s.Name, s.Score, f))
		}
	}
	for _, g := range res.Gates {
		if g.Fails {
			res.Reasons = append(res.Reasons, "gate "+g.Name+" failed")
		}
	}
	res.Fails = len(res.Reasons) > 0
	var percent *big.Rat
	if r.percent {
		percent = res.Percent()
	}
	if n := len(r.def.Bands); n > 0 {
		band := r.def.Bands[n-1]
		if !res.Fails {
			band = r.band(res, percent)
		}
		res.Verdict, res.Fails, res.Caution = band.Verdict, band.Fails, band.Caution
	}
	for _, w := range r.def.Warnings {
		if w.Dimension == "" {
			if percent.Cmp(w.Below.Rat()) < 0 {
				res.Warnings = append(res.Warnings, w)
			}
		} else if s := res.Dimensions[r.at[w.Dimension]]; s.Applies && s.Score < w.Below {
			res.Warnings = append(res.Warnings, w)
		}
	}
}

// floorUnder is the highest floor that the score is below.
func (r *Rubric) floorUnder(s Scored) (Decimal, bool) {
	floor, found := Decimal(0), false
	for _, f := range r.def.Floors {
		if s.Applies && (f.Dimension == "" || f.Dimension == s.Name) && s.Score < f.Below && (!found || f.Below > floor) {
			floor, found = f.Below, true
		}
	}
	return floor, found
}

// band is the first band that the composite (or percent) reaches. One that fails adds its reason.
func (r *Rubric) band(res *Result, percent *big.Rat) Band {
	reaches := func(at Decimal) bool {
		if r.def.BandsOn == onPercent {
			return percent.Cmp(at.Rat()) >= 0
		}
		return res.Composite.Cmp(DecimalRatio(at)) >= 0
	}
	passing := Decimal(0) // the lowest threshold that does not fail
	for _, b := range r.def.Bands {
		if b.AtLeast != nil && !b.Fails {
			passing = *b.AtLeast
		}
		if b.AtLeast != nil && !reaches(*b.AtLeast) {
			continue
		}
		if b.Fails {
			res.Reasons = append(res.Reasons, r.belowPassing(res, percent, passing))
		}
		return b
	}
	panic("rubric: the last band takes all the rest")
}

// belowPassing words a composite that is too low, with as many decimals as it takes to see that.
func (r *Rubric) belowPassing(res *Result, percent *big.Rat, passing Decimal) string {
	what, value := "Composite score", res.Composite.Rat()
	if r.def.BandsOn == onPercent {
		what, value = "Percent of maximum", percent
	}
	n := max(r.places, 2)
	for n < places && RoundHalfUp(value, n) >= passing {
		n++
	}
	text := min(RoundHalfUp(value, n), passing-1) // value < passing, a whole number of ten-thousandths
	return fmt.Sprintf("%s %s below threshold of %s", what, text.Fixed(n), thresholdText(passing))
}

// thresholdText keeps one decimal at least: 3.0, 3.25.
func thresholdText(d Decimal) string {
	if d%unit == 0 {
		return d.Fixed(1)
	}
	return d.String()
}

// Shown is a composite as the rubric shows it: rounded half up to its number of places.
func (r *Rubric) Shown(x ratio) Decimal { return x.Round(r.places) }
