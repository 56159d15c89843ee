package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	"waymark/internal/numeric"
	"waymark/internal/plural"
	"waymark/learn/wiring"
	"waymark/suggest/history"
)

// chainLike is the share of branching episodes below which unlinked tasks are put in a row: in such
// a history steps nearly always follow one another.
const chainLike = 0.25

// link orders the tasks and draws their dependencies: learned transitions, outputs that are inputs,
// and, in a history of chains, the usual order. A link against the order would close a cycle; it is
// left out and reported.
func (p *plan) link() {
	if len(p.tasks) < 2 || p.linked {
		return
	}
	p.arrange()
	for j := 1; j < len(p.tasks); j++ {
		p.linkLearned(j)
		p.linkRequired(j)
		p.linkSchema(j)
		if len(p.tasks[j].after) == 0 && p.chains() && !p.usuallyFirst(p.tasks[j].node) && p.near(j) {
			p.tasks[j].after = []int{j - 1}
		}
	}
	p.prune()
	p.reportRejected()
	p.slot()
}

// prune drops prerequisites that nothing comes after: where tools are used in circles, one that mostly came right
// before a task may still have its place behind it.
func (p *plan) prune() {
	for i := len(p.tasks) - 1; i >= 0; i-- {
		n := p.tasks[i].node
		required := slices.ContainsFunc(p.tasks, func(t task) bool { return slices.Contains(p.needs(t.node), n) })
		if p.tasks[i].slot != SlotPrerequisite || p.feeds(i) || required {
			continue
		}
		p.tasks = slices.Delete(p.tasks, i, i+1)
		for j := range p.tasks {
			for k, a := range p.tasks[j].after {
				if a > i {
					p.tasks[j].after[k] = a - 1
				}
			}
		}
	}
}

// slot tells what a task is done for from what feeds it: what matches the intent far less than another.
func (p *plan) slot() {
	for i := range p.tasks {
		t := &p.tasks[i]
		if t.slot == SlotTarget && p.nodes.semantic[t.node] < targetShare*p.bestMatch() && p.feeds(i) {
			t.slot = SlotPrerequisite
		}
	}
}

// near reports whether task j is within two learned steps of the one before it.
func (p *plan) near(j int) bool {
	return p.ways.Of(p.Graph).Hops(p.tasks[j-1].node, p.tasks[j].node, 2) > 0
}

// arrange sorts the tasks so that as much of the learned flow as possible points forward: of what is
// left, the task with the greatest flow out minus flow in comes first (the rule of Eades, Lin and
// Smyth, "A fast and effective heuristic for the feedback arc set problem", 1993). How much sooner a
// tool usually stands in an episode counts as flow too; equals go by score and id.
func (p *plan) arrange() {
	left := p.tasks
	ordered := make([]task, 0, len(left))
	for len(left) > 0 {
		best, bestFlow := 0, 0.0
		for i, t := range left {
			flow := 0.0
			for _, o := range left {
				flow += p.flow(t.node, o.node) - p.flow(o.node, t.node)
				flow += p.place(o.node) - p.place(t.node)
			}
			if i == 0 || flow > bestFlow || flow == bestFlow && p.sooner(t, left[best]) {
				best, bestFlow = i, flow
			}
		}
		ordered = append(ordered, left[best])
		left = slices.Delete(slices.Clone(left), best, best+1)
	}
	p.tasks = ordered
}

// flow is the share of b's uses that came right after a, plus one each where a's output feeds b and where
// b requires a.
func (p *plan) flow(a, b int32) float64 {
	f := 0.0
	if _, n := p.transition(a, b); n > 0 {
		f = float64(n) / float64(max(n, p.Usage.At(b).Steps))
	}
	if p.wire(a, b) != "" && p.wire(b, a) == "" {
		f++
	}
	if slices.Contains(p.needs(b), a) && !slices.Contains(p.needs(a), b) {
		f++
	}
	return f
}

// sooner breaks ties of flow: the higher score first, then the smaller id.
func (p *plan) sooner(a, b task) bool {
	return p.order(candidate{node: a.node, score: a.score}, candidate{node: b.node, score: b.score}) < 0
}

// place is the mean relative position of a tool in its episodes: 0 is the first step, 1 the last.
func (p *plan) place(n int32) float64 {
	u := p.Usage.At(n)
	return u.Place()
}

