package mine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
)

// inputs counts the arguments of one call of a pattern, as far as digests show them. An argument without a digest, such
// as a flag, is not counted; all that is known of it is whether its tool requires it.
type inputs struct {
	made    int            // calls with a digest of an argument
	given   map[string]int // of these calls, those with the argument
	several map[string]int // by path of the result: calls with several values there
}

// observe counts the steps of one occurrence. The arguments of a call also count as the result of a pseudo-tool of
// their own, so that a value comes from its first appearance, either an argument or a result of an earlier call. All
// occurrences count as one episode, so that no match counts as chance: arguments that rarely change still share their
// parameter.
func (d *draft) observe(steps []*episodic.Step) {
	var before []history.Call
	for i, s := range steps {
		names := map[string]bool{}
		for path := range s.Inputs {
			if name, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), "."); name != "" && name != "*" {
				names[name] = true
			}
		}
		d.inputs[i].made += min(1, len(names))
		for name := range names {
			d.inputs[i].given[name]++
		}
		for path, values := range s.Outputs {
			if len(values) > 1 {
				d.inputs[i].several[path]++
			}
		}
		v := history.ValuesOf(s.Inputs, s.Outputs)
		d.wires.Observe(0, int32(i), &history.Values{In: v.In}, slices.DeleteFunc(slices.Clone(before), func(c history.Call) bool {
			return int(c.Tool) < len(steps) && !d.pattern.order.has(int(c.Tool), i)
		}))
		before = append(before, history.Call{Tool: int32(len(steps) + i), Values: &history.Values{Out: v.In}}, history.Call{Tool: int32(i), Values: &history.Values{Out: v.Out}})
	}
}

// arguments holds the arguments of all calls, and the parameters that they refer to.
type arguments struct {
	d      *draft
	args   []map[string]json.RawMessage
	params map[string]json.RawMessage // schemas by name
	notes  []string
}

// wire assigns to each call the arguments that most of the observed calls had, and those that its tool requires.
func (d *draft) wire() *arguments {
	w := &arguments{d: d, args: make([]map[string]json.RawMessage, len(d.tools)), params: map[string]json.RawMessage{}}
	for i, in := range d.inputs {
		w.args[i] = map[string]json.RawMessage{}
		wanted := map[string]bool{}
		if t := d.known[i]; t != nil {
			for _, p := range catalog.Properties(t.InputSchema) {
				if p.Required {
					wanted[p.Name] = true
				}
			}
		}
		for name, given := range in.given {
			if 2*given > in.made {
				wanted[name] = true
			}
		}
		wires := d.wires.Wires([]int32{int32(i)}, func(call int32) int32 { return call })
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			w.args[i][name] = w.argument(i, name, wires)
		}
	}
	return w
}

// argument returns the source of an argument: the one that it came from in most cases, else a parameter.
func (w *arguments) argument(i int, name string, wires []history.Wire) json.RawMessage {
	for _, x := range wires {
		to, path, ok := x.Reference()
		if !ok || to != name || 2*x.Count <= x.Of {
			continue
		}
		from := int(x.From)
		if from >= len(w.args) { // the value equals an earlier argument: the same source
			if given, ok := w.args[from-len(w.args)][strings.TrimPrefix(path, ".")]; ok {
				return given
			}
			continue
		}
		if !strings.HasSuffix(x.In, "[]") && 2*w.d.inputs[from].several[x.Out] >= len(w.d.examples) {
			w.notes = append(w.notes, fmt.Sprintf("t%d.%s is one of several values at %s of the result of t%d: which one, the caller says",
				i+1, name, x.Out, from+1))
			break
		}
		return reffed(fmt.Sprintf("t%d.result%s", from+1, path))
	}
	return w.parameter(i, name)
}

func reffed(path string) json.RawMessage { return encoded(map[string]string{"$from": path}) }

// parameter adds a parameter for an argument and returns a reference to it. Its schema is that of the property in the
// tool's own schema, or empty if that has a reference ("$ref"), which would point nowhere in another schema.
func (w *arguments) parameter(i int, name string) json.RawMessage {
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

// inputSchema returns the schema of the parameters, nil if there are none; all are required, since the tasks had them.
func (w *arguments) inputSchema() json.RawMessage {
	if len(w.params) == 0 {
		return nil
	}
	return encoded(map[string]any{"type": "object", "properties": w.params, "required": slices.Sorted(maps.Keys(w.params))})
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, or JSON that was decoded before
	}
	return b
}
