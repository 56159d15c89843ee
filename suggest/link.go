package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	"waymark/internal/numeric"
	"waymark/internal/plural"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
	"waymark/suggest/learn/wiring"
)

// slot tells what a task is done for from what feeds it: what matches the intent far less than another.
func (p *plan) slot() {
	best, feeds := 0.0, map[int]bool{}
	for _, t := range p.tasks {
		best = max(best, p.nodes.semantic[t.node])
		for _, a := range t.after {
			feeds[a] = true
		}
	}
	for i := range p.tasks {
		if t := &p.tasks[i]; feeds[i] && p.nodes.semantic[t.node] < targetShare*best {
			t.slot = SlotPrerequisite
		}
	}
}

// provide lets a task come after another one of the plan that gives what it requires and, where neither the plan nor the
// context gives that, adds a tool that does. Without a fit, what the catalog says that a task requires is added, too.
func (p *plan) provide() {
	for j := 0; j < len(p.tasks); j++ {
		if p.provideTask(j) {
			j-- // it may need something itself
		}
	}
}

// provideTask puts something before task j that gives what it requires. It reports whether there is something.
func (p *plan) provideTask(j int) bool {
	t := p.tasks[j].node
	add := func(n int32, share float64, reason string) bool {
		if n < 0 || len(p.tasks) >= p.most || !p.mayAdd(n) {
			return false
		}
		added := p.added(n, float64(share*p.tasks[j].score))
		added.slot, added.reason = SlotPrerequisite, reason
		p.insert(added, j)
		return true
	}
	for _, need := range p.Requires(t) {
		if p.learned.provisional && add(need, 1, p.IDs[t]+" requires it") {
			return true
		}
	}
	for _, in := range p.inputs(t) {
		gives := func(n int32) bool { return n != t && p.feeds(n, t, in) }
		given := func(o task) bool { return gives(o.node) }
		if !in.Required || spoken(in) || slices.ContainsFunc(p.tasks[:j], given) || slices.ContainsFunc(p.distinct, gives) {
			continue
		}
		if i := j + 1 + slices.IndexFunc(p.tasks[j+1:], given); i > j && p.free(i, j, in) {
			moved := p.tasks[i]
			p.tasks = without(p.tasks, func(k int) bool { return k == i })
			p.insert(moved, j)
			return true
		}
		if from, share := p.provider(t, in); add(from, share, fmt.Sprintf("gives the %s that %s needs", in.Name, p.IDs[t])) {
			return true
		}
	}
	return false
}

// free reports whether task i may come before task j, to give it an input: it only reads, does not take that input itself
// and needs nothing of task j and those between them, and history does not have it right behind task j more often.
func (p *plan) free(i, j int, in catalog.Property) bool {
	to := p.tasks[i].node
	_, ahead := p.transition(to, p.tasks[j].node)
	_, behind := p.transition(p.tasks[j].node, to)
	return ahead >= behind && p.reads(to) && !p.takes(to, in.Name) &&
		!slices.ContainsFunc(p.tasks[j:i], func(t task) bool { return p.linked(t.node, to) })
}

// insert puts a task before task j, which comes after it.
func (p *plan) insert(t task, j int) {
	t.after = slices.DeleteFunc(slices.Clone(t.after), func(a int) bool { return a >= j })
	p.tasks = slices.Insert(p.tasks, j, t)
	for k := range p.tasks[j+1:] {
		after := slices.Clone(p.tasks[j+1+k].after)
		for i := range after {
			if after[i] >= j {
				after[i]++
			}
		}
		p.tasks[j+1+k].after = after
	}
	p.tasks[j+1].after = append(p.tasks[j+1].after, j)
}

// linkNeeds links task j to the earlier tasks that it needs, unless it already comes after them.
func (p *plan) linkNeeds(j int) {
	for i := range p.tasks[:j] {
		if p.linked(p.tasks[i].node, p.tasks[j].node) && !p.reaches(i, j) {
			p.tasks[j].after = append(p.tasks[j].after, i)
			slices.Sort(p.tasks[j].after)
		}
	}
}

// reaches reports whether task j comes after task i.
func (p *plan) reaches(i, j int) bool {
	behind := make([]bool, j+1) // what task j comes after, and itself
	behind[j] = true
	for k := j; k > i; k-- { // links point backwards
		for _, a := range p.tasks[k].after {
			behind[a] = behind[a] || behind[k]
		}
	}
	return behind[i]
}

// linked reports whether b needs a: as the catalog says, or because results of a were seen to be an input of b, or schemas
// make them one that it requires.
func (m *Model) linked(a, b int32) bool {
	return slices.Contains(m.Requires(b), a) || slices.ContainsFunc(m.Wires.At(b), func(w wiring.Wire) bool { return w.From == a }) ||
		slices.ContainsFunc(m.inputs(b), func(in catalog.Property) bool { return in.Required && m.feeds(a, b, in) })
}

// feeds reports whether a result of a can be an input of b: as it was seen to be or, where its name says what it is, as
// the schemas have it.
func (m *Model) feeds(a, b int32, in catalog.Property) bool {
	return slices.ContainsFunc(m.Wires.At(b), func(w wiring.Wire) bool { return w.From == a && w.In == in.Name }) ||
		specific(in.Name) && source(m.outputs(a), in) != ""
}

