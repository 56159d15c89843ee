package proposal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
)

// inputs are the arguments with which one call of a pattern was made.
type inputs struct {
	made int // calls whose arguments are known
	args map[string]*argument
}

// argument is one of them, over all occurrences.
type argument struct {
	present int
	types   map[string]int
	hashed  int // occurrences with a digest of its value
	equal   map[origin]*agreement
}

// origin is where a value was before: at a path of an earlier call's result, or among its arguments.
type origin struct {
	call   int
	path   string
	result bool
}

// agreement is how often a value was there.
type agreement struct {
	count  int
	alone  int // as the only value at that path
	values map[string]bool
}

// mostValues is how many different values are told apart: two are enough to say that it is not always
// the same one.
const mostValues = 2

// observe takes in the steps of one occurrence.
func (d *draft) observe(steps []*episodic.Step) {
	for i, s := range steps {
		in := &d.inputs[i]
		fields, known := members(s.Shape)
		for path, values := range s.Inputs {
			if name := path; !strings.ContainsAny(name, ".[*") && name != "" && len(values) == 1 {
				if _, ok := fields[name]; !ok {
					known = true
					fields[name] = "" // a type that nobody noted
				}
			}
		}
		if !known {
			continue
		}
		in.made++
		if in.args == nil {
			in.args = map[string]*argument{}
		}
		for name, kind := range fields {
			a := in.args[name]
			if a == nil {
				a = &argument{types: map[string]int{}, equal: map[origin]*agreement{}}
				in.args[name] = a
			}
			a.present++
			if kind != "" {
				a.types[kind]++
			}
			if values := s.Inputs[name]; len(values) == 1 {
				a.hashed++
				for j := range i {
					if d.above[i][j] {
						a.find(values[0], j, steps[j])
					} else {
						a.findIn(values[0], j, false, steps[j].Inputs)
					}
				}
			}
		}
	}
}

// find looks for a value among the arguments and results of an earlier call.
func (a *argument) find(value string, call int, s *episodic.Step) {
	a.findIn(value, call, false, s.Inputs)
	a.findIn(value, call, true, s.Outputs)
}

// findIn counts the places that have the value. alone counts those at which it is the only value of its path:
// in a list the origin would be any item.
func (a *argument) findIn(value string, call int, result bool, in episodic.Digests) {
	for path, values := range in {
		if !slices.Contains(values, value) {
			continue
		}
		o := origin{call, path, result}
		found := a.equal[o]
		if found == nil {
			found = &agreement{values: map[string]bool{}}
			a.equal[o] = found
		}
		found.count++
		if len(values) == 1 {
			found.alone++
		}
		if len(found.values) < mostValues {
			found.values[value] = true
		}
	}
}

// source is the origin that most occurrences agree on: more than half of those whose values are known,
// at least two, with more than one value, since one that is always the same is found anywhere. An
// argument of an earlier call is taken before a result that repeats it; else the nearest call counts, then
// the shortest path.
func (a *argument) source(usable func(origin) bool) (origin, *agreement, bool) {
	best, found := origin{}, (*agreement)(nil)
	for o, f := range a.equal {
		if f.count < 2 || 2*f.count <= a.hashed || len(f.values) < 2 || !usable(o) {
			continue
		}
		if found == nil || cmp.Or(cmp.Compare(found.count, f.count), both(!best.result, !o.result), cmp.Compare(best.call, o.call),
			cmp.Compare(len(o.path), len(best.path)), strings.Compare(o.path, best.path)) < 0 {
			best, found = o, f
		}
	}
	return best, found, found != nil
}

// both compares two answers: yes is more than no.
func both(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// members reads the fields of an object and their types from the shape of a document, {a:string,b:[integer]}.
func members(shape string) (fields map[string]string, ok bool) {
	fields = map[string]string{}
	body, ok := strings.CutPrefix(shape, "{")
	if !ok {
		return fields, false
	}
	body = strings.TrimSuffix(body, "}")
	depth, from := 0, 0
	field := func(text string) {
		if name, kind, ok := strings.Cut(text, ":"); ok && name != "" && name != "*" && !strings.HasSuffix(name, "…") {
			fields[name] = typeOf(kind)
		}
	}
	for i, r := range body {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				field(body[from:i])
				from = i + 1
			}
		}
	}
	field(body[from:])
	return fields, true
}

