package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
)

// A composite tool of ToolHive: name, description, parameters (JSON Schema), steps with templates for
// arguments and conditions, and outputs.
//
//	{{.params.x}}               params.x
//	{{.steps.a.output.y}}       a.result.y
//	{{index .params.list 0}}    params.list[0]
//	{{eq .params.x "y"}}        params.x == "y"
//	"no. {{.params.n}}"         "no. " + string(params.n)
//
// Fields are read in both spellings, depends_on and dependsOn, and under spec of a Kubernetes object.

func encodeToolHive(c catalog.Capability) ([]byte, []string, error) {
	if len(c.Tasks) == 0 {
		return nil, nil, fmt.Errorf("capability %q has no tasks, which is all that a composite tool consists of", c.ID)
	}
	var notes []string
	cannot := func(format string, args ...any) {
		notes = append(notes, fmt.Sprintf(format, args...))
	}
	out := map[string]any{"name": c.ID, "description": c.Description}
	if len(c.InputSchema) > 0 {
		out["parameters"] = values(c.InputSchema)
	}
	for field, left := range map[string]bool{
		"intent": c.Intent != "", "tags": len(c.Tags) > 0, "version": c.Version > 1, "output_schema": len(c.OutputSchema) > 0, "name": c.Name != "" && c.Name != c.ID,
	} {
		if left {
			cannot("%s has no place in a composite tool", field)
		}
	}
	slices.Sort(notes)
	var steps []any
	for _, t := range c.Tasks {
		step := map[string]any{"id": t.ID, "tool": toolHiveName(t.Tool)}
		if len(t.DependsOn) > 0 {
			step["depends_on"] = t.DependsOn
		}
		arguments := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
			v, ok := toolHiveValue(t.Arguments[name], c.Tasks)
			if !ok {
				cannot("task %q, argument %q: %s has no template", t.ID, name, t.Arguments[name])
				continue
			}
			arguments[name] = v
		}
		if len(arguments) > 0 {
			step["arguments"] = arguments
		}
		if t.When != "" {
			cannot("task %q: the condition %q has no template", t.ID, t.When)
		}
		if t.OnError == catalog.OnErrorContinue {
			step["on_error"] = map[string]any{"action": "continue"}
		}
		if t.TimeoutMS > 0 {
			step["timeout"] = (time.Duration(t.TimeoutMS) * time.Millisecond).String()
		}
		steps = append(steps, step)
	}
	out["steps"] = steps
	if len(c.Output) > 0 {
		var members map[string]json.RawMessage
		properties := map[string]any{}
		ok := json.Unmarshal(c.Output, &members) == nil && len(members) > 0
		for name, m := range members {
			text, isRef := single(m, "$from")
			r, known := readRef(text, c.Tasks)
			if !isRef || !known || r.intent {
				ok = false
				break
			}
			properties[name] = map[string]any{"value": template(r)}
		}
		if ok {
			out["output"] = map[string]any{"properties": properties}
		} else {
			cannot("the output %s is no object of references", c.Output)
		}
	}
	text, err := toYAML(out)
	return text, notes, err
}

// toolHiveName is workload.tool where an id has a server.
func toolHiveName(id string) string {
	if server, name, ok := catalog.Split(id); ok && !strings.Contains(server, ".") {
		return server + "." + name
	}
	return id
}

func toolHiveValue(b json.RawMessage, tasks []catalog.Task) (any, bool) {
	if text, ok := single(b, "$from"); ok {
		r, known := readRef(text, tasks)
		return template(r), known && !r.intent
	}
	if special(b) || strings.Contains(string(b), "{{") {
		return nil, false
	}
	return values(b), true
}

func template(r ref) string {
	s := ".params"
	if r.task != "" {
		s = ".steps." + r.task + ".output"
	}
	wrapped := false
	for _, p := range r.path {
		switch {
		case p.index < 0 && plainName(p.name) && !wrapped:
			s += "." + p.name
		case p.index < 0:
			s, wrapped = fmt.Sprintf("(index %s %q)", s, p.name), true
		default:
			s, wrapped = fmt.Sprintf("(index %s %d)", s, p.index), true
		}
	}
	if wrapped { // the outermost brackets
		s = s[1 : len(s)-1]
	}
	return "{{" + s + "}}"
}

