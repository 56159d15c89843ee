package mine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/score"
)

// The dimensions that a history gives, and the gate.
const (
	dimSupport  = "support"
	dimSuccess  = "success"
	dimCohesion = "cohesion"
	dimSavings  = "savings"
	dimNovelty  = "novelty"
	gateKnown   = "tools_known"
)

var dimensions = []string{dimSupport, dimSuccess, dimCohesion, dimSavings, dimNovelty}

// CheckRubric reports why proposals cannot be scored by a rubric: it asks for what a history does not
// tell, or on another scale than 0 to 10.
func CheckRubric(r *score.Rubric) error {
	for _, d := range r.Definition().Dimensions {
		if !slices.Contains(dimensions, d.Name) {
			return fmt.Errorf("dimension %q cannot be scored from a history; it gives %s", d.Name, strings.Join(dimensions, ", "))
		}
		if d.Scale.Min > 0 || d.Scale.Max < score.Whole(10) || d.Scale.Integer {
			return fmt.Errorf("dimension %q has the scale %v; the scores of a history go from 0 to 10, with decimals", d.Name, d.Scale)
		}
		if d.Name == dimSuccess && !d.Conditional {
			return fmt.Errorf("dimension %q has to be conditional: outcomes may be unknown", d.Name)
		}
	}
	return nil
}

// How scores are worked out. The points where one is full are chosen, not measured.
const (
	fullSupport = 32  // times the least support
	fullSavings = 0.1 // of all calls
	knownLeast  = 3   // outcomes before they say anything
)

// judged is a proposal and what its rubric says of it.
type judged struct {
	proposal Proposal
	result   score.Result
}

// score makes the proposal of a draft.
func (d *draft) score(g *gathered, h History, r *score.Rubric, support int) (judged, error) {
	p, w := d.pattern, d.wire()
	k := len(d.tools)
	e := Evidence{
		Tasks: p.Support, Sessions: p.Sessions, Together: p.Together, All: p.All,
		Saved: (k - 1) * p.Support, Calls: g.calls, Examples: slices.Clone(d.examples),
	}
	slices.Reverse(e.Examples)
	own := tally{}
	for _, o := range p.Found {
		own.add(g.outcome[o.Task])
	}
	// base is what tasks with the pattern's tools reach on average, whether in this pattern or not: the
	// pattern counts as good only against that.
	base := tally{}
	for i, t := range p.Tools {
		if !slices.Contains(p.Tools[:i], t) {
			base.succeeded += g.success[t].succeeded
			base.known += g.success[t].known
		}
	}
	e.Succeeded, e.Known = own.succeeded, own.known
	if base.known > 0 {
		e.BaseRate = float64(base.succeeded) / float64(base.known)
	}
	e.Nearest, e.Jaccard = nearest(d.tools, h.Capabilities)

	card := score.Card{Scores: map[string]score.Decimal{}}
	why := map[string]string{}
	give := func(name, format string, score float64, args ...any) {
		if _, ok := r.Dimension(name); ok {
			card.Scores[name] = hundredths(score)
		}
		why[name] = fmt.Sprintf(format, args...)
	}
	give(dimSupport, "done in %d tasks of %d sessions; %d times the least support is full",
		10*numeric.Log2(1+float64(p.Support)/float64(support))/numeric.Log2(1+fullSupport), p.Support, p.Sessions, fullSupport)
	give(dimCohesion, "of %d tasks that call all its tools, %d do so close together and %d of them in this order",
		10*float64(p.Support)/float64(max(1, p.All)), p.All, p.Together, p.Support)
	give(dimSavings, "%d of %d calls would have been saved; a tenth is full",
		10*math.Sqrt(min(1, float64(e.Saved)/float64(max(1, g.calls))/fullSavings)), e.Saved, g.calls)
	if e.Nearest == "" {
		give(dimNovelty, "no capability has a tool of it", 10)
	} else {
		give(dimNovelty, "most like %s, Jaccard %.2f of their tools", 10*(1-e.Jaccard), e.Nearest, e.Jaccard)
	}
	if rate := float64(own.succeeded+1) / float64(own.known+2); own.known >= knownLeast {
		give(dimSuccess, "%d of %d tasks succeeded, %.2f counting one of each more; %.2f of those with its tools; as good is 5",
			5+10*(rate-e.BaseRate), own.succeeded, own.known, rate, e.BaseRate)
	} else {
		why[dimSuccess] = fmt.Sprintf("the outcome of %d tasks is known, too few to tell", own.known)
		if _, ok := r.Dimension(dimSuccess); ok {
			card.NotApplicable = append(card.NotApplicable, dimSuccess)
		}
	}
	// A tool that no catalog describes has no schema to run it with.
	var unknown []string
	for i, t := range d.known {
		if t == nil && !slices.Contains(unknown, d.tools[i]) {
			unknown = append(unknown, d.tools[i])
		}
	}
	notes := w.notes
	if len(unknown) > 0 {
		notes = append(notes, fmt.Sprintf("%s in no catalog: it can be suggested, not run", isAre(unknown)))
		if slices.ContainsFunc(r.Definition().Gates, func(g score.Gate) bool { return g.Name == gateKnown }) {
			card.FailedGates = append(card.FailedGates, gateKnown)
		}
	}
	result, err := r.Score(card)
	if err != nil {
		return judged{}, fmt.Errorf("score what %s have in common: %w", strings.Join(d.tools, ", "), err)
	}
	out := Proposal{
		ID: contentID(d.tools, p.After), State: Proposed, Composite: r.Shown(result.Composite), Verdict: result.Verdict,
		Caution: result.Caution, Evidence: e, Notes: notes,
	}
	for _, s := range result.Dimensions {
		out.Scores = append(out.Scores, Score{s.Name, s.Weight, s.Score, s.Applies, why[s.Name]})
	}
	if out.Capability, err = d.capability(out.ID, w, &g.words); err != nil {
		return judged{}, err
	}
	return judged{out, result}, nil
}

