package evidence

import (
	"cmp"
	"slices"
	"strings"
)

// Result is what the evidence of all rounds so far says. The caller must not change what it holds.
func (s *Session) Result() Result {
	res := Result{
		Priors: map[string]float64{}, Rounds: slices.Clone(s.rounds), Merged: s.merged, Ranking: []Standing{}, Packs: s.packs(),
		Warnings: []string{},
	}
	assigned := 0
	for _, c := range s.claims {
		res.Priors[c.ID] = c.prior
		assigned += len(c.supporting) + len(c.falsifying)
	}
	ranked := s.ranked(false)
	for _, c := range ranked {
		res.Ranking = append(res.Ranking, Standing{
			Hypothesis: c.ID, Text: c.Text, Weight: c.weight, Support: c.support, Falsification: c.falsification,
			Supporting: len(c.supporting), Falsifying: len(c.falsifying),
		})
	}
	if len(s.rounds) == 0 {
		res.NextQueries = s.Queries()
	}

	lead := ranked[0]
	res.Dominance = lead.weight
	g := Grounds{Dominance: lead.weight, Snippets: assigned, Contradictions: len(lead.falsifying)}
	if lead.support > 0 {
		g.Support = lead.support / (lead.support + lead.falsification)
	} else {
		g.Unsupported = 1
	}
	if s.request.Agreement != nil {
		g.Agreement = *s.request.Agreement
	} else {
		res.Warnings = append(res.Warnings, agreementNotGiven)
	}
	res.Confidence, res.ConfidenceTerms = Confidence(g)
	switch {
	case lead.weight < s.options.AbstainLead:
		res.Abstain, res.AbstainReason = true, entropyTooHigh
	case lead.ID == NoneOfThese:
		res.Abstain, res.AbstainReason = true, noneOfTheseLead
	}
	if assigned == 0 {
		res.Warnings = append(res.Warnings, noEvidence)
	}
	if len(s.claims) == 1 {
		res.Warnings = append(res.Warnings, oneHypothesis)
	}
	res.SynthesisContext = s.synthesis(res)
	return res
}

// packs gives the heaviest hypotheses their strongest evidence. "None of these" has no words to match, so
// its pack is what the whole pool says on the question.
func (s *Session) packs() []Pack {
	packs := []Pack{}
	ranked := s.ranked(true)
	for _, c := range ranked[:min(s.options.PackHypotheses, len(ranked))] {
		strength := func(p *passage) float64 { return float64(p.overlap * p.novelty) }
		packs = append(packs, Pack{Hypothesis: c.ID, Weight: c.weight,
			Supporting: s.strongest(c.supporting, s.options.PackSupporting, strength),
			Falsifying: s.strongest(c.falsifying, s.options.PackFalsifying, strength)})
	}
	if s.request.NoneOfThese {
		all := make([]int, len(s.passages))
		for i := range all {
			all[i] = i
		}
		packs = append(packs, Pack{Hypothesis: NoneOfThese, Weight: s.claims[len(s.claims)-1].weight, Falsifying: []Exhibit{},
			Supporting: s.strongest(all, s.options.PackSupporting, func(p *passage) float64 {
				return float64(overlap(p.terms, s.question) * p.novelty)
			})})
	}
	return packs
}

func (s *Session) strongest(passages []int, n int, strength func(*passage) float64) []Exhibit {
	exhibits := make([]Exhibit, len(passages))
	for i, at := range passages {
		p := &s.passages[at]
		exhibits[i] = Exhibit{ID: p.ID, Text: p.Text, Source: p.Source, Round: p.round, Strength: strength(p)}
	}
	slices.SortFunc(exhibits, func(a, b Exhibit) int {
		return cmp.Or(cmp.Compare(b.Strength, a.Strength), strings.Compare(a.ID, b.ID), cmp.Compare(a.Round, b.Round))
	})
	return exhibits[:min(n, len(exhibits))]
}
