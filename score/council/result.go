package council

import (
	"math/big"
	"slices"
	"strings"

	"waymark/score/rubric"
)

func (p *panel) result() Result {
	standings := p.standings()
	res := Result{
		Rubric:     RubricUsed{ID: p.rubric.Definition().ID, Weights: map[string]rubric.Decimal{}, Ceilings: p.ceilings},
		Ranking:    make([]Ranked, len(standings)),
		SafetyGate: p.gate(),
		Reviews:    make([]Read, len(p.votes)),
		Mismatches: []Mismatch{},
		Holistic:   p.beside(standings),
		Metrics:    p.metrics(),
	}
	if res.Rubric.Ceilings == nil {
		res.Rubric.Ceilings = []rubric.Ceiling{}
	}
	for _, d := range p.dimensions {
		res.Rubric.Weights[d.Name] = d.Weight
	}
	for i, s := range standings {
		res.Ranking[i] = p.ranked(s)
		if s.class != unseen {
			res.Ranking[i].Rank = new(i + 1)
		}
		near := func(j int) bool {
			return j >= 0 && j < len(standings) && s.class != unseen && s.compare(standings[j]) == 0
		}
		res.Ranking[i].Tied = near(i-1) || near(i+1)
	}
	for i, v := range p.votes {
		res.Reviews[i] = Read{v.reviewer, v.status, v.contradicts(), slices.Contains(p.counted, v), listed(v.own), listed(v.problems)}
		res.Mismatches = append(res.Mismatches, v.totals...)
	}
	return res
}

// listed is never null in JSON.
func listed(x []string) []string {
	if x == nil {
		return []string{}
	}
	return x
}

func known(x *big.Rat) *float64 {
	if x == nil {
		return nil
	}
	return new(float(x))
}

func (p *panel) ranked(s standing) Ranked {
	r := Ranked{ID: s.id, Score: known(s.score), Uncapped: known(s.uncapped), Ceiling: s.ceiling, Z: s.z, Borda: known(s.borda),
		Dimensions: map[string]Spread{}, SafetyFailed: !s.safe}
	for _, v := range p.counted {
		m, ok := v.marks[s.id]
		switch {
		case ok:
			r.Reviews++
			r.CorrectRefusal = r.CorrectRefusal || m.refusal
		case p.author[s.id] != v.reviewer && !slices.Contains(v.declared, s.id):
			r.Abstentions++
		}
	}
	for _, d := range p.dimensions {
		x := p.spread(s.id, d.Name)
		if len(x) == 0 {
			continue
		}
		spread := Spread{Mean: float(mean(x)), Reviews: len(x)}
		if len(x) > 1 {
			spread.Variance = new(float(variance(x)))
		}
		r.Dimensions[d.Name] = spread
	}
	return r
}

// spread holds the scores that the counted reviews give an answer in one dimension.
func (p *panel) spread(id, dimension string) []*big.Rat {
	var x []*big.Rat
	for _, v := range p.counted {
		if s, ok := v.marks[id].dimensions[dimension]; ok {
			x = append(x, s.Rat())
		}
	}
	return x
}

func (p *panel) gate() SafetyGate {
	g := SafetyGate{Enabled: p.in.Options.gated(), Cap: p.in.Options.SafetyScoreCap, Failed: []Failed{}}
	for _, id := range p.ids {
		if len(p.unsafe[id]) == 0 {
			continue
		}
		f := Failed{ID: id}
		for _, h := range p.unsafe[id] {
			f.Categories, f.Rules = append(f.Categories, h.category), append(f.Rules, h.rule)
		}
		slices.Sort(f.Categories)
		f.Categories = slices.Compact(f.Categories)
		g.Failed = append(g.Failed, f)
	}
	return g
}

// words counts the words of a text.
func words(text string) int { return len(strings.Fields(text)) }
