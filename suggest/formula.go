package suggest

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	"waymark/suggest/learn/rank"
)

// A FormulaStep is one quantity of a score: its formula, and the same formula with the numbers of a situation. Numbers
// is empty if the quantity is not computed from others.
type FormulaStep struct {
	Name    string  `json:"name"`
	Formula string  `json:"formula,omitempty"`
	Numbers string  `json:"numbers,omitempty"`
	Value   float64 `json:"value"`
	Note    string  `json:"note,omitempty"`
}

// Formula returns the steps by which profile seed computes the score of an id in a situation. Each step uses values of
// earlier steps; the last one is the score. There are no steps for an id that is in no catalog and no episode.
func (m *Model) Formula(r ExplainRequest) ([]FormulaStep, error) {
	q, err := m.newQuery(r.Context, r.Intent, r.Allow)
	if err != nil {
		return nil, err
	}
	defer q.close()
	q.withheld = r.Withheld
	if err := q.ask(ProfileSeed, r.Vector); err != nil {
		return nil, err
	}
	n, ok, err := m.node(r.ID)
	if err != nil {
		return nil, &RequestError{Invalid, "id", err.Error()}
	}
	if !ok || !m.Live(n) {
		return nil, nil
	}
	q.consider(n)
	d := derivation{query: q, n: n, values: map[string]string{}}
	d.structure()
	d.outcomes()
	if q.mode == Active {
		d.text()
	}
	d.scores()
	return d.steps, nil
}

// shownNeighbours is the number of shared neighbours that get a step of their own.
const shownNeighbours = 5

// derivation collects the steps for node n.
type derivation struct {
	*query
	n      int32
	past   string            // the part of formulas that adds the effect of outcomes
	values map[string]string // numbers by their name in formulas
	steps  []FormulaStep
}

var formulaName = regexp.MustCompile(`[A-Za-z_]+[0-9]*`)

// add appends a step. Its numbers are its formula with each name replaced by its value.
func (d *derivation) add(name, formula string, value float64, note string, args ...any) {
	s := FormulaStep{Name: name, Formula: formula, Value: value, Note: fmt.Sprintf(note, args...)}
	s.Numbers = formulaName.ReplaceAllStringFunc(formula, func(name string) string { return cmp.Or(d.values[name], name) })
	if s.Numbers == formula || d.values[formula] != "" { // without names that have values, or a single name
		s.Numbers = ""
	}
	d.steps, d.values[name] = append(d.steps, s), num(value)
}

// num formats a number for formulas, with four significant digits.
func num(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// group describes a group by its first member.
func (d *derivation) group(kind string, first []int32, group int32) string {
	if v := groupName(first, group); v >= 0 {
		return "the " + kind + " of " + d.IDs[v]
	}
	return "no " + kind
}

// structure adds the steps for the measures of the graph.
func (d *derivation) structure() {
	d.values["edges"], d.values["n"] = strconv.Itoa(d.Graph.Size()), strconv.Itoa(d.Graph.Active())
	d.add("density", "edges / (n·(n - 1))", d.info.Density, "n: nodes with an edge")
	d.add("alpha", choose(len(d.context) > 0, "max(0.5, 1 - 2·density)", ""), d.around.Alpha(), "1 without a context")
	after := d.last != episodic.NoTool
	s := d.signals(d.n)
	if after {
		weight, count := d.transition(d.last, d.n)
		d.values["weight"], d.values["count"] = num(weight), fmt.Sprint(count)
		d.add("cooccurrence", choose(count > 0, "min(weight + min(0.05·log2(count + 1), 0.2), 0.95)", ""), s.Cooccurrence, "%s from the last step", choose(count > 0, "edge", "no edge"))
		d.neighbours(s.AA)
	}
	d.add("pagerank", "PageRank / largest PageRank", d.rank(d.n), "")
	groups := &d.measures.groups
	if after {
		d.add("community", choose(s.Community > 0, "min(0.4 + 0.2·pagerank + min(0.25·weight, 0.25) + min(0.1·AA, 0.1), 0.95)", ""), s.Community, "in %s, the last step in %s",
			d.group("community", groups.named.community, d.comm(d.n)), d.group("community", groups.named.community, d.comm(d.last)))
	}
	same, share := d.clustered(d.n)
	d.values["inside"], d.values["ids"] = fmt.Sprint(math.Round(share*float64(len(d.distinct)))), strconv.Itoa(len(d.distinct))
	d.add("cluster_share", choose(len(d.distinct) > 0, "inside / ids", ""), share, "of the %s in %s", choose(len(d.distinct) > 0, "context", "best match by text"), d.group("spectral cluster", groups.named.cluster, d.Model.cluster(d.n)))
	if d.Kind(d.n) == catalog.KindCapability {
		d.add("structural_boost", choose(same, "0.5 + 0.5·cluster_share", "0.25·cluster_share"), StructuralBoost(same, share), "last step inside: %t", same)
	}
}

// choose returns a if first, else b.
func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// neighbours adds the steps for the neighbours shared with the last step, and their sum, the Adamic-Adar index.
func (d *derivation) neighbours(aa float64) {
	shared := d.Graph.Shared(d.last, d.n)
	slices.SortFunc(shared, func(a, b graph.Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(d.IDs[a.Node], d.IDs[b.Node]))
	})
	var each []string
	rest := 0.0
	for i, w := range shared {
		if i >= shownNeighbours {
			rest += w.Score
			continue
		}
		d.values["degree"] = strconv.Itoa(d.Graph.Degree(w.Node))
		d.add("by "+d.IDs[w.Node], "1/ln(degree)", w.Score, "")
		each = append(each, num(w.Score))
	}
	if more := len(shared) - shownNeighbours; more > 0 {
		d.add(fmt.Sprintf("… and %d more", more), "", rest, "")
		each = append(each, num(rest))
	}
	d.add("AA", "Σ 1/ln(degree)", aa, "Adamic-Adar")
	d.steps[len(d.steps)-1].Numbers = choose(aa > 0, strings.Join(each, " + "), "")
	d.add("adamic_adar", "min(AA/2, 1)", min(aa/2, 1), "")
}

