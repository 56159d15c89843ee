package score

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"waymark/internal/numeric"
)

// A panel is a checked input with its parsed reviews.
type panel struct {
	in      CouncilInput
	rubric  *Rubric
	answers map[string]answer // by id
	votes   []*vote           // of all reviews, in their order
}

// An answer is a response with the findings of the safety gate.
type answer struct {
	Response
	unsafe   []rule
	declines bool // a refusal detected as correct
}

func newPanel(in CouncilInput) (*panel, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	r, err := in.Options.Weighed()
	if err != nil {
		return nil, err
	}
	p := &panel{in: in, rubric: r, answers: map[string]answer{}}
	harmful := asksForHarm(in.Question)
	for _, r := range in.Responses {
		a := answer{Response: r, unsafe: brokenRules(r.Text)}
		a.declines = harmful && len(a.unsafe) == 0 && refuses(r.Text)
		if !in.Options.gated() {
			a.unsafe = nil
		}
		p.answers[r.ID] = a
	}
	for i, review := range in.Reviews {
		v, err := p.read(fmt.Sprintf("reviews[%d].", i), review)
		if err != nil {
			return nil, err
		}
		v.borda, v.z = v.bordaPoints(), v.zScores()
		p.votes = append(p.votes, v)
	}
	return p, nil
}

// gated reports whether the safety gate is on.
func (o CouncilOptions) gated() bool { return o.SafetyGate == nil || *o.SafetyGate }

// bordaPoints returns, for each answer of a vote, the share of the other answers that it beats by the vote's own
// scores. The declared order decides between equal scores if it names both answers; otherwise each counts as half
// beaten. The only answer of a vote gets 1.
func (v *vote) bordaPoints() map[string]*big.Rat {
	ids := v.declared
	if len(v.marks) > 0 {
		ids = slices.Collect(maps.Keys(v.marks))
	}
	points := map[string]*big.Rat{}
	for _, a := range ids {
		half := -1 // 2 for each answer beaten, 1 for each equal one except itself
		for _, b := range ids {
			c := compare(v.marks[a].Composite, v.marks[b].Composite)
			if i, j := slices.Index(v.declared, a), slices.Index(v.declared, b); c == 0 && min(i, j) >= 0 {
				c = cmp.Compare(j, i)
			}
			half += c + 1
		}
		points[a] = big.NewRat(1, 1)
		if n := len(ids) - 1; n > 0 {
			points[a] = big.NewRat(int64(half), int64(2*n))
		}
	}
	return points
}

// zScores returns (x − mean) / population deviation of the scores of a vote, all 0 if the deviation is below .001.
func (v *vote) zScores() map[string]float64 {
	var x []*big.Rat
	for _, m := range v.marks {
		x = append(x, m.Composite)
	}
	z := map[string]float64{}
	for id, m := range v.marks {
		z[id] = 0
		if deviation := math.Sqrt(float(variance(x))); deviation >= .001 {
			z[id] = float(new(big.Rat).Sub(m.Composite, Average(x))) / deviation
		}
	}
	return z
}

// A standing is one answer with the exact numbers by which it is ranked; nil is unknown. Over the reviews r:
//
//	score    = min(mean of min(composite_r, ceiling by accuracy_r), safety cap)
//	uncapped = mean of composite_r
//	borda    = mean of (answers beaten in r) / (answers compared with in r)
//	z        = mean of (score_r − mean of the scores in r) / deviation of the scores in r
type standing struct {
	RankedAnswer
	score, uncapped, borda *big.Rat
	class                  int
}

// The classes of standings: scores are compared with scores, and orders with orders. An answer that failed the gate
// ranks after both, unless scores are not normalised and a cap above 0 leaves it a score comparable with the others.
const (
	byScore = iota
	byOrder
	failedGate
	unseen
)

