package suggest

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/suggest/learn/wiring"
)

// wiredArguments are the arguments of task j whose values were seen to come from results of tasks it comes after: of
// several the one with most evidence, of equal tasks the nearest.
func (p *plan) wiredArguments(j int) (args map[string]Argument, why []Wired) {
	args = map[string]Argument{}
	for _, w := range p.Wires.At(p.tasks[j].node) {
		name, path, ok := reference(w.In, w.Out)
		if _, taken := args[name]; !ok || taken || !p.agree(w.From, p.tasks[j].node, &w) {
			continue
		}
		for i := j - 1; i >= 0; i-- {
			if p.tasks[i].node == w.From && p.reaches(i, j) {
				from := fmt.Sprintf("t%d.result%s", i+1, path)
				args[name] = Argument{from}
				why = append(why, Wired{name, from, int(w.Count), int(w.Of)})
				break
			}
		}
	}
	return args, why
}

// reference is a wire as an argument and the path of a reference: the first item stands for a list where one
// value is asked for, the list itself where all are. Not ok for arguments inside of others, and for names
// that were not kept.
func reference(in, out string) (name, path string, ok bool) {
	name, all := strings.CutSuffix(in, "[]")
	if all {
		if out, ok = strings.CutSuffix(out, "[]"); !ok || strings.Contains(out, "[]") {
			return "", "", false
		}
	}
	if name == "" || strings.ContainsAny(name, ".[*") || strings.Contains(out, "*") {
		return "", "", false
	}
	path = strings.ReplaceAll(out, "[]", "[0]")
	if path != "" && path[0] != '[' {
		path = "." + path
	}
	return name, path, true
}

// agree reports whether the schemas, as far as they say anything, let a wire be: the argument exists, and
// the types fit.
func (m *Model) agree(a, b int32, w *wiring.Wire) bool {
	property := func(all []catalog.Property, name string) (p catalog.Property, ok bool) {
		i := slices.IndexFunc(all, func(p catalog.Property) bool { return p.Name == name })
		if i < 0 {
			return catalog.Property{}, len(all) == 0
		}
		return all[i], true
	}
	in, known := property(m.inputs(b), strings.TrimSuffix(w.In, "[]"))
	if !known {
		return false
	}
	out, known := property(m.outputs(a), strings.TrimSuffix(w.Out, "[]"))
	return !known || in.Type == "" || in.Type == "any" || out.Type == "any" || compatible(out.Type, in.Type)
}