// outcomes adds the steps for the known outcomes after the last step.
func (d *derivation) outcomes() {
	r := d.after(d.n)
	if r.Known() == 0 {
		d.add("outcomes", "", 0, "none is known: not excluded")
		return
	}
	where := choose(d.last != episodic.NoTool && r != d.Rates.Tool(d.n), "after the last step", "whatever came before")
	boost, penalty, _ := episodic.Adjustment(r.SuccessRate(), r.FailureRate())
	d.values["successes"], d.values["failures"] = num(r.Success), num(r.Failure)
	d.add("boost", "min(0.15, 0.2·successes / (successes + failures))", boost, "%d successes, %d failures %s, weighted by age", r.N-r.Failures, r.Failures, where)
	d.add("penalty", "min(0.15, 0.25·failures / (successes + failures))", penalty, "excluded for failures: %t", r.Excluded(d.Rates.Sources()))
	d.past = " + boost - penalty"
}

// text adds the steps for the text match of the intent and, for a tool, for its nearness in the graph to the last steps
// of the context and the hybrid score.
func (d *derivation) text() {
	semantic := d.nodes.semantic[d.n]
	d.add("semantic", "text match of the intent", semantic, "")
	if d.Kind(d.n) == catalog.KindCapability {
		return
	}
	near, context := d.signals(d.n).Graph, len(d.context) > 0
	adjacent, alike := false, 2*near
	if near == 1 { // either there is an edge, or the similarity was capped
		alike = 0
		for _, u := range d.around.Steps {
			_, loop := d.Graph.Loop(u)
			adjacent = adjacent || d.Graph.Adjacent(u, d.n) || u == d.n && loop
			alike = max(alike, graph.AdamicAdar(d.Graph, u, d.n))
		}
	}
	if d.values["largest_AA"] = num(alike); context {
		d.add("graph", choose(!adjacent, "min(largest_AA/2, 1)", ""), near, "over the last steps of the context; 1 with an edge to or from one")
	}
	d.add("hybrid_score", choose(context, "alpha·semantic + (1 - alpha)·graph", "semantic"), float64(d.around.Alpha()*semantic)+float64((1-d.around.Alpha())*near), "")
}

// scores adds the steps for the formulas that apply, and for the score, the largest of them.
func (d *derivation) scores() {
	var names []string
	for _, f := range d.formulas(d.n) {
		switch {
		case f == FormulaTool:
			d.capped(f, f, toolFormula)
		case f == FormulaMixed:
			d.mixedScore()
		case d.mode == Exploration:
			d.capped("rank_score", f, fmt.Sprintf("%g·pagerank", rank.RankWeight))
		default:
			d.capped("rank_score", f, fmt.Sprintf("%g·hybrid_score + %g·pagerank", rank.HybridWeight, rank.RankWeight))
		}
		names = append(names, d.steps[len(d.steps)-1].Name)
	}
	c, scored := d.scoredNode(d.n)
	if !scored {
		d.add("score", "", 0, "%s", choose(d.exhausted(d.n), "everything it would do is already in the context", "neither history nor text connects it with this situation"))
		return
	}
	all := strings.Join(names, ", ")
	d.add("score", choose(len(names) > 1, "max("+all+")", all), c.score, "")
}

// toolFormula is the formula of the tool score with its weights as numbers.
var toolFormula = func() string {
	terms, _ := rank.Signals{AA: 1}.ToolScore()
	var parts []string
	for _, t := range terms {
		parts = append(parts, fmt.Sprintf("%g·%s", t.Weight, t.Name))
	}
	return strings.Join(parts, " + ")
}()

// capped adds the step of an additive score, and a step for its sum if the cap or the floor applies.
func (d *derivation) capped(name, formula, text string) {
	s := sum{keep: true}
	score := d.apply(formula, d.n, &s)
	if s.terms == nil {
		d.add(name, "", 0, "neither history nor text; importance alone does not count")
		return
	}
	text += d.past
	if t := s.terms[len(s.terms)-1]; t.Name == "cap" || t.Name == "floor" {
		d.add("sum", text, score-t.Value, "")
		text = fmt.Sprintf("max(0, min(sum, %g))", Cap)
	}
	d.add(name, text, score, "")
}

// mixedScore adds the steps for the score of a capability and its factors.
func (d *derivation) mixedScore() {
	relevance, _, _ := d.mixing(d.n)
	both, size := d.overlap(d.n)
	d.values["shared"], d.values["all"] = strconv.Itoa(both), strconv.Itoa(max(1, len(d.distinct)+size-both))
	d.add("relevance", choose(d.mode == Active, "semantic", "shared / all"), relevance, "")
	own := d.Rates.Tool(d.n)
	reliability := Reliability(own.SuccessRate(), own.Known())
	d.add("reliability", "", reliability, "1; from 5 known outcomes 0.1 below rate 0.5, 1.2 above 0.9; %d known, rate %s", own.Known(), num(own.SuccessRate()))
	x := MixedScore(relevance, d.boost(d.n), reliability)
	d.add("x", "relevance·(1 + structural_boost)·reliability", x, "")
	d.add(FormulaMixed, "x / (1 + x)", Comparable(x), "")
}