// source is the output that can be an input, by name and type, "" for none: for a required one also one within another
// output, where its name says what it is. The least deep one counts.
func source(outputs []catalog.Property, in catalog.Property) (path string) {
	for _, out := range outputs {
		last := out.Name[strings.LastIndexByte(out.Name, '.')+1:]
		if (strings.EqualFold(out.Name, in.Name) || in.Required && specific(last) && strings.EqualFold(last, in.Name)) &&
			compatible(out.Type, in.Type) && (path == "" || strings.Count(out.Name, ".") < strings.Count(path, ".")) {
			path = out.Name
		}
	}
	return path
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

// provider is the tool to insert before t so that t gets an input: one that the catalog says t requires and that has such
// an output, or one whose results were seen to feed it in half of t's uses, or else, for a name that says what the value
// is, one whose output has that name and that came right before t in half of its uses; with that share. What the catalog
// does not say must only read, for a plan must not change the world to learn a value. It must not need the same value
// itself. Ties go by importance and id; -1 if there is none.
func (p *plan) provider(t int32, in catalog.Property) (best int32, share float64) {
	best = -1
	consider := func(n int32, v float64) {
		if n != t && v >= provides && !p.takes(n, in.Name) &&
			(best < 0 || v > share || v == share && cmpFloatID(p.rank(n), p.rank(best), p.IDs[best], p.IDs[n]) > 0) {
			best, share = n, v
		}
	}
	ofUses := func(n int32, count uint64) {
		if p.reads(n) {
			consider(n, min(1, float64(count)/float64(max(1, p.Usage.At(t).Steps))))
		}
	}
	for _, n := range p.Requires(t) {
		if source(p.outputs(n), in) != "" {
			consider(n, 1)
		}
	}
	for _, w := range p.Wires.At(t) {
		if w.In == in.Name {
			ofUses(w.From, uint64(w.Count))
		}
	}
	if best >= 0 || !specific(in.Name) {
		return best, share
	}
	for _, n := range p.Graph.Sources(t) {
		if source(p.outputs(n), in) != "" {
			_, count := p.transition(n, t)
			ofUses(n, count)
		}
	}
	return best, share
}

// reads reports whether a tool changes nothing, as annotated or by its verb.
func (p *plan) reads(n int32) bool {
	t := history.Of(p.learned.tool, n, -1)
	return t >= 0 && p.learned.ranker.Effect(t) == rank.Reads
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

// outputs are the properties of a tool's results; nil where inputs is nil or the catalog has no output
// schema.
func (m *Model) outputs(n int32) []catalog.Property {
	if i, ok := m.Catalog.ToolIndex[m.IDs[n]]; ok {
		return m.Catalog.Schemas[i].Results()
	}
	return nil
}

// arguments says where a task's inputs come from: a result of a task it comes after that was seen to feed it, or one that
// a schema supports (the nearest), or the intent for a required text. missing are the required ones that nothing gives: a
// person is asked for them when the plan is run.
func (p *plan) arguments(j int) (args map[string]Argument, wired []Wired, missing []string) {
	args, wired = p.wiredArguments(j)
	entry := func(i int) *history.Schemas { return p.Catalog.SchemasOf(p.IDs[p.tasks[i].node]) }
	to := entry(j)
	if to == nil {
		return args, wired, nil
	}
	for _, in := range to.Inputs() {
		for i := j - 1; i >= 0 && args[in.Name] == (Argument{}); i-- {
			from := entry(i)
			if from == nil || !p.reaches(i, j) || !specific(in.Name) && !slices.Contains(p.tasks[j].after, i) {
				continue
			}
			if path := source(from.Results(), in); path != "" {
				args[in.Name] = Argument{fmt.Sprintf("t%d.%s", i+1, output(path))}
			}
		}
	}
	for _, in := range to.Inputs() {
		switch {
		case !in.Required || slices.ContainsFunc(slices.Collect(maps.Keys(args)), func(name string) bool { return name == in.Name || strings.HasPrefix(name, in.Name+".") }):
		case p.mode == Active && spoken(in):
			args[in.Name] = Argument{"intent"}
		default:
			missing = append(missing, in.Name)
		}
	}
	return args, wired, missing
}

// output is how a reference names an output, with the first item for a list: t1.result alone would be the whole result.
func output(path string) string {
	first := strings.ReplaceAll(path, "[]", "[0]")
	if path == "result" || first != path {
		return "result." + first
	}
	return path
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
		DAG: DAG{Intent: p.wording.wished, Tasks: make([]Task, len(p.tasks))}, Mode: p.mode, Paths: []Path{}, Alternatives: []Alternative{}, Model: p.who(),
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

// rate fills in the confidence of the plan, with terms that give it. top is the best score of a task.
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

// rationale says in a sentence or two what speaks for the likeliest task of the plan, and what orders all.
func (p *plan) rationale(foremost string) string {
	targets, prerequisites, pinned, why := 0, 0, "", ""
	for _, t := range p.tasks {
		switch {
		case t.formula == FormulaPin:
			pinned += " " + p.IDs[t.node] + " is " + t.reason + "."
		case t.slot == SlotTarget:
			targets++
		default:
			prerequisites++
		}
		if p.IDs[t.node] == foremost && t.formula != FormulaPin {
			why = ", above all " + foremost + ": " + t.reason
		}
	}
	s := plural.Of(targets, "target")
	switch {
	case len(p.tasks) == 0 && p.mode == Active:
		return "Neither a tool's text nor a past request matches the intent."
	case len(p.tasks) == 0:
		return "Nothing is known yet: no catalog and no history."
	case p.last != episodic.NoTool && p.mode != Active:
		return fmt.Sprintf("The likeliest way on after %s%s.", p.IDs[p.last], why)
	case p.mode != Active:
		return "The likeliest way from the usual beginning" + why + "."
	case p.repeats:
		s += " as in a task for such a request since the last build"
	}
	if prerequisites > 0 {
		s += " and " + plural.Of(prerequisites, "prerequisite")
	}
	return s + why + "; order and links as in past tasks and as schemas ask for." + pinned
}