func (p *panel) standing(id string) standing {
	a := p.answers[id]
	s := standing{RankedAnswer: RankedAnswer{ID: id, Dimensions: map[string]Spread{}, SafetyFailed: len(a.unsafe) > 0}}
	var scores, uncapped, borda []*big.Rat
	var z []float64
	dimensions := map[string][]*big.Rat{}
	for _, v := range p.votes {
		if v.status == Unreadable {
			continue
		}
		if b, ok := v.borda[id]; ok {
			borda = append(borda, b)
		}
		m, ok := v.marks[id]
		if !ok {
			if a.Author != v.Reviewer && !slices.Contains(v.declared, id) {
				s.Abstentions++
			}
			continue
		}
		s.Reviews++
		s.CorrectRefusal = s.CorrectRefusal || m.refusal
		if m.Ceiling != nil && (s.Ceiling == nil || *m.Ceiling < *s.Ceiling) {
			s.Ceiling = m.Ceiling
		}
		scores, uncapped, z = append(scores, m.Composite), append(uncapped, m.Uncapped), append(z, v.z[id])
		for _, d := range m.Dimensions {
			if d.Applies {
				dimensions[d.Name] = append(dimensions[d.Name], d.Score.Rat())
			}
		}
	}
	s.score, s.uncapped, s.borda = Average(scores), Average(uncapped), Average(borda)
	if bound := p.in.Options.SafetyScoreCap.Rat(); s.SafetyFailed && compare(s.score, bound) > 0 {
		s.score = bound
	}
	if p.in.Options.Normalise == "z" && len(z) > 0 {
		slices.Sort(z) // the sum must not depend on the names of reviewers
		s.Z = new(numeric.Sum(z) / float64(len(z)))
	}
	for name, x := range dimensions {
		spread := Spread{Mean: float(Average(x)), Reviews: len(x)}
		if len(x) > 1 {
			spread.Variance = known(variance(x))
		}
		s.Dimensions[name] = spread
	}
	s.Score, s.Uncapped, s.Borda = known(s.score), known(s.uncapped), known(s.borda)
	switch {
	case s.borda == nil && s.score == nil:
		s.class = unseen
	case s.SafetyFailed && (s.score == nil || p.in.Options.Normalise == "z" || p.in.Options.SafetyScoreCap == 0):
		s.class = failedGate
	case s.score == nil:
		s.class = byOrder
	}
	return s
}

// before returns a negative number if a ranks before b, and 0 if only the id decides.
func (a standing) before(b standing) int {
	first := compare(b.score, a.score)
	if a.Z != nil && b.Z != nil {
		first = cmp.Compare(math.Round(*b.Z*1e9), math.Round(*a.Z*1e9)) // equal z-scores may differ in the last digits
	}
	return cmp.Or(cmp.Compare(a.class, b.class), first, compare(b.borda, a.borda))
}

// ScoreCouncil ranks the answers of an input. The error names the invalid field; an unreadable reply in Raw
// is no error.
func ScoreCouncil(in CouncilInput) (CouncilResult, error) {
	p, err := newPanel(in)
	if err != nil {
		return CouncilResult{}, err
	}
	var standings []standing
	res := CouncilResult{
		Rubric:     RubricUsed{p.rubric.def.ID, map[string]Decimal{}, p.rubric.def.Ceilings},
		SafetyGate: SafetyGate{in.Options.gated(), in.Options.SafetyScoreCap, []FailedAnswer{}},
		Mismatches: []TotalMismatch{},
	}
	for _, id := range slices.Sorted(maps.Keys(p.answers)) {
		standings = append(standings, p.standing(id))
		if rules := p.answers[id].unsafe; len(rules) > 0 {
			f := FailedAnswer{ID: id}
			for _, r := range rules {
				f.Categories, f.Rules = append(f.Categories, r.Category), append(f.Rules, r.Name)
			}
			slices.Sort(f.Categories)
			f.Categories = slices.Compact(f.Categories)
			res.SafetyGate.Failed = append(res.SafetyGate.Failed, f)
		}
	}
	slices.SortFunc(standings, func(a, b standing) int { return cmp.Or(a.before(b), cmp.Compare(a.ID, b.ID)) })
	for _, d := range p.rubric.def.Dimensions {
		res.Rubric.Weights[d.Name] = d.Weight
	}
	for i, s := range standings {
		if s.class != unseen {
			s.Rank = new(i + 1)
			s.Tied = i > 0 && s.before(standings[i-1]) == 0 || i+1 < len(standings) && s.before(standings[i+1]) == 0
		}
		res.Ranking = append(res.Ranking, s.RankedAnswer)
	}
	for _, v := range p.votes {
		res.Reviews = append(res.Reviews, ReadReview{v.Reviewer, v.status, v.contradicts(), v.status != Unreadable,
			append([]string{}, v.own...), append([]string{}, v.problems...)})
		res.Mismatches = append(res.Mismatches, v.totals...)
	}
	return res, nil
}

// compare compares two fractions; nil is below every number.
func compare(a, b *big.Rat) int {
	switch {
	case a != nil && b != nil:
		return a.Cmp(b)
	case a != nil:
		return 1
	case b != nil:
		return -1
	}
	return 0
}

// Average returns the mean, or nil if there are no numbers.
func Average(x []*big.Rat) *big.Rat {
	if len(x) == 0 {
		return nil
	}
	sum := new(big.Rat)
	for _, v := range x {
		sum.Add(sum, v)
	}
	return sum.Quo(sum, big.NewRat(int64(len(x)), 1))
}

// variance is the population variance.
func variance(x []*big.Rat) *big.Rat {
	m := Average(x)
	squares := make([]*big.Rat, len(x))
	for i, v := range x {
		d := new(big.Rat).Sub(v, m)
		squares[i] = d.Mul(d, d)
	}
	return Average(squares)
}

func float(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f
}

func known(x *big.Rat) *float64 {
	if x == nil {
		return nil
	}
	return new(float(x))
}
