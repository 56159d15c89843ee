package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
)

// slot marks the tasks that are prerequisites: those that another task depends on and that match the intent far less
// than the best task.
func (p *plan) slot() {
	best := 0.0
	for _, t := range p.tasks {
		best = max(best, p.nodes.semantic[t.node])
	}
	for i := range p.tasks {
		feeds := slices.ContainsFunc(p.tasks, func(t task) bool { return slices.Contains(t.after, i) })
		if feeds && p.nodes.semantic[p.tasks[i].node] < targetShare*best {
			p.tasks[i].slot = SlotPrerequisite
		}
	}
}

// provide moves a task that provides the required input of an earlier task before that task. If neither the plan nor
// the context provides the input, it adds a tool that does. Without fitted models, it also adds the tools that the
// catalog lists as required.
func (p *plan) provide() {
	for j := 0; j < len(p.tasks); j++ {
		if p.provideTask(j) {
			j-- // it may need something itself
		}
	}
}

// provideTask inserts or moves one task before task j that provides an input it requires. It reports whether it changed
// the plan.
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
	for _, in := range p.schemas(t).Inputs() {
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

// free reports whether task i may move before task j to provide an input: it only reads, does not take that input
// itself, does not need task j or a task between them, and in the history does not come right after task j more often
// than right before.
func (p *plan) free(i, j int, in catalog.Property) bool {
	to := p.tasks[i].node
	_, ahead := p.transition(to, p.tasks[j].node)
	_, behind := p.transition(p.tasks[j].node, to)
	return ahead >= behind && p.reads(to) && !p.takes(to, in.Name) &&
		!slices.ContainsFunc(p.tasks[j:i], func(t task) bool { return p.linked(t.node, to) })
}

// insert inserts a task before task j, and makes task j depend on it.
func (p *plan) insert(t task, j int) {
	t.after = slices.DeleteFunc(slices.Clone(t.after), func(a int) bool { return a >= j })
	p.tasks = slices.Insert(p.tasks, j, t)
	for k := j + 1; k < len(p.tasks); k++ {
		after := slices.Clone(p.tasks[k].after)
		for i, a := range after {
			if a >= j {
				after[i]++
			}
		}
		p.tasks[k].after = after
	}
	p.tasks[j+1].after = append(p.tasks[j+1].after, j)
}

// linkNeeds makes task j depend on the earlier tasks that it needs, unless it already does, directly or through others.
func (p *plan) linkNeeds(j int) {
	for i := range p.tasks[:j] {
		if p.linked(p.tasks[i].node, p.tasks[j].node) && !p.reaches(i, j) {
			p.tasks[j].after = append(p.tasks[j].after, i)
			slices.Sort(p.tasks[j].after)
		}
	}
}

// reaches reports whether task j depends on task i, directly or through others.
func (p *plan) reaches(i, j int) bool {
	behind := make([]bool, j+1) // the tasks that task j depends on, and task j itself
	behind[j] = true
	for k := j; k > i; k-- { // links point backwards
		for _, a := range p.tasks[k].after {
			behind[a] = behind[a] || behind[k]
		}
	}
	return behind[i]
}

// linked reports whether b needs a: the catalog lists a as required by b, results of a were observed as an input of b,
// or by the schemas a result of a can be a required input of b.
func (m *Model) linked(a, b int32) bool {
	return slices.Contains(m.Requires(b), a) || slices.ContainsFunc(m.Wires.At(b), func(w history.Wire) bool { return w.From == a }) ||
		slices.ContainsFunc(m.schemas(b).Inputs(), func(in catalog.Property) bool { return in.Required && m.feeds(a, b, in) })
}

// feeds reports whether a result of a can be an input of b: this was observed or, if the name of the input is specific,
// the schemas have a matching output.
func (m *Model) feeds(a, b int32, in catalog.Property) bool {
	return slices.ContainsFunc(m.Wires.At(b), func(w history.Wire) bool { return w.From == a && w.In == in.Name }) ||
		specific(in.Name) && source(m.schemas(a).Results(), in) != ""
}

// source returns the path of the output that matches an input by name and type, "" if there is none. For a required
// input it also finds an output nested in another one, if its name is specific. It prefers the least deep output.
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

// compatible reports whether an output of one JSON type can be an input of another. An unknown type is compatible with
// every type, and an integer is also a number.
func compatible(out, in string) bool {
	unknown := func(t string) bool { return t == "" || t == "any" }
	return out == in || unknown(out) || unknown(in) || out == "integer" && in == "number"
}

// specific reports whether a name identifies a kind of value, unlike names that any tool may use.
func specific(name string) bool {
	switch strings.ToLower(name) {
	case "id", "name", "type", "query", "text", "title", "status", "content", "body", "message", "limit", "count",
		"total", "offset", "page", "cursor", "results", "items", "data", "value", "success", "ok", "error", "url", "path",
		"date", "time", "format", "description", "created_at", "updated_at":
		return false
	}
	return len(name) > 2
}

// provider returns the tool to insert before t to provide an input of t, -1 if there is none, and its share. The tool
// is one that the catalog lists as required by t and that has a matching output (share 1), or one whose results were
// observed as that input in at least half of the uses of t. If there is none and the name of the input is specific, it
// is a tool with a matching output that came right before t in at least half of the uses of t. A tool that the catalog
// does not list must only read, because a plan must not change anything to obtain a value. The tool must not take the
// same input itself. Ties go to the more important tool, then to the first id.
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
		if source(p.schemas(n).Results(), in) != "" {
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
		if source(p.schemas(n).Results(), in) != "" {
			_, count := p.transition(n, t)
			ofUses(n, count)
		}
	}
	return best, share
}

