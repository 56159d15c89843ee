package learn

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"waymark/suggest"
)

// Dissector is a [Ranker] that knows what its scores are made of. Dissect ranks as Rank does with limit
// 0, and once more without each part that any of these candidates has.
type Dissector interface {
	Ranker
	Dissect(q Question) (ranked []Candidate, without map[string][]string, err error)
}

// Dissect is [Dissector]. A part is a term of the scores, and without it the candidates that were found
// are ranked by what is left:
//
//	learned           Σ contributions of the other terms
//	other sums        min(cap, Σ contributions of the other terms)
//	mixed             x/(1+x), x = the product of the other factors
//
// A candidate with nothing left is no candidate, but among learned scores, which may be below 0. A score that is made in another way stays as it is,
// and so does the relevance of a capability, without which it has no score.
func (a suggester) Dissect(q Question) ([]Candidate, map[string][]string, error) {
	explained := true
	found, err := a.next(q, suggest.MaxLimit, &explained)
	if err != nil {
		return nil, nil, err
	}
	ranked := candidates(found)
	without := map[string][]string{}
	for _, s := range found {
		for _, t := range s.Terms {
			without[t.Name] = nil
		}
	}
	for _, bound := range []string{"cap", "floor", "relevance", "comparable"} {
		delete(without, bound)
	}
	type rest struct {
		id    string
		score float64
	}
	left := make([]rest, 0, len(found))
	for part := range without { // each by itself; order does not matter
		left = left[:0]
		for i := range found {
			if score := scoreWithout(&found[i], part); score > 0 || found[i].Formula == suggest.FormulaLearned {
				left = append(left, rest{found[i].ID, score})
			}
		}
		slices.SortFunc(left, func(x, y rest) int {
			return cmp.Or(cmp.Compare(y.score, x.score), strings.Compare(x.id, y.id))
		})
		ids := make([]string, len(left))
		for i, s := range left {
			ids[i] = s.id
		}
		without[part] = ids
	}
	return ranked, without, nil
}

// scoreWithout is the score of a suggestion without one of its terms.
func scoreWithout(s *suggest.Suggestion, part string) float64 {
	if !slices.ContainsFunc(s.Terms, func(t suggest.Term) bool { return t.Name == part }) {
		return s.Score
	}
	all, sum, product := 0.0, 0.0, 1.0
	for _, t := range s.Terms {
		all += t.Contribution
		switch {
		case t.Name == part, t.Name == "cap", t.Name == "floor", t.Name == "comparable":
		default:
			sum += t.Contribution
			product *= t.Contribution
		}
	}
	switch {
	case s.Formula == suggest.FormulaMixed:
		return suggest.Comparable(product)
	case s.Formula == suggest.FormulaLearned:
		return sum
	case math.Abs(all-s.Score) < 1e-9:
		return min(suggest.Cap, sum)
	}
	return s.Score
}

// parted are the ranks at every position of a test without each part.
type parted map[string][]int

// at takes down the ranks of a target at the position after those in before, where ranked is its rank
// with all parts: it is the same without a part that has no say.
func (p parted) at(before []int, ranked int, target string, without map[string][]string) {
	for part, ids := range without {
		if _, ok := p[part]; !ok {
			p[part] = slices.Clone(before)
		}
		p[part] = append(p[part], 1+slices.Index(ids, target))
	}
	for part, ranks := range p {
		if _, ok := without[part]; !ok {
			p[part] = append(ranks, ranked)
		}
	}
}

// dissected lists the reciprocal ranks without each part, by its name.
func (a *nextAnswers) dissected() (names []string, samples []Sample) {
	all := map[string]bool{}
	for _, p := range a.parts {
		for part := range p {
			all[part] = true
		}
	}
	names = slices.Sorted(maps.Keys(all))
	for _, part := range names {
		s := newSample(len(a.ranks))
		for e, ranks := range a.ranks {
			if p, ok := a.parts[e][part]; ok {
				ranks = p
			}
			for _, rank := range ranks {
				s.Sum[e] += reciprocal(rank)
				s.Count[e]++
			}
		}
		samples = append(samples, s)
	}
	return names, samples
}