// linkLearned links task j to the earlier task it most often followed, and to every other that came
// right before it in half of its uses.
func (p *plan) linkLearned(j int) {
	best, most := -1, uint64(0)
	for i := range p.tasks[:j] {
		_, n := p.transition(p.tasks[i].node, p.tasks[j].node)
		if n > most {
			best, most = i, n
		}
	}
	for i := range p.tasks[:j] {
		_, n := p.transition(p.tasks[i].node, p.tasks[j].node)
		if i == best || n > 0 && 2*n >= p.Usage.At(p.tasks[j].node).Steps {
			p.tasks[j].after = append(p.tasks[j].after, i)
		}
	}
}

// linkRequired links task j to the earlier tasks that it requires, as its catalog says, unless it already
// comes after them.
func (p *plan) linkRequired(j int) {
	for i := range p.tasks[:j] {
		if slices.Contains(p.needs(p.tasks[j].node), p.tasks[i].node) && !p.reaches(i, j) {
			p.tasks[j].after = append(p.tasks[j].after, i)
			slices.Sort(p.tasks[j].after)
		}
	}
}

// linkSchema links task j to an earlier task whose output it needs, unless it already comes after it.
func (p *plan) linkSchema(j int) {
	for i := range p.tasks[:j] {
		if p.wire(p.tasks[i].node, p.tasks[j].node) != "" && !p.reaches(i, j) {
			p.tasks[j].after = append(p.tasks[j].after, i)
			slices.Sort(p.tasks[j].after)
		}
	}
}

// reaches reports whether task j comes after task i already.
func (p *plan) reaches(i, j int) bool {
	behind := make([]bool, j+1) // what task j comes after, nearest first
	behind[j] = true
	// Links point backwards, so one pass from j down to i visits every task before what it depends on.
	for k := j; k > i; k-- {
		if behind[k] {
			for _, a := range p.tasks[k].after {
				behind[a] = true
			}
		}
	}
	return behind[i]
}

// chains reports whether tasks nearly always are chains.
func (p *plan) chains() bool {
	return p.Totals.Episodes > 0 && float64(p.Totals.Branching) < chainLike*float64(p.Totals.Episodes)
}

// usuallyFirst reports whether a tool began an episode in at least half of its uses: then nothing need come
// before it.
func (p *plan) usuallyFirst(n int32) bool { return 2*p.Usage.At(n).Roots >= p.Usage.At(n).Steps }

// feeds reports whether another task depends on task i.
func (p *plan) feeds(i int) bool {
	return slices.ContainsFunc(p.tasks, func(t task) bool { return slices.Contains(t.after, i) })
}

// bestMatch is the highest text similarity of a task with the intent, in [0, 1].
func (p *plan) bestMatch() float64 {
	best := 0.0
	for _, t := range p.tasks {
		best = max(best, p.nodes.semantic[t.node])
	}
	return best
}

// reportRejected reports the links that would have been drawn if they did not point backwards: from the task
// that another most often followed, or followed in half of its uses, but that comes later here.
func (p *plan) reportRejected() {
	for i := range p.tasks {
		a := p.tasks[i].node
		var most uint64
		for _, t := range p.tasks {
			_, n := p.transition(t.node, a)
			most = max(most, n)
		}
		for j := i + 1; j < len(p.tasks); j++ {
			b := p.tasks[j].node
			_, back := p.transition(b, a)
			if back == 0 || back < most && 2*back < p.Usage.At(a).Steps {
				continue
			}
			_, forth := p.transition(a, b)
			reason := fmt.Sprintf("seen %d times, but %s comes first in this plan", back, p.IDs[a])
			if p.reaches(i, j) {
				reason = fmt.Sprintf("seen %d times, the other way %d times; both together would be a cycle", back, forth)
				p.warn(WarnCyclesCut)
			}
			p.rejected = append(p.rejected, RejectedEdge{p.IDs[b], p.IDs[a], reason})
		}
	}
}

// wire is the name of an input of b that results of a were seen to feed, or of an output of a that is a
// required input of b, or "".
func (m *Model) wire(a, b int32) string {
	for _, w := range m.Wires.At(b) {
		if w.From == a {
			return w.In
		}
	}
	for _, in := range m.inputs(b) {
		if in.Required && specific(in.Name) && m.gives(a, in) {
			return in.Name
		}
	}
	return ""
}

