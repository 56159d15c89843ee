package suggest

import (
	"cmp"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	"waymark/internal/numeric"
)

// answer converts the plan to the answer of Plan.
func (p *plan) answer() DAGAnswer {
	a := DAGAnswer{
		DAG: DAG{Intent: p.wording.wished, Tasks: make([]Task, len(p.tasks))}, Mode: p.mode, Paths: []Path{}, Alternatives: []Alternative{}, Model: p.modelInfo(),
	}
	var top, low float64
	for j, t := range p.tasks {
		task := Task{
			ID: fmt.Sprintf("t%d", j+1), Tool: p.IDs[t.node], Kind: p.Kind(t.node), Host: p.Host(p.IDs[t.node]),
			DependsOn: []string{}, Slot: t.slot,
			Confidence: min(Cap, t.score), ConfidenceLow: min(Cap, t.score, t.low), Formula: t.formula,
		}
		task.Arguments, task.Wired, task.Missing = p.arguments(j)
		if p.shows() {
			task.Terms, task.Reason = t.terms, t.reason
		}
		for _, i := range t.after {
			task.DependsOn = append(task.DependsOn, fmt.Sprintf("t%d", i+1))
			a.Paths = append(a.Paths, p.path(p.tasks[i].node, t.node))
		}
		a.DAG.Tasks[j] = task
		if t.score > top {
			top, low = t.score, task.ConfidenceLow
		}
	}
	fits := p.rate(&a, top)
	if top > 0 {
		a.ConfidenceLow = a.Confidence * min(1, low/top)
	}
	if fits < LowConfidence {
		p.warn(WarnLowConfidence)
	}
	for _, c := range p.others[:min(len(p.others), alternatives)] {
		a.Alternatives = append(a.Alternatives, Alternative{ID: p.IDs[c.node], For: p.standsFor(c.node), Score: c.confidence()})
	}
	a.Rationale, a.Warnings = p.rationale(a.Foremost()), p.warnings
	return a
}

// rate fills in the confidence of the plan and its terms. It returns the confidence that any tool fits the intent or,
// for a walk, the confidence of the plan. top is the best score of a task.
func (p *plan) rate(a *DAGAnswer, top float64) (fits float64) {
	s := sum{keep: true}
	switch {
	case len(p.tasks) == 0:
	case p.planned != nil:
		complete := 1.
		if !p.repeats {
			a.Complete = p.planned.Complete
			complete = a.Complete
		}
		fits = min(Cap, max(p.planned.Fits, p.fresh))
		s.add("fits", fits, complete)
		a.Confidence = s.total
	default:
		ranks, path := make([]float64, len(p.tasks)), 0.0
		for i, t := range p.tasks {
			ranks[i] = p.rank(t.node)
		}
		for _, w := range a.Paths {
			path += w.Confidence / float64(len(a.Paths))
		}
		if len(a.Paths) == 0 {
			path = graph.PathConfidence(0)
		}
		slices.SortFunc(ranks, func(a, b float64) int { return cmp.Compare(b, a) })
		ranks = ranks[:min(3, len(ranks))]
		a.Confidence = s.dagConfidence(p.info.Density, top, numeric.Sum(ranks)/float64(len(ranks)), path)
		fits = a.Confidence
	}
	if p.shows() {
		a.Terms = s.terms
	}
	return fits
}

// path returns a shortest path from a to b in the learned graph.
func (p *plan) path(a, b int32) Path {
	way := p.ways.Of(p.Graph).Path(a, b, maxHops, nil)
	out := Path{From: p.IDs[a], To: p.IDs[b], Via: []string{}, Hops: max(0, len(way)-1)}
	for i := 1; i+1 < len(way); i++ {
		out.Via = append(out.Via, p.IDs[way[i]])
	}
	out.Confidence = graph.PathConfidence(out.Hops)
	return out
}

// maxHops bounds the search for a path; beyond four hops the confidence is the same.
const maxHops = 6

// standsFor returns the id of the task that an alternative is most similar to by shared neighbours, empty if it shares
// none.
func (p *plan) standsFor(n int32) string {
	best, bestAA := "", 0.0
	for j, t := range p.tasks {
		if aa := graph.AdamicAdar(p.Graph, n, t.node); aa > bestAA {
			best, bestAA = fmt.Sprintf("t%d", j+1), aa
		}
	}
	return best
}

// rationale describes in one or two sentences the evidence for the likeliest task of the plan and the source of the
// order.
func (p *plan) rationale(foremost string) string {
	targets, prerequisites, pinned, why := 0, 0, "", ""
	for _, t := range p.tasks {
		switch {
		case t.formula == FormulaPin:
			pinned += " " + catalog.ShownID(p.IDs[t.node]) + " is " + t.reason + "."
		case t.slot == SlotTarget:
			targets++
		default:
			prerequisites++
		}
		if p.IDs[t.node] == foremost && t.formula != FormulaPin {
			why = ", above all " + catalog.ShownID(foremost) + ": " + t.reason
		}
	}
	s := catalog.Plural(targets, "target")
	switch {
	case len(p.tasks) == 0 && p.mode == Active:
		return "Neither a tool's text nor a past request matches the intent."
	case len(p.tasks) == 0:
		return "Nothing is known yet: no catalog and no history."
	case p.last != episodic.NoTool && p.mode != Active:
		return fmt.Sprintf("The likeliest way on after %s%s.", catalog.ShownID(p.IDs[p.last]), why)
	case p.mode != Active:
		return "The likeliest way from the usual beginning" + why + "."
	case p.repeats:
		s += " as in a task for such a request since the last build"
	}
	if prerequisites > 0 {
		s += " and " + catalog.Plural(prerequisites, "prerequisite")
	}
	return s + why + "; order and links as in past tasks and as schemas ask for." + pinned
}
