package evaluate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/suggest"
)

// rankWithout ranks what comes next, and once more without each part that any of these candidates has. A part
// is a term of the scores, and without it the candidates that were found are ranked by what is left:
//
//	learned           Σ contributions of the other terms
//	other sums        min(cap, Σ contributions of the other terms)
//	mixed             x/(1+x), x = the product of the other factors
//
// A candidate with nothing left is no candidate, but among learned scores, whose sums may be below 0. A score
// that is made in another way stays as it is, and so does the relevance of a capability, without which it
// has no score. No weights are fitted anew: those of profile seed are not fitted at all.
func (a suggester) rankWithout(q Question) (ranked []string, without map[string][]string, err error) {
	explained := true
	found, err := a.next(q, suggest.MaxLimit, &explained)
	if err != nil {
		return nil, nil, err
	}
	ranked, without = takeApart(found)
	return ranked, without, nil
}

// needsWithout does the same with the tools that an intent needs.
func (a suggester) needsWithout(intent string) (ranked []string, without map[string][]string, err error) {
	explained := true
	seed := suggester{model: a.model, profile: suggest.ProfileSeed}
	found, err := seed.next(Question{Intent: intent}, suggest.MaxLimit, &explained)
	if err != nil {
		return nil, nil, err
	}
	found = slices.DeleteFunc(found, func(s suggest.Suggestion) bool { return s.Kind != catalog.KindTool })
	ranked, without = takeApart(found)
	return ranked, without, nil
}

// takeApart ranks the suggestions anew without each of their terms. Terms that bound a score or are factors
// of it carry no signal of their own and are not taken out.
func takeApart(found []suggest.Suggestion) (ranked []string, without map[string][]string) {
	without = map[string][]string{}
	for _, s := range found {
		ranked = append(ranked, s.ID)
		for _, t := range s.Terms {
			without[t.Name] = nil
		}
	}
	for _, bound := range []string{"cap", "floor", "relevance", "comparable", "its_best_tool", "rest"} {
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
			if score := scoreWithout(&found[i], part); score > 0 || found[i].Formula == suggest.FormulaLogistic {
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
	return ranked, without
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
		case t.Name == part, t.Name == "cap", t.Name == "floor", t.Name == "comparable", t.Name == "rest":
		default:
			sum += t.Contribution
			product *= t.Contribution
		}
	}
	switch {
	case s.Formula == suggest.FormulaMixed:
		return suggest.Comparable(product)
	case s.Formula == suggest.FormulaLogistic:
		return sum
	case math.Abs(all-s.Score) < 1e-9:
		return min(suggest.Cap, sum)
	}
	return s.Score
}

// ablation answers without parts by leaving terms out of scores, or by what was fitted anew.
type ablation struct {
	suggester
	anew *suggest.Ablation // nil: nothing was learned that could be
}

// Ablate is [Ablater].
func (a suggester) Ablate(halt func() bool, tell func(done float64)) (Ablation, error) {
	d := ablation{suggester: a}
	if a.learned != [kinds]bool{} {
		d.anew = a.model.Ablate(halt, tell)
	}
	return d, nil
}

// Next is [Ablation].
func (d ablation) Next(q Question, target string) (rank int, without map[string]int, refitted bool, err error) {
	kind := kindNext
	if strings.TrimSpace(q.Intent) != "" {
		kind = kindNextIntent
	}
	if d.learned[kind] && d.anew != nil {
		if rank, without, ok := d.anew.Next(recent(q.Context), q.Intent, target); ok {
			for part, place := range without {
				without[part] = listedAt(place)
			}
			return listedAt(rank), without, true, nil
		}
	}
	ranked, lists, err := d.rankWithout(q)
	if err != nil {
		return 0, nil, false, err
	}
	without = make(map[string]int, len(lists))
	for part, ids := range lists {
		without[part] = 1 + slices.Index(ids, target)
	}
	return 1 + slices.Index(ranked, target), without, false, nil
}

// listedAt is a place, 0 below the longest list that the engine gives.
func listedAt(place int) int {
	if place > suggest.MaxLimit {
		return 0
	}
	return place
}

// Needs is [Ablation].
func (d ablation) Needs(intent string, visit func(without string, tools []string, p *Plan)) (refitted bool, err error) {
	if d.learned[kindIntent] && d.anew != nil && d.anew.Plans(intent, func(without string, n suggest.Needed) {
		var p Plan
		for _, s := range n.Plan {
			p.Tools = append(p.Tools, s.Tool)
			for _, j := range s.After {
				p.Links = append(p.Links, Link{n.Plan[j].Tool, s.Tool})
			}
		}
		visit(without, n.Tools, &p)
	}) {
		return true, nil
	}
	ranked, lists, err := d.needsWithout(intent)
	if err != nil {
		return false, err
	}
	visit("", ranked, nil)
	for _, part := range slices.Sorted(maps.Keys(lists)) {
		visit(part, lists[part], nil)
	}
	return false, nil
}
