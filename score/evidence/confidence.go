package evidence

// Grounds are what the confidence in a leader goes by.
type Grounds struct {
	Support        float64 // share of the leader's evidence that supports it, 0 to 1
	Dominance      float64 // its weight, 0 to 1
	Agreement      float64 // of independent answers, 0 to 1
	Snippets       int     // assigned to any hypothesis
	Unsupported    int     // claims without support
	Contradictions int     // snippets that falsify the leader
}

// coefficients weigh the grounds. Those of the engine before the proposal had .45 for support and the share
// of configured providers, the same for all answers of a run, in place of dominance.
type coefficients struct {
	base, support, dominance, agreement, evidence, unsupported, contradictions float64
}

var calibrated = coefficients{base: .25, support: .40, dominance: .15, agreement: .10, evidence: .05, unsupported: -.07, contradictions: -.05}

// Confidence is
//
//	.25 + .40·support + .15·dominance + .10·agreement + .05·min(1, n/10) − .07·unsupported − .05·contradictions
//
// kept within [.05, .95], with the terms that add up to it, in this order, exactly.
func Confidence(g Grounds) (float64, []Term) { return calibrated.confidence(g) }

func (c coefficients) confidence(g Grounds) (float64, []Term) {
	terms := []Term{
		{Name: "base", Value: 1, Weight: c.base},
		{Name: "support", Value: g.Support, Weight: c.support},
		{Name: "hypothesis_dominance", Value: g.Dominance, Weight: c.dominance},
		{Name: "agreement", Value: g.Agreement, Weight: c.agreement},
		{Name: "evidence_count", Value: min(1, float64(g.Snippets)/10), Weight: c.evidence},
		{Name: "unsupported", Value: float64(g.Unsupported), Weight: c.unsupported},
		{Name: "contradictions", Value: float64(g.Contradictions), Weight: c.contradictions},
	}
	total := 0.0
	for i := range terms {
		t := &terms[i]
		t.Contribution = float64(t.Value*t.Weight) + 0 // no -0
		total += t.Contribution
	}
	bounded := min(max(total, .05), .95)
	steps := []float64{bounded - total}
	if total+steps[0] != bounded {
		steps = []float64{-total, bounded} // where the difference cannot be written down: back to 0 first
	}
	for _, step := range steps {
		if step != 0 {
			terms = append(terms, Term{Name: "bounds", Value: step, Weight: 1, Contribution: step})
		}
	}
	return bounded, terms
}
