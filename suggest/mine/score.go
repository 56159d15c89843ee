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

// The dimensions that can be scored from a history, and the gate.
const (
	dimSupport  = "support"
	dimSuccess  = "success"
	dimCohesion = "cohesion"
	dimSavings  = "savings"
	dimNovelty  = "novelty"
	gateKnown   = "tools_known"
)

var dimensions = []string{dimSupport, dimSuccess, dimCohesion, dimSavings, dimNovelty}

// CheckRubric returns an error if proposals cannot be scored by a rubric: it has a dimension that a history
// cannot supply, another scale than 0 to 10, or requires success although outcomes may be unknown.
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

// Parameters of the scores. The points at which a score is full are chosen, not measured.
const (
	fullSupport = 32  // multiple of the least support
	fullSavings = 0.1 // share of all calls
	knownLeast  = 3   // least number of known outcomes
)

// mostExamples is the number of episodes listed with a proposal, the newest ones.
const mostExamples = 5

// score returns the proposal of a draft and the result of its rubric.
func (d *draft) score(g *gathered, h History, r *score.Rubric, support int) (p Proposal, result score.Result, err error) {
	e := d.evidence(g, h)
	type given struct {
		score float64
		why   string
	}
	scores := map[string]given{
		dimSupport: {10 * numeric.Log2(1+float64(e.Tasks)/float64(support)) / numeric.Log2(1+fullSupport),
			fmt.Sprintf("done in %d tasks of %d sessions; %d times the least support is full", e.Tasks, e.Sessions, fullSupport)},
		dimCohesion: {10 * float64(e.Tasks) / float64(max(1, e.All)),
			fmt.Sprintf("of %d tasks that call all its tools, %d do so close together and %d of them in this order", e.All, e.Together, e.Tasks)},
		dimSavings: {10 * math.Sqrt(min(1, float64(e.Saved)/float64(max(1, e.Calls))/fullSavings)),
			fmt.Sprintf("%d of %d calls would have been saved; a tenth is full", e.Saved, e.Calls)},
		dimNovelty: {10, "no capability has a tool of it"},
	}
	if e.Nearest != "" {
		scores[dimNovelty] = given{10 * (1 - e.Jaccard), fmt.Sprintf("most like %s, Jaccard %.2f of their tools", e.Nearest, e.Jaccard)}
	}
	card := score.Card{Scores: map[string]*score.Decimal{}}
	rate := float64(e.Succeeded+1) / float64(e.Known+2)
	scores[dimSuccess] = given{5 + 10*(rate-e.BaseRate), fmt.Sprintf("%d of %d tasks succeeded, %.2f counting one of each more; %.2f of those with its tools; as good is 5",
		e.Succeeded, e.Known, rate, e.BaseRate)}
	if e.Known < knownLeast {
		scores[dimSuccess] = given{why: fmt.Sprintf("the outcome of %d tasks is known, too few to tell", e.Known)}
	}
	for _, dimension := range r.Definition().Dimensions {
		if name := dimension.Name; name == dimSuccess && e.Known < knownLeast {
			card.Scores[name] = nil
		} else {
			card.Scores[name] = new(hundredths(scores[name].score))
		}
	}
	w := d.wire()
	for i, t := range d.known {
		if t != nil || slices.Contains(d.tools[:i], d.tools[i]) {
			continue
		}
		w.notes = append(w.notes, d.tools[i]+" is in no catalog: it can be suggested, not run") // without a schema
		if slices.ContainsFunc(r.Definition().Gates, func(g score.Gate) bool { return g.Name == gateKnown }) {
			card.FailedGates = []string{gateKnown}
		}
	}
	if result, err = r.Score(card); err != nil {
		return p, result, fmt.Errorf("score what %s have in common: %w", strings.Join(d.tools, ", "), err)
	}
	p = Proposal{
		ID: contentID(d.tools, d.pattern.After), State: Proposed, Composite: r.Shown(result.Composite), Verdict: result.Verdict,
		Caution: result.Caution, Evidence: e, Notes: w.notes,
	}
	for _, s := range result.Dimensions {
		p.Scores = append(p.Scores, Score{s.Name, s.Weight, s.Score, s.Applies, scores[s.Name].why})
	}
	p.Capability, err = d.capability(p.ID, w)
	return p, result, err
}

// evidence counts the evidence for a draft.
func (d *draft) evidence(g *gathered, h History) Evidence {
	p := d.pattern
	var own, base tally // base: all tasks with the pattern's tools, whether in this pattern or not
	for _, o := range p.Found {
		own.add(g.tasks[o.Task].Outcome)
	}
	for _, t := range slices.Compact(slices.Sorted(slices.Values(p.Tools))) {
		base.succeeded += g.success[t].succeeded
		base.known += g.success[t].known
	}
	e := Evidence{
		Tasks: p.Support, Sessions: p.Sessions, Together: p.Together, All: p.All, Succeeded: own.succeeded, Known: own.known,
		Saved: (len(p.Tools) - 1) * p.Support, Calls: g.calls, Examples: slices.Clone(d.examples[max(0, len(d.examples)-mostExamples):]),
	}
	slices.Reverse(e.Examples)
	if base.known > 0 {
		e.BaseRate = float64(base.succeeded) / float64(base.known)
	}
	e.Nearest, e.Jaccard = nearest(d.tools, h.Capabilities)
	return e
}

// hundredths limits a score to its scale of 0 to 10 and rounds it to two decimals.
func hundredths(x float64) score.Decimal {
	return score.Hundredths(int(math.Round(100 * min(10, max(0, x)))))
}

// nearest returns the capability with the most similar tools, ties by id; none if no capability has any of the tools.
func nearest(tools []string, caps []catalog.Capability) (id string, jaccard float64) {
	distinct := slices.Compact(slices.Sorted(slices.Values(tools)))
	for _, c := range caps {
		other := slices.DeleteFunc(slices.Clone(distinct), func(t string) bool { return slices.Contains(c.Tools, t) })
		both := len(distinct) - len(other)
		j := float64(both) / float64(len(other)+len(c.Tools))
		if both > 0 && (j > jaccard || j == jaccard && c.ID < id) {
			id, jaccard = c.ID, j
		}
	}
	return id, jaccard
}

// capability returns the capability that would be published.
func (d *draft) capability(proposal string, w *arguments) (catalog.Capability, error) {
	sentence := d.sentence()
	name, intent := sentence, strings.ToLower(sentence)
	if n := len(d.tools) - 1; n > 1 {
		name = capital(spoken(d.tools[0]) + " … " + spoken(d.tools[n]))
	}
	called := name
	if common := common(d.intents); len(common) > 1 {
		intent = strings.Join(common, " ")
		called = intent
		name = capital(intent) + ": " + strings.ToLower(name)
	}
	c := catalog.Capability{
		Name: catalog.Cut(name, catalog.MaxName), Intent: catalog.Cut(intent, catalog.MaxIntent),
		Description: catalog.Cut(fmt.Sprintf("%s. Mined from %d tasks of %d sessions that did so.", sentence, d.pattern.Support, d.pattern.Sessions), catalog.MaxDescription),
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