// typeOf is the JSON Schema type of a shape, empty where the shape does not say.
func typeOf(shape string) string {
	switch {
	case strings.HasPrefix(shape, "{"):
		return "object"
	case strings.HasPrefix(shape, "["):
		return "array"
	}
	switch shape {
	case "string", "integer", "number", "boolean":
		return shape
	}
	return "" // null, or cut
}

// parameter is one of the capability.
type parameter struct {
	name   string
	schema json.RawMessage
}

// wiring are the arguments of all calls and the parameters they ask for.
type wiring struct {
	d      *draft
	args   []map[string]json.RawMessage
	params []parameter
	notes  []string
}

// wire gives each call the arguments that most of the calls had, and those that its tool requires.
func (d *draft) wire() *wiring {
	w := &wiring{d: d, args: make([]map[string]json.RawMessage, len(d.tools))}
	for i := range d.tools {
		w.args[i] = map[string]json.RawMessage{}
		in := &d.inputs[i]
		required := map[string]bool{}
		if t := d.known[i]; t != nil {
			for _, p := range catalog.Properties(t.InputSchema) {
				if p.Required {
					required[p.Name] = true
				}
			}
		}
		names := map[string]bool{}
		for name := range required {
			names[name] = true
		}
		for name, a := range in.args {
			if 2*a.present > in.made {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			w.args[i][name] = w.argument(i, name, in.args[name])
		}
	}
	return w
}

// argument says where the value of an argument comes from.
func (w *wiring) argument(i int, name string, a *argument) json.RawMessage {
	if a == nil {
		return w.parameter(i, name, "")
	}
	from, found, ok := a.source(func(o origin) bool {
		if o.result {
			_, sayable := reference(o.call, o.path)
			return sayable
		}
		_, there := w.args[o.call][o.path]
		return there
	})
	switch {
	case !ok:
	case !from.result:
		return w.args[from.call][from.path] // the same value: the same source
	case 2*found.alone <= found.count:
		w.notes = append(w.notes, fmt.Sprintf("t%d.%s is one of several values at %s of the result of t%d: which one, the caller says",
			i+1, name, from.path, from.call+1))
	default:
		path, _ := reference(from.call, from.path)
		return reffed(path)
	}
	kind := ""
	for _, k := range slices.Sorted(maps.Keys(a.types)) {
		if a.types[k] > a.types[kind] {
			kind = k
		}
	}
	return w.parameter(i, name, kind)
}

func reffed(path string) json.RawMessage {
	b, err := json.Marshal(map[string]string{"$from": path})
	if err != nil {
		panic(err) // a text
	}
	return b
}

// reference is the place of a path of digests in the result of a call: items[].id is result.items[0].id.
// Names that digests do not tell cannot be referred to.
func reference(call int, path string) (string, bool) {
	if strings.Contains(path, "*") {
		return "", false
	}
	r := fmt.Sprintf("t%d.result", call+1)
	path = strings.ReplaceAll(path, "[]", "[0]")
	if path != "" && path[0] != '[' {
		r += "."
	}
	return r + path, true
}

// parameter adds a parameter for an argument, with the schema that its tool gives it.
func (w *wiring) parameter(i int, name, kind string) json.RawMessage {
	schema := w.schema(i, name, kind)
	p := name
	if slices.ContainsFunc(w.params, func(o parameter) bool { return o.name == p }) {
		p = fmt.Sprintf("t%d_%s", i+1, name)
	}
	w.params = append(w.params, parameter{p, schema})
	return reffed("params." + p)
}

// schema is the property as the tool's own schema has it. One with a reference ("$ref") would point nowhere
// in another schema; then, as where the tool has none, only the type that was seen is kept.
func (w *wiring) schema(i int, name, kind string) json.RawMessage {
	if t := w.d.known[i]; t != nil {
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(t.InputSchema, &s) == nil {
			var property map[string]json.RawMessage
			if raw := s.Properties[name]; json.Unmarshal(raw, &property) == nil && len(property) > 0 && !strings.Contains(string(raw), `"$`) {
				return raw
			}
		}
	}
	if kind == "" {
		return json.RawMessage(`{}`)
	}
	return json.RawMessage(`{"type":"` + kind + `"}`)
}

// inputSchema describes the parameters; all are required, since the tasks had them.
func (w *wiring) inputSchema() json.RawMessage {
	if len(w.params) == 0 {
		return nil
	}
	type object struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	s := object{"object", map[string]json.RawMessage{}, nil}
	for _, p := range w.params {
		s.Properties[p.name] = p.schema
		s.Required = append(s.Required, p.name)
	}
	slices.Sort(s.Required)
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // what was decoded before
	}
	return b
}