func (r *reading) toolHive(doc any) (all []catalog.Capability) {
	m, _ := doc.(map[string]any)
	list := items(m, "composite_tools", "compositeTools")
	if list == nil {
		list = []any{doc}
	}
	for i, e := range list {
		m, _ := e.(map[string]any)
		if spec := object(m, "spec"); spec != nil {
			if _, named := spec["name"]; !named {
				spec["name"] = text(object(m, "metadata"), "name")
			}
			m = spec
		}
		if m == nil {
			r.wrong(fmt.Sprintf("composite tool %d", i+1), "is no object")
			continue
		}
		all = append(all, r.compositeTool(m))
	}
	return all
}

func (r *reading) compositeTool(m map[string]any) catalog.Capability {
	c := catalog.Capability{ID: text(m, "name", "id"), Description: text(m, "description")}
	where := fmt.Sprintf("composite tool %q", c.ID)
	if p, ok := m["parameters"]; ok && p != nil {
		c.InputSchema = raw(p)
	}
	r.unknown(where, m, "name", "id", "description", "parameters", "steps", "output")
	steps := items(m, "steps")
	for i, e := range steps {
		s, _ := e.(map[string]any)
		if s == nil {
			r.wrong(where, "step %d is no object", i+1)
			continue
		}
		c.Tasks = append(c.Tasks, catalog.Task{ID: text(s, "id")})
	}
	if len(c.Tasks) < len(steps) {
		return c
	}
	for i, e := range steps {
		r.compositeStep(where, e.(map[string]any), &c.Tasks[i], c.Tasks)
	}
	outputs := map[string]any{}
	for name, property := range object(object(m, "output"), "properties") {
		p, _ := property.(map[string]any)
		outputs[name] = p["value"]
	}
	if said := r.values(where, "output", outputs, templates(c.Tasks)); said != nil {
		c.Output = raw(said)
	}
	return c
}

func (r *reading) compositeStep(where string, s map[string]any, t *catalog.Task, tasks []catalog.Task) {
	where = fmt.Sprintf("%s, step %q", where, t.ID)
	if kind := text(s, "type"); kind != "" && kind != "tool" {
		r.wrong(where, "a step of type %q cannot be run here", kind)
	}
	t.Tool = text(s, "tool")
	if !strings.Contains(t.Tool, ":") {
		t.Tool = strings.Replace(t.Tool, ".", ":", 1)
	}
	t.DependsOn = words(items(s, "depends_on", "dependsOn"))
	argue(t, r.values(where, "argument", object(s, "arguments"), templates(tasks)))
	if condition := text(s, "condition"); condition != "" {
		x, err := fromCondition(condition, tasks)
		if err != nil {
			r.wrong(where, "condition: %s", err)
		}
		t.When = x
	}
	onError := object(s, "on_error", "onError")
	switch action := text(onError, "action"); action {
	case "", "abort":
	case "continue":
		t.OnError = catalog.OnErrorContinue
	case "retry":
		r.note(where, "how often to try again is not taken over: calls that may be repeated are tried three times")
	default:
		r.wrong(where, "on_error %q is unknown", action)
	}
	if timeout := text(s, "timeout"); timeout != "" {
		d, err := time.ParseDuration(timeout)
		if err != nil || d < time.Millisecond {
			r.wrong(where, "timeout %q is no duration", timeout)
		} else {
			t.TimeoutMS = d.Milliseconds()
		}
	}
	r.unknown(where, s, "id", "type", "tool", "arguments", "depends_on", "dependsOn", "condition", "on_error", "onError", "timeout")
}

// unknown notes fields that are not taken over.
func (r *reading) unknown(where string, m map[string]any, known ...string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, k) {
			r.note(where, "%s is not taken over", k)
		}
	}
}
