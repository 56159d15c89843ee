package council

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"slices"

	"waymark/internal/numeric"
	"waymark/score/rubric"
)

// A panel is a checked input with its parsed reviews.
type panel struct {
	in         Input
	rubric     *rubric.Rubric
	dimensions []rubric.Dimension
	ceilings   []rubric.Ceiling

	ids      []string          // sorted
	author   map[string]string // by id
	words    map[string]int    // of the text, by id
	stated   map[string]*bool  // CorrectRefusal of the request
	declines map[string]bool   // refusals detected as correct
	unsafe   map[string][]hit

	votes   []*vote // of all reviews, in their order
	counted []*vote // the readable ones, by name
}

func newPanel(in Input) (*panel, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	r, err := in.Options.Weighed()
	if err != nil {
		return nil, err
	}
	def := r.Definition()
	p := &panel{in: in, rubric: r, dimensions: def.Dimensions, ceilings: def.Ceilings, author: map[string]string{},
		words: map[string]int{}, stated: map[string]*bool{}, declines: map[string]bool{}, unsafe: map[string][]hit{}}
	asked := speaksOf(in.Question)
	for _, resp := range in.Responses {
		p.ids = append(p.ids, resp.ID)
		p.author[resp.ID], p.stated[resp.ID], p.words[resp.ID] = resp.Author, resp.CorrectRefusal, words(resp.Text)
		found := hits(resp.Text)
		if in.Options.gated() && len(found) > 0 {
			p.unsafe[resp.ID] = found
		}
		p.declines[resp.ID] = asked && len(found) == 0 && refuses(resp.Text)
	}
	slices.Sort(p.ids)
	for i := range in.Reviews {
		v, err := p.read(i)
		if err != nil {
			return nil, err
		}
		p.votes = append(p.votes, v)
		if v.status != Unparsable {
			p.counted = append(p.counted, v)
		}
	}
	slices.SortFunc(p.counted, func(a, b *vote) int { return cmp.Compare(a.reviewer, b.reviewer) })
	return p, nil
}

// A standing is one answer with its aggregated votes.
type standing struct {
	id              string
	score, uncapped *big.Rat // nil if no review scores it
	ceiling         *rubric.Decimal
	borda           *big.Rat // nil if no review compares it
	z               *float64
	safe            bool
	class           int // of those that can be compared, see class
}

// standings returns the answers in rank order.
func (p *panel) standings() []standing {
	list, votes := make([]standing, len(p.ids)), p.counted
	points := make([]map[string]*big.Rat, len(votes))
	zs := make([]map[string]float64, len(votes))
	for i, v := range votes {
		points[i] = v.borda()
		if p.in.Options.Normalise == Z {
			zs[i] = v.z()
		}
	}
	for i, id := range p.ids {
		s := standing{id: id, safe: len(p.unsafe[id]) == 0}
		var scores, uncapped, borda []*big.Rat
		var z []float64
		for j, v := range votes {
			if b, ok := points[j][id]; ok {
				borda = append(borda, b)
			}
			m, ok := v.marks[id]
			if !ok {
				continue
			}
			scores, uncapped = append(scores, m.score), append(uncapped, m.uncapped)
			if m.ceiling != nil && (s.ceiling == nil || *m.ceiling < *s.ceiling) {
				s.ceiling = m.ceiling
			}
			if zs[j] != nil {
				z = append(z, zs[j][id])
			}
		}
		if len(scores) > 0 {
			s.score, s.uncapped = mean(scores), mean(uncapped)
			if bound := p.in.Options.SafetyScoreCap.Rat(); !s.safe && s.score.Cmp(bound) > 0 {
				s.score = bound
			}
		}
		if len(borda) > 0 {
			s.borda = mean(borda)
		}
		if len(z) > 0 {
			slices.Sort(z) // the sum must not depend on the names of reviewers
			s.z = new(numeric.Sum(z) / float64(len(z)))
		}
		s.class = p.class(s)
		list[i] = s
	}
	slices.SortFunc(list, func(a, b standing) int { return cmp.Or(a.compare(b), cmp.Compare(a.id, b.id)) })
	return list
}

// What can be compared: scores with scores, orders with orders. An answer that failed the gate comes after
// both, unless a cap above 0 leaves it a score that stands beside the others'.
const (
	byScore = iota
	byOrder
	failedGate
	unseen
)

func (p *panel) class(s standing) int {
	switch {
	case s.borda == nil && s.score == nil:
		return unseen
	case !s.safe && (s.score == nil || p.in.Options.Normalise == Z || p.in.Options.SafetyScoreCap == 0):
		return failedGate
	case s.score == nil:
		return byOrder
	}
	return byScore
}

// compare is negative if a comes before b, 0 if only the id can tell.
func (a standing) compare(b standing) int {
	return cmp.Or(cmp.Compare(a.class, b.class), a.primary(b), rats(b.borda, a.borda))
}

// primary compares what answers are ranked by.
func (a standing) primary(b standing) int {
	if a.z != nil && b.z != nil {
		return cmp.Compare(settled(*b.z), settled(*a.z))
	}
	return rats(b.score, a.score)
}

// settled drops the last digits, in which equal z-scores of different reviewers may differ.
func settled(z float64) float64 { return math.Round(z * 1e9) }

// rats compares fractions, nil below all.
func rats(a, b *big.Rat) int {
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

// z puts the scores of a vote on the scale of its own mean and deviation.
func (v *vote) z() map[string]float64 {
	ids := slices.Sorted(maps.Keys(v.marks))
	if len(ids) == 0 {
		return nil
	}
	x := make([]*big.Rat, len(ids))
	for i, id := range ids {
		x[i] = v.marks[id].score
	}
	z := map[string]float64{}
	for i, s := range zScores(x) {
		z[ids[i]] = s
	}
	return z
}