// gives reports whether the output schema of a tool has a property that can be this input.
func (m *Model) gives(n int32, in catalog.Property) bool { return feedsInput(m.outputs(n), in) }

// feedsInput reports whether one of the outputs can be an input, by name and type.
func feedsInput(outputs []catalog.Property, in catalog.Property) bool {
	return slices.ContainsFunc(outputs, func(out catalog.Property) bool {
		return strings.EqualFold(out.Name, in.Name) && compatible(out.Type, in.Type)
	})
}

// compatible compares JSON types. An unknown type fits everything, an integer is also a number.
func compatible(out, in string) bool {
	return out == in || out == "" || in == "" || out == "integer" && in == "number"
}

// specific tells names that say what a value is from names that any tool may have.
func specific(name string) bool {
	switch strings.ToLower(name) {
	case "id", "name", "type", "query", "text", "title", "status", "content", "body", "message", "limit", "count",
		"total", "offset", "page", "cursor", "results", "items", "data", "value", "success", "ok", "error", "url", "path",
		"date", "time", "format", "description", "created_at", "updated_at":
		return false
	}
	return len(name) > 2
}

// provided reports whether the plan or the context already gives tool t an input.
func (p *plan) provided(t int32, name string) bool {
	in := catalog.Property{Name: name}
	gives := func(n int32) bool {
		return p.gives(n, in) || slices.ContainsFunc(p.Wires.At(t), func(w wiring.Wire) bool { return w.From == n && w.In == name })
	}
	return slices.ContainsFunc(p.distinct, gives) ||
		slices.ContainsFunc(p.tasks, func(o task) bool { return o.node != t && gives(o.node) })
}

// provider is the tool to insert before t so that t gets an input: one whose results were seen to feed it in half
// of t's uses, or else, for a name that says what the value is, one whose output has that name and that came right
// before t in half of its uses. It must be read-only, for a plan must not change the world to learn a value, and
// must not need the same value itself. Ties go to the more frequent, then by importance and id; -1 if there is none.
func (p *plan) provider(t int32, name string) int32 {
	uses := p.Usage.At(t).Steps
	eligible := func(n int32, count uint64) bool {
		return n != t && count > 0 && 2*count >= uses && p.readOnly(n) && !p.takes(n, name)
	}
	for _, w := range p.Wires.At(t) { // the best of an input comes first
		if w.In == name && eligible(w.From, uint64(w.Count)) {
			return w.From
		}
	}
	best, bestCount := int32(-1), uint64(0)
	if !specific(name) {
		return best
	}
	for _, n := range p.Graph.Sources(t) {
		_, count := p.transition(n, t)
		if !eligible(n, count) || !slices.ContainsFunc(p.outputs(n), func(o catalog.Property) bool { return strings.EqualFold(o.Name, name) }) {
			continue
		}
		if best < 0 || count > bestCount || count == bestCount && cmpFloatID(p.rank(n), p.rank(best), p.IDs[best], p.IDs[n]) > 0 {
			best, bestCount = n, count
		}
	}
	return best
}

// readOnly reports whether the catalog says that a tool changes nothing.
func (m *Model) readOnly(n int32) bool {
	i, ok := m.Catalog.ToolIndex[m.IDs[n]]
	if !ok {
		return false
	}
	a := m.Catalog.Tools[i].Annotations
	return a != nil && a.ReadOnly != nil && *a.ReadOnly
}

// takes reports whether a tool has an input of that name.
func (m *Model) takes(n int32, name string) bool {
	return slices.ContainsFunc(m.inputs(n), func(in catalog.Property) bool { return strings.EqualFold(in.Name, name) })
}

// inputs are the properties of a tool's input schema; nil for capabilities and for tools that no catalog
// describes.
func (m *Model) inputs(n int32) []catalog.Property {
	if i, ok := m.Catalog.ToolIndex[m.IDs[n]]; ok {
		return m.Catalog.Schemas[i].Inputs()
	}
	return nil
}