// isAre lists ids with the verb in the right number.
func isAre(ids []string) string {
	if len(ids) == 1 {
		return ids[0] + " is"
	}
	return strings.Join(ids, ", ") + " are"
}

// hundredths is a score on its scale.
func hundredths(x float64) score.Decimal {
	return score.Hundredths(int(math.Round(100 * min(10, max(0, x)))))
}

// nearest is the capability whose tools are most like these, ties by id; none if no tool is in one.
func nearest(tools []string, caps []catalog.Capability) (id string, jaccard float64) {
	distinct := slices.Compact(slices.Sorted(slices.Values(tools)))
	for _, c := range caps {
		both := 0
		for _, t := range c.Tools {
			if _, ok := slices.BinarySearch(distinct, t); ok {
				both++
			}
		}
		if both == 0 {
			continue
		}
		j := float64(both) / float64(len(distinct)+len(c.Tools)-both)
		if j > jaccard || j == jaccard && c.ID < id {
			id, jaccard = c.ID, j
		}
	}
	return id, jaccard
}

// capability is what would be published.
func (d *draft) capability(proposal string, w *wiring, words *words) (catalog.Capability, error) {
	told := d.told()
	name, intent := told, strings.ToLower(told)
	if n := len(d.tools) - 1; n > 1 {
		name = capital(spoken(d.tools[0]) + " … " + spoken(d.tools[n]))
	}
	called := name
	if common := common(d.intents, words); len(common) > 1 {
		intent = strings.Join(common, " ")
		called = intent
		name = capital(intent) + ": " + strings.ToLower(name)
	}
	c := catalog.Capability{
		Name: catalog.Cut(name, catalog.MaxName), Intent: catalog.Cut(intent, catalog.MaxIntent),
		Description: catalog.Cut(fmt.Sprintf("%s. Mined from %d tasks of %d sessions that did so.", told, d.pattern.Support, d.pattern.Sessions), catalog.MaxDescription),
		InputSchema: w.inputSchema(), Tags: []string{"mined"},
	}
	c.ID = "mined:" + cmp.Or(slug(called), "capability") + "-" + proposal[1:7]
	for i, t := range d.tools {
		task := catalog.Task{ID: taskID(i), Tool: t, Arguments: w.args[i]}
		for _, a := range d.pattern.After[i] {
			task.DependsOn = append(task.DependsOn, taskID(a))
		}
		c.Tasks = append(c.Tasks, task)
	}
	if err := c.Normalise(); err != nil {
		return c, fmt.Errorf("make a capability of what %s have in common: %w", strings.Join(d.tools, ", "), err)
	}
	return c, nil
}

// ranked puts proposals in the order of the rubric, ties by id, and leaves out those that fail.
func ranked(r *score.Rubric, all []judged) []Proposal {
	ids, results := make([]string, len(all)), make([]score.Result, len(all))
	for i, s := range all {
		ids[i], results[i] = s.proposal.ID, s.result
	}
	ranks := r.Rank(ids, results)
	var kept []Proposal
	for i, rank := range ranks {
		if all[i].proposal.Rank = rank; rank > 0 {
			kept = append(kept, all[i].proposal)
		}
	}
	slices.SortFunc(kept, func(a, b Proposal) int { return cmp.Compare(a.Rank, b.Rank) })
	return kept
}
