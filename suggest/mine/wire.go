package mine

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

// inputs are the arguments with which one call of a pattern was made, as far as digests tell: of an argument without one,
// such as a flag, nothing is known but what its tool requires.
type inputs struct {
	made int // calls with a digest
	args map[string]*argument
}

// argument is one of them, over all occurrences.
type argument struct {
	present int
	single  int // occurrences with one value, which has a digest
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

// observe counts the steps of one occurrence.
func (d *draft) observe(steps []*episodic.Step) {
	for i, s := range steps {
		in := &d.inputs[i]
		if in.args == nil {
			in.args = map[string]*argument{}
		}
		names := map[string]bool{}
		for path := range s.Inputs {
			if name, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), "."); name != "" && name != "*" {
				names[name] = true
			}
		}
		in.made += min(1, len(names))
		for name := range names {
			a := in.args[name]
			if a == nil {
				a = &argument{equal: map[origin]*agreement{}}
				in.args[name] = a
			}
			a.present++
			values := s.Inputs[name]
			if len(values) != 1 {
				continue
			}
			a.single++
			for j := range i {
				a.find(values[0], origin{call: j}, steps[j].Inputs)
				if d.above[i][j] {
					a.find(values[0], origin{call: j, result: true}, steps[j].Outputs)
				}
			}
		}
	}
}

// find counts the places that have the value. alone counts those at which it is the only value of its path:
// in a list the origin would be any item.
func (a *argument) find(value string, at origin, in episodic.Digests) {
	for path, values := range in {
		if !slices.Contains(values, value) {
			continue
		}
		at.path = path
		found := a.equal[at]
		if found == nil {
			found = &agreement{values: map[string]bool{}}
			a.equal[at] = found
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
	better := func(o origin, f *agreement) bool {
		switch {
		case found == nil || f.count != found.count:
			return found == nil || f.count > found.count
		case o.result != best.result:
			return best.result
		}
		return cmp.Or(cmp.Compare(best.call, o.call), cmp.Compare(len(o.path), len(best.path)),
			strings.Compare(o.path, best.path)) < 0
	}
	for o, f := range a.equal {
		if f.count >= 2 && 2*f.count > a.single && len(f.values) >= 2 && usable(o) && better(o, f) {
			best, found = o, f
		}
	}
	return best, found, found != nil
}

// wiring are the arguments of all calls and the parameters they ask for.
type wiring struct {
	d      *draft
	args   []map[string]json.RawMessage
	params map[string]json.RawMessage // schemas by name
	notes  []string
}

// wire gives each call the arguments that most of the calls had, and those that its tool requires.
func (d *draft) wire() *wiring {
	w := &wiring{d: d, args: make([]map[string]json.RawMessage, len(d.tools)), params: map[string]json.RawMessage{}}
	for i := range d.tools {
		w.args[i] = map[string]json.RawMessage{}
		in := &d.inputs[i]
		names := map[string]bool{}
		if t := d.known[i]; t != nil {
			for _, p := range catalog.Properties(t.InputSchema) {
				if p.Required {
					names[p.Name] = true
				}
			}
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
		return w.parameter(i, name)
	}
	from, found, ok := a.source(func(o origin) bool {
		if o.result { // names that digests do not tell cannot be referred to
			return !strings.Contains(o.path, "*")
		}
		_, there := w.args[o.call][o.path]
		return there
	})
	switch {
	case !ok:
		return w.parameter(i, name)
	case !from.result:
		return w.args[from.call][from.path] // the same value: the same source
	case 2*found.alone <= found.count:
		w.notes = append(w.notes, fmt.Sprintf("t%d.%s is one of several values at %s of the result of t%d: which one, the caller says",
			i+1, name, from.path, from.call+1))
		return w.parameter(i, name)
	}
	// items[].id is result.items[0].id
	path := strings.ReplaceAll(from.path, "[]", "[0]")
	if path != "" && path[0] != '[' {
		path = "." + path
	}
	return reffed(fmt.Sprintf("t%d.result%s", from.call+1, path))
}

func reffed(path string) json.RawMessage { return encoded(map[string]string{"$from": path}) }

// parameter adds a parameter for an argument. Its schema is the property as the tool's own schema has it, but for one with
// a reference ("$ref"), which would point nowhere in another schema.
func (w *wiring) parameter(i int, name string) json.RawMessage {
	schema := json.RawMessage(`{}`)
	if t := w.d.known[i]; t != nil {
		var s struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(t.InputSchema, &s); err == nil {
			if raw := s.Properties[name]; len(raw) > 0 && raw[0] == '{' && !strings.Contains(string(raw), `"$`) {
				schema = raw
			}
		}
	}
	p := name
	if _, taken := w.params[p]; taken {
		p = fmt.Sprintf("t%d_%s", i+1, name)
	}
	w.params[p] = schema
	return reffed("params." + p)
}

// inputSchema describes the parameters; all are required, since the tasks had them.
func (w *wiring) inputSchema() json.RawMessage {
	if len(w.params) == 0 {
		return nil
	}
	return encoded(struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}{"object", w.params, slices.Sorted(maps.Keys(w.params))})
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, and what was decoded before
	}
	return b
}