// outputs are the properties of a tool's output schema; nil where inputs is nil or the catalog has no output
// schema.
func (m *Model) outputs(n int32) []catalog.Property {
	if i, ok := m.Catalog.ToolIndex[m.IDs[n]]; ok {
		return m.Catalog.Schemas[i].Outputs()
	}
	return nil
}

// arguments says where a task's inputs come from: a result of a task it comes after that was seen to feed
// it, or one that a schema supports (the nearest), or the intent for a required text.
//
// Capabilities take and give as tools do. They have no part in which tasks are chosen and how they are linked: they
// stand for tools that have.
func (p *plan) arguments(j int) (map[string]Argument, []Wired) {
	args, wired := p.wiredArguments(j)
	entry := func(i int) *history.Schemas { return p.Catalog.SchemasOf(p.IDs[p.tasks[i].node]) }
	to := entry(j)
	if to == nil {
		return args, wired
	}
	for _, in := range to.Inputs() {
		for i := j - 1; i >= 0 && args[in.Name] == (Argument{}); i-- {
			from := entry(i)
			if from != nil && p.reaches(i, j) && (specific(in.Name) || slices.Contains(p.tasks[j].after, i)) && feedsInput(from.Outputs(), in) {
				args[in.Name] = Argument{fmt.Sprintf("t%d.%s", i+1, output(in.Name))}
			}
		}
		if _, ok := args[in.Name]; !ok && in.Required && p.mode == Active && spoken(in) {
			args[in.Name] = Argument{"intent"}
		}
	}
	return args, wired
}

// output is how a reference names an output: t1.result alone would be the whole result.
func output(name string) string {
	if name == "result" {
		return "result.result"
	}
	return name
}

// spoken reports whether an input is usually said in the request itself.
func spoken(in catalog.Property) bool {
	switch strings.ToLower(in.Name) {
	case "query", "q", "search", "question", "prompt", "text", "message", "title", "subject", "topic", "keywords":
		return in.Type == "" || in.Type == "string"
	}
	return false
}

// answer puts the plan into words and numbers.
func (p *plan) answer() DAGAnswer {
	a := DAGAnswer{
		DAG: DAG{Intent: p.wording.wished, Tasks: make([]Task, len(p.tasks))}, Mode: p.mode, Paths: []Path{}, Alternatives: []Alternative{},
		RejectedEdges: p.rejected, Model: p.who(),
	}
	if a.RejectedEdges == nil {
		a.RejectedEdges = []RejectedEdge{}
	}
	var top, low, pathSum float64
	ranks := make([]float64, 0, len(p.tasks))
	for j, t := range p.tasks {
		task := Task{
			ID: fmt.Sprintf("t%d", j+1), Tool: p.IDs[t.node], Kind: p.Kind(t.node), Host: p.Host(p.IDs[t.node]),
			DependsOn: []string{}, Slot: t.slot,
			Confidence: min(Cap, t.score), ConfidenceLow: min(Cap, t.score, t.low), Formula: t.formula,
		}
		task.Arguments, task.Wired = p.arguments(j)
		if p.shows() {
			task.Terms, task.Reason = t.terms, t.reason
		}
		for _, i := range t.after {
			task.DependsOn = append(task.DependsOn, fmt.Sprintf("t%d", i+1))
			path := p.path(p.tasks[i].node, t.node)
			pathSum += path.Confidence
			a.Paths = append(a.Paths, path)
		}
		a.DAG.Tasks[j] = task
		if p.mode != Active || p.planned != nil || p.relevant(t.node) { // a way that answers no part of the intent earns no trust
			if t.score > top {
				top, low = t.score, task.ConfidenceLow
			}
		}
		ranks = append(ranks, p.rank(t.node))
	}
	if p.planned != nil && len(p.tasks) > 0 {
		a.Confidence, a.Complete = min(Cap, p.planned.Fits), p.planned.Complete
		if p.shows() {
			a.Terms = []Term{{"fits", a.Confidence, 1, a.Confidence}}
		}
	} else if len(p.tasks) > 0 {
		path := graph.PathConfidence(0)
		if len(a.Paths) > 0 {
			path = pathSum / float64(len(a.Paths))
		}
		s := sum{keep: true}
		a.Confidence = s.dagConfidence(p.info.Density, top, meanTop(ranks, 3), path)
		if p.shows() {
			a.Terms = s.terms
		}
	}
	p.boundConfidence(&a)
	if top > 0 {
		a.ConfidenceLow = a.Confidence * min(1, low/top)
	}
	if a.Confidence < LowConfidence {
		p.warn(WarnLowConfidence)
	}
	for _, c := range p.others[:min(len(p.others), alternatives)] {
		a.Alternatives = append(a.Alternatives, Alternative{ID: p.IDs[c.node], For: p.standsFor(c.node), Score: c.confidence()})
	}
	a.Rationale, a.Warnings = p.rationale(), p.warnings
	return a
}

