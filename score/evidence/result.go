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

// result returns the outcome of all rounds. It warns if no agreement is given (it counts 0), if there is no evidence
// (the weights are the priors), and if there is only one hypothesis (there is nothing to compare it with).
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

// confidence returns
//
//	.25 + .40·support + .15·dominance + .10·agreement + .05·min(1, n/10) − .07·unsupported − .05·contradictions
//
// clamped to [.05, .95], with the terms that add up to it. Support is the share of the leader's evidence that supports
// it, dominance its weight, n the number of snippets assigned to any hypothesis, unsupported 1 if the leader has no
// support, contradictions the number of snippets that falsify it.
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

// packs returns the strongest evidence on the heaviest hypotheses. "None of these" has no words to match, so its pack
// is taken from the whole pool, by overlap with the question times novelty.
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

// synthesis returns the context for a model that writes the answer: the ranked hypotheses, then a pack for each.
// Third-party texts are quoted, on one line each, so that none can pass for a heading or an instruction. A snippet is
// quoted once; later packs refer to it by its id.
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

// quote returns at most maxQuoted bytes of a text as a quoted string on one line. A cut text ends with an ellipsis.
func quote(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) > maxQuoted {
		line = score.Cut(line, maxQuoted) + " …"
	}
	return strconv.Quote(line)
}