// reads reports whether a tool only reads, by its annotations or by its verb.
func (p *plan) reads(n int32) bool {
	t := history.Of(p.learned.tool, n, -1)
	return t >= 0 && p.learned.ranker.Effect(t) == rank.Reads
}

// takes reports whether a tool has an input of that name.
func (m *Model) takes(n int32, name string) bool {
	return slices.ContainsFunc(m.schemas(n).Inputs(), func(in catalog.Property) bool { return strings.EqualFold(in.Name, name) })
}

// undescribed are the schemas of a node that no catalog describes: they have no properties.
var undescribed history.Schemas

// schemas returns the schemas of a tool or capability, empty if no catalog describes it.
func (m *Model) schemas(n int32) *history.Schemas {
	return cmp.Or(m.Catalog.SchemasOf(m.IDs[n]), &undescribed)
}

// arguments returns the sources of the inputs of task j. A source is a result of a task that task j depends on, either
// one observed as this input or the nearest one that the schemas support, or the intent, for a required text. Among
// observed results the one with most evidence is used, and among tasks with the same tool the nearest; wired holds the
// evidence. missing lists the required inputs without a source, for which a person is asked when the plan is run.
func (p *plan) arguments(j int) (args map[string]Argument, wired []Wired, missing []string) {
	args = map[string]Argument{}
	nearest := func(fits func(i int) bool) int {
		for i := j - 1; i >= 0; i-- {
			if p.reaches(i, j) && fits(i) {
				return i
			}
		}
		return -1
	}
	to := p.tasks[j].node
	for _, w := range p.Wires.At(to) {
		name, path, ok := w.Reference()
		if _, taken := args[name]; !ok || taken || !p.agree(&w, to) {
			continue
		}
		if i := nearest(func(i int) bool { return p.tasks[i].node == w.From }); i >= 0 {
			from := fmt.Sprintf("t%d.result%s", i+1, path)
			args[name], wired = Argument{from}, append(wired, Wired{name, from, int(w.Count), int(w.Of)})
		}
	}
	inputs := p.schemas(to).Inputs()
	for _, in := range inputs {
		if _, taken := args[in.Name]; taken {
			continue
		}
		path := ""
		i := nearest(func(i int) bool {
			if specific(in.Name) || slices.Contains(p.tasks[j].after, i) {
				path = source(p.schemas(p.tasks[i].node).Results(), in)
			}
			return path != ""
		})
		if i >= 0 {
			args[in.Name] = Argument{fmt.Sprintf("t%d.%s", i+1, output(path))}
		}
	}
	for _, in := range inputs {
		given := func(name string) bool { return name == in.Name || strings.HasPrefix(name, in.Name+".") }
		switch {
		case !in.Required || slices.ContainsFunc(slices.Collect(maps.Keys(args)), given):
		case p.mode == Active && spoken(in):
			args[in.Name] = Argument{"intent"}
		default:
			missing = append(missing, in.Name)
		}
	}
	return args, wired, missing
}

// agree reports whether the schemas, if known, are consistent with a wire into a tool: the argument exists, and the
// types are compatible.
func (m *Model) agree(w *history.Wire, to int32) bool {
	find := func(all []catalog.Property, path string) (p catalog.Property, ok bool) {
		i := slices.IndexFunc(all, func(p catalog.Property) bool { return p.Name == strings.TrimSuffix(path, "[]") })
		if i >= 0 {
			p = all[i]
		}
		return p, i >= 0 || len(all) == 0
	}
	in, ok := find(m.schemas(to).Inputs(), w.In)
	out, _ := find(m.schemas(w.From).Results(), w.Out)
	return ok && compatible(out.Type, in.Type)
}

// output returns the name of an output in a reference, with the first item for a list. An output named "result" becomes
// result.result, because t1.result alone is the whole result.
func output(path string) string {
	first := strings.ReplaceAll(path, "[]", "[0]")
	if path == "result" || first != path {
		return "result." + first
	}
	return path
}

// spoken reports whether the value of an input is usually part of the request itself.
func spoken(in catalog.Property) bool {
	switch strings.ToLower(in.Name) {
	case "query", "q", "search", "question", "prompt", "text", "message", "title", "subject", "topic", "keywords":
		return in.Type == "" || in.Type == "string"
	}
	return false
}