// boundConfidence keeps the confidence of a plan for an intent at most as high as the probability that the intent can be served
// at all, and that of the tasks of a foreign one.
func (p *plan) boundConfidence(a *DAGAnswer) {
	if p.mode != Active || p.planned != nil {
		return
	}
	served := p.served()
	if served < foreignBelow {
		p.warn(WarnForeign)
		for i := range a.DAG.Tasks {
			a.DAG.Tasks[i].bound(served)
		}
	}
	if served < a.Confidence {
		if p.shows() {
			a.Terms = append(a.Terms, Term{"doubt", served - a.Confidence, 1, served - a.Confidence})
		}
		a.Confidence = served
	}
}

// bound lowers the confidence of a task to p, with a term by which its terms give the new confidence.
func (t *Task) bound(p float64) {
	if t.Confidence <= p {
		return
	}
	if t.Terms != nil {
		doubt := Term{Name: "doubt", Weight: 1}
		switch t.Formula {
		case FormulaLogistic:
			sum := 0.0
			for _, term := range t.Terms {
				sum += term.Contribution
			}
			doubt.Value = numeric.Ln(max(p, 1e-9)/(1-p)) - sum
		case FormulaMixed:
			doubt.Value = p / t.Confidence
		default:
			doubt.Value = p - t.Confidence
		}
		doubt.Contribution = doubt.Value
		t.Terms = append(slices.Clip(t.Terms), doubt)
	}
	t.Confidence, t.ConfidenceLow = p, min(p, t.ConfidenceLow)
}

// path is the learned way from a to b.
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

// standsFor is the task an alternative is most like by shared neighbours.
func (p *plan) standsFor(n int32) string {
	best, bestAA := "", 0.0
	for j, t := range p.tasks {
		if aa := p.Graph.AdamicAdar(n, t.node); aa > bestAA {
			best, bestAA = fmt.Sprintf("t%d", j+1), aa
		}
	}
	return best
}

// rationale says in a sentence or two how the plan was made: by whom the targets were chosen, and what orders
// them.
func (p *plan) rationale() string {
	if len(p.tasks) == 0 && p.mode == Active {
		return "Neither a tool's text nor a past request matches the intent."
	}
	if len(p.tasks) == 0 {
		return "Nothing is known yet: no catalog and no history."
	}
	targets, pinned := 0, ""
	others := len(p.tasks)
	for _, t := range p.tasks {
		switch {
		case t.formula == FormulaPin:
			pinned += " " + p.IDs[t.node] + " is " + t.reason + "."
			others--
		case t.slot == SlotTarget:
			targets++
		}
	}
	switch {
	case p.planned != nil:
		return p.learnedRationale(targets, others-targets) + pinned
	case p.mode == Active && !p.walked:
		s := plural.Of(targets, "target") + " chosen by meaning"
		if len(p.support) > 0 {
			s += fmt.Sprintf(" and by the %s most like this one (trusted to %.2f)", plural.Of(p.recalledFrom, "past task"), p.trust)
		}
		if n := others - targets; n > 0 {
			s += ", with " + plural.Of(n, "prerequisite")
		}
		s += "; links follow learned transitions and schemas." + pinned
		return s
	case p.last != episodic.NoTool:
		return fmt.Sprintf("The likeliest way on after %s.", p.IDs[p.last])
	}
	return "The likeliest way from the usual beginning."
}

// meanTop is the mean of the k largest values; 0 of none. It sorts x.
func meanTop(x []float64, k int) float64 {
	slices.SortFunc(x, func(a, b float64) int { return cmp.Compare(b, a) })
	x = x[:min(k, len(x))]
	t := 0.0
	for _, v := range x {
		t += v
	}
	return t / float64(max(1, len(x)))
}
