package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/score"
)

// empty is the result of an easy question.
func empty() Result {
	return Result{Priors: map[string]float64{}, Rounds: []RoundResult{}, Merged: [][]string{}, Ranking: []Standing{},
		ConfidenceTerms: []Term{}, Packs: []Pack{}, Warnings: []string{}}
}

// result is what the evidence of all rounds says. Warnings: an agreement that is not given counts 0, without evidence the
// weights are the priors, and one hypothesis has nothing to be compared with.
func (t *triangulation) result() Result {
	res := empty()
	res.Rounds, res.Merged, res.Packs = t.rounds, t.merged, t.packs()
	if len(t.rounds) == 0 {
		res.NextQueries = t.opening
	}
	assigned := 0
	ranked := t.ranked(false)
	for _, c := range ranked {
		res.Priors[c.ID] = c.prior
		n, against := len(c.supporting), len(c.falsifying)
		res.Ranking = append(res.Ranking, Standing{c.ID, c.Text, c.weight, c.support, c.falsification, n, against})
		assigned += n + against
	}
	lead := ranked[0]
	res.Dominance = lead.weight
	support, unsupported := 0.0, 1
	if lead.support > 0 {
		support, unsupported = lead.support/(lead.support+lead.falsification), 0
	}
	res.Confidence, res.ConfidenceTerms = confidence(
		support, lead.weight, *cmp.Or(t.Agreement, &none), assigned, unsupported, len(lead.falsifying))
	switch {
	case lead.weight < t.options.AbstainLead:
		res.AbstainReason = "hypothesis_entropy_too_high"
	case lead.ID == NoneOfThese:
		res.AbstainReason = "none_of_these_leads"
	}
	res.Abstain = res.AbstainReason != ""
	warn := func(when bool, warning string) {
		if when {
			res.Warnings = append(res.Warnings, warning)
		}
	}
	warn(t.Agreement == nil, "agreement_not_given")
	warn(assigned == 0, "no_evidence")
	warn(len(t.claims) == 1, "one_hypothesis")
	res.SynthesisContext = synthesis(t.Question, res)
	return res
}

// confidence is
//
//	.25 + .40·support + .15·dominance + .10·agreement + .05·min(1, n/10) − .07·unsupported − .05·contradictions
//
// kept within [.05, .95], with the terms that add up to it. Support is the share of the leader's evidence that supports
// it, dominance its weight, n the snippets assigned to any hypothesis, unsupported 1 if it has no support, contradictions
// the snippets that falsify it.
func confidence(support, dominance, agreement float64, n, unsupported, contradictions int) (float64, []Term) {
	terms := []Term{
		{"base", 1, .25, 0},
		{"support", support, .40, 0},
		{"hypothesis_dominance", dominance, .15, 0},
		{"agreement", agreement, .10, 0},
		{"evidence_count", min(1, float64(n)/10), .05, 0},
		{"unsupported", float64(unsupported), -.07, 0},
		{"contradictions", float64(contradictions), -.05, 0},
	}
	total := 0.0
	for i := range terms {
		t := &terms[i]
		t.Contribution = float64(t.Value*t.Weight) + 0 // no -0
		total += t.Contribution
	}
	bounded := min(max(total, .05), .95)
	if step := bounded - total; step != 0 {
		terms = append(terms, Term{"bounds", step, 1, step})
	}
	return bounded, terms
}

// packs gives the heaviest hypotheses their strongest evidence. "None of these" has no words to match, so its pack is
// from the whole pool, by overlap with the question.
func (t *triangulation) packs() []Pack {
	packs := []Pack{}
	for _, c := range first(t.ranked(true), packHypotheses) {
		supporting := strongest(c.supporting, packSupporting)
		falsifying := strongest(c.falsifying, packFalsifying)
		packs = append(packs, Pack{c.ID, c.weight, supporting, falsifying})
	}
	if t.NoneOfThese {
		asked := terms(t.Question)
		var pool []*passage
		for _, p := range t.passages {
			relevance := float64(overlap(p.terms, asked) * p.novelty)
			pool = append(pool, &passage{Snippet: p.Snippet, round: p.round, strength: relevance})
		}
		none := t.claims[len(t.claims)-1]
		packs = append(packs, Pack{none.ID, none.weight, strongest(pool, packSupporting), []Exhibit{}})
	}
	return packs
}

func strongest(passages []*passage, n int) []Exhibit {
	exhibits := []Exhibit{}
	for _, p := range passages {
		exhibits = append(exhibits, Exhibit{p.Snippet, p.round, p.strength})
	}
	slices.SortFunc(exhibits, func(a, b Exhibit) int {
		return cmp.Or(cmp.Compare(b.Strength, a.Strength),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Round, b.Round))
	})
	return first(exhibits, n)
}

// maxQuoted bounds the bytes of a text in the synthesis context.
const maxQuoted = 1000

// synthesis is the context for a model that writes the answer: the ranked hypotheses, then a pack for each. Texts of
// others stand in quotes, on one line each, so none can pass for a heading or an instruction. A snippet is quoted once;
// in later packs it is only named.
func synthesis(question string, res Result) string {
	var b strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	write("QUESTION: %s\n\n%s", quote(question), tables.Texts["synthesis"])
	if res.Abstain {
		write("%s", tables.Texts["ambiguous"])
	}
	write("\nRANKED HYPOTHESES")
	heading := map[string]string{}
	for i, r := range res.Ranking {
		text := fmt.Sprintf("%s [weight: %.2f]", quote(r.Text), r.Weight)
		heading[r.Hypothesis] = fmt.Sprintf("HYPOTHESIS %d: %s", i+1, text)
		write("%d. %s", i+1, text)
	}
	quoted := map[Snippet]bool{}
	list := func(name string, exhibits []Exhibit) {
		if len(exhibits) == 0 {
			write("%s: none", name)
			return
		}
		write("%s:", name)
		for _, e := range exhibits {
			text, key := quote(e.Text), Snippet{e.ID, e.Text, ""}
			switch {
			case quoted[key]:
				text = "(above)"
			case e.Source != "":
				text += " (source " + quote(e.Source) + ")"
			}
			write("- %s %s", quote(e.ID), text)
			quoted[key] = true
		}
	}
	for _, p := range res.Packs {
		write("\n%s", heading[p.Hypothesis])
		list("Supporting", p.Supporting)
		list("Falsifying", p.Falsifying)
	}
	return b.String()
}

// quote writes a text as a JSON string of at most maxQuoted bytes and a mark of omission, without line breaks.
func quote(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) > maxQuoted {
		line = score.Cut(line, maxQuoted) + " …"
	}
	return strconv.Quote(line)
}
