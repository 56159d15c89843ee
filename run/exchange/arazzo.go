package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"waymark/catalog"
)

// A workflow of Arazzo 1.0 (OpenAPI Initiative). Its steps follow one another; a step is an operation with a
// body, of whose answer it declares outputs that others refer to:
//
//	$inputs.x                     params.x
//	$steps.a.outputs.y            what output y of step a points to: $response.body#/items/0 is a.result.items[0]
//
// Arazzo lets descriptions be extended by x- fields. What it has no word for stands in those, so that what
// is written is read again as it was: dependencies, conditions, expressions, tags.
const (
	xDepends   = "x-waymark-depends-on"
	xArguments = "x-waymark-arguments"
	xWhen      = "x-waymark-when"
	xOnError   = "x-waymark-on-error"
	xTimeout   = "x-waymark-timeout-ms"
	xOutput    = "x-waymark-output"
	xRest      = "x-waymark-capability"
)

func encodeArazzo(c catalog.Capability) ([]byte, []string, error) {
	if len(c.Tasks) == 0 {
		return nil, nil, fmt.Errorf("capability %q has no tasks, without which there is no workflow", c.ID)
	}
	w := arazzoWriter{tasks: c.Tasks, outputs: map[string]map[string]any{}}
	var steps []any
	for _, i := range inOrder(c.Tasks) {
		steps = append(steps, w.step(c.Tasks[i]))
	}
	workflow := map[string]any{"workflowId": c.ID, "steps": steps}
	if c.Description != "" {
		workflow["description"] = c.Description
	}
	if len(c.InputSchema) > 0 {
		workflow["inputs"] = values(c.InputSchema)
	}
	if outputs, ok := w.outputsOf(c); ok {
		workflow["outputs"] = outputs
	} else if len(c.Output) > 0 {
		workflow[xOutput] = values(c.Output)
	}
	for _, s := range steps {
		step := s.(map[string]any)
		if o := w.outputs[step["stepId"].(string)]; len(o) > 0 {
			step["outputs"] = o
		}
	}
	rest := c
	rest.ID, rest.Description, rest.InputSchema, rest.Tasks, rest.Output = "", "", nil, nil, nil
	extra := values(raw(rest)).(map[string]any)
	delete(extra, "id")
	workflow[xRest] = extra
	text, err := toYAML(map[string]any{
		"arazzo":             "1.0.1",
		"info":               map[string]any{"title": c.ID, "version": strconv.Itoa(max(1, c.Version))},
		"sourceDescriptions": []any{map[string]any{"name": "waymark", "url": "./openapi.json", "type": "openapi"}},
		"workflows":          []any{workflow},
	})
	return text, nil, err
}

// An arazzoWriter notes which outputs of steps the values refer to.
type arazzoWriter struct {
	tasks   []catalog.Task
	outputs map[string]map[string]any // by step, name → JSON pointer into the response
}

// value returns a value or reference in the syntax of Arazzo; false where Arazzo cannot express it.
func (w *arazzoWriter) value(b json.RawMessage) (any, bool) {
	text, isRef := single(b, "$from")
	if !isRef {
		return values(b), !special(b) && !strings.Contains(string(b), "$")
	}
	r, ok := readRef(text, w.tasks)
	if !ok || r.intent || r.String() != text && r.task == "" {
		return nil, false
	}
	if r.task == "" {
		if len(r.path) == 0 {
			return nil, false
		}
		for _, p := range r.path {
			if p.index >= 0 || !plainName(p.name) {
				return nil, false
			}
		}
		return "$inputs" + pathText(r.path), true
	}
	name, pointer := "result", "$response.body"
	if len(r.path) > 0 {
		name, pointer = "", pointer+"#"
	}
	for _, p := range r.path {
		token := p.name
		if p.index >= 0 {
			token = strconv.Itoa(p.index)
		} else if _, err := strconv.Atoi(p.name); err == nil || !plainName(p.name) {
			return nil, false
		}
		name += "_" + token
		pointer += "/" + token
	}
	name = strings.TrimPrefix(name, "_")
	if w.outputs[r.task] == nil {
		w.outputs[r.task] = map[string]any{}
	}
	if other, taken := w.outputs[r.task][name]; taken && other != pointer {
		return nil, false
	}
	w.outputs[r.task][name] = pointer
	return "$steps." + r.task + ".outputs." + name, true
}

// step returns the step of a task. Arguments that Arazzo cannot express are in an extension.
func (w *arazzoWriter) step(t catalog.Task) map[string]any {
	step := map[string]any{"stepId": t.ID, "operationId": t.Tool, xDepends: append([]string{}, t.DependsOn...)}
	payload, rest := map[string]any{}, map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
		if v, ok := w.value(t.Arguments[name]); ok {
			payload[name] = v
		} else {
			rest[name] = values(t.Arguments[name])
		}
	}
	if len(payload) > 0 {
		step["requestBody"] = map[string]any{"contentType": "application/json", "payload": payload}
	}
	if len(rest) > 0 {
		step[xArguments] = rest
	}
	if t.When != "" {
		step[xWhen] = t.When
	}
	if t.OnError != "" {
		step[xOnError] = t.OnError
	}
	if t.TimeoutMS != 0 {
		step[xTimeout] = t.TimeoutMS
	}
	return step
}

// outputsOf returns the outputs of the workflow; false where the capability has none or Arazzo cannot express them.
func (w *arazzoWriter) outputsOf(c catalog.Capability) (map[string]any, bool) {
	var members map[string]json.RawMessage
	if len(c.Output) == 0 || json.Unmarshal(c.Output, &members) != nil || len(members) == 0 {
		return nil, false
	}
	outputs, ok := map[string]any{}, true
	for name, m := range members {
		_, isRef := single(m, "$from")
		v, can := w.value(m)
		ok = ok && isRef && can && plainName(name)
		outputs[name] = v
	}
	return outputs, ok
}

// inOrder are the tasks, each after what it depends on or refers to; where that is no DAG, as they stand.
func inOrder(tasks []catalog.Task) []int {
	done, order := make([]bool, len(tasks)), []int{}
	before := func(i int) bool {
		for j, t := range tasks {
			if i == j || done[j] {
				continue
			}
			if slices.Contains(tasks[i].DependsOn, t.ID) {
				return true
			}
			for _, a := range tasks[i].Arguments {
				if text, ok := single(a, "$from"); ok {
					if r, ok := readRef(text, tasks); ok && r.task == t.ID {
						return true
					}
				}
			}
		}
		return false
	}
	for len(order) < len(tasks) {
		n := len(order)
		for i := range tasks {
			if !done[i] && !before(i) {
				done[i], order = true, append(order, i)
			}
		}
		if len(order) == n {
			for i := range tasks {
				if !done[i] {
					order = append(order, i)
				}
			}
			break
		}
	}
	return order
}

func (r *reading) arazzo(doc any) (all []catalog.Capability) {
	m, _ := doc.(map[string]any)
	if v := text(m, "arazzo"); !strings.HasPrefix(v, "1.") {
		r.wrong("", "arazzo %q is no version that is read here", v)
		return nil
	}
	for i, e := range items(m, "workflows") {
		w, ok := e.(map[string]any)
		if !ok {
			r.wrong(fmt.Sprintf("workflow %d", i+1), "is no object")
			continue
		}
		all = append(all, r.workflow(w))
	}
	return all
}

func (r *reading) workflow(w map[string]any) (c catalog.Capability) {
	where := fmt.Sprintf("workflow %q", text(w, "workflowId"))
	if extra, ok := w[xRest]; ok {
		if err := json.Unmarshal(raw(extra), &c); err != nil {
			r.wrong(where, "%s: %s", xRest, err)
		}
	}
	c.ID, c.Description = text(w, "workflowId"), text(w, "description", "summary")
	if in, ok := w["inputs"]; ok && in != nil {
		c.InputSchema = raw(in)
	}
	r.unknown(where, w, "workflowId", "summary", "description", "inputs", "steps", "outputs", xOutput, xRest)
	steps := items(w, "steps")
	outputs := map[string]map[string]any{}
	for i, e := range steps {
		s, ok := e.(map[string]any)
		if !ok {
			r.wrong(where, "step %d is no object", i+1)
			return c
		}
		c.Tasks = append(c.Tasks, catalog.Task{ID: text(s, "stepId")})
		outputs[text(s, "stepId")] = object(s, "outputs")
	}
	for i, e := range steps {
		previous := ""
		if i > 0 {
			previous = c.Tasks[i-1].ID
		}
		r.step(where, e.(map[string]any), &c.Tasks[i], previous, outputs)
	}
	if o, ok := w[xOutput]; ok {
		c.Output = raw(o)
	} else if said := r.values(where, "output", object(w, "outputs"), runtimeTexts(outputs)); said != nil {
		c.Output = raw(said)
	}
	return c
}

func (r *reading) step(where string, s map[string]any, t *catalog.Task, previous string, outputs map[string]map[string]any) {
	where = fmt.Sprintf("%s, step %q", where, t.ID)
	t.Tool = text(s, "operationId", "workflowId")
	if rest, ok := strings.CutPrefix(t.Tool, "$sourceDescriptions."); ok {
		_, t.Tool, _ = strings.Cut(rest, ".")
	}
	if t.Tool == "" {
		r.wrong(where, "names no operationId or workflowId: an operation is found here by its id alone")
	}
	if _, said := s[xDepends]; said {
		t.DependsOn = words(items(s, xDepends))
	} else if previous != "" { // steps follow one another
		t.DependsOn = []string{previous}
	}
	arguments := map[string]any{}
	for _, e := range items(s, "parameters") {
		p, _ := e.(map[string]any)
		if name := text(p, "name"); name != "" {
			arguments[name] = p["value"]
		} else {
			r.wrong(where, "a parameter without a name, or a reference to one, cannot be read")
		}
	}
	body := object(s, "requestBody")
	payload, isObject := body["payload"].(map[string]any)
	if body != nil && !isObject {
		r.wrong(where, "its body is no object of arguments")
	}
	maps.Copy(arguments, payload)
	argue(t, r.values(where, "argument", arguments, runtimeTexts(outputs)))
	argue(t, r.values(where, "argument", object(s, xArguments), func(s string) (json.RawMessage, error) { return raw(s), nil }))
	t.When, t.OnError = text(s, xWhen), text(s, xOnError)
	if ms, err := strconv.ParseInt(fmt.Sprint(s[xTimeout]), 10, 64); err == nil {
		t.TimeoutMS = ms
	}
	r.unknown(where, s, "stepId", "description", "operationId", "workflowId", "parameters", "requestBody", "outputs", xDepends, xArguments, xWhen, xOnError, xTimeout)
}

// runtimeTexts reads texts that may be runtime expressions, or hold some.
func runtimeTexts(outputs map[string]map[string]any) reader {
	return func(s string) (json.RawMessage, error) { return fromRuntimeText(s, outputs) }
}

func fromRuntimeText(s string, outputs map[string]map[string]any) (json.RawMessage, error) {
	if strings.HasPrefix(s, "$") {
		r, err := runtimeRef(s, outputs)
		if err != nil {
			return nil, err
		}
		return from(r.String()), nil
	}
	if !strings.Contains(s, "{$") {
		return raw(s), nil
	}
	var parts []string
	for rest := s; rest != ""; {
		before, after, found := strings.Cut(rest, "{$")
		if before != "" {
			parts = append(parts, string(raw(before)))
		}
		if !found {
			break
		}
		inside, behind, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("%q: an expression is not closed", s)
		}
		r, err := runtimeRef("$"+inside, outputs)
		if err != nil {
			return nil, err
		}
		parts, rest = append(parts, "string("+r.expression()+")"), behind
	}
	return computed(strings.Join(parts, " + ")), nil
}

// runtimeRef reads $inputs… and $steps….outputs….
func runtimeRef(s string, outputs map[string]map[string]any) (ref, error) {
	if path, ok := strings.CutPrefix(s, "$inputs."); ok && path != "" {
		return ref{path: names(path)}, nil
	}
	rest, ok := strings.CutPrefix(s, "$steps.")
	step, name, found := strings.Cut(rest, ".outputs.")
	if !ok || !found {
		return ref{}, fmt.Errorf("%q is neither an input nor the output of a step", s)
	}
	pointer, ok := outputs[step][name].(string)
	if !ok {
		return ref{}, fmt.Errorf("%q: step %q declares no output %q", s, step, name)
	}
	pointer, ok = strings.CutPrefix(pointer, "$response.body")
	if !ok {
		return ref{}, fmt.Errorf("%q: output %q of step %q is no part of the body of its answer", s, name, step)
	}
	r := ref{task: step}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "#"), "/") {
		if token == "" {
			continue
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if i, err := strconv.Atoi(token); err == nil && i >= 0 {
			r.path = append(r.path, part{"", i})
		} else {
			r.path = append(r.path, part{token, -1})
		}
	}
	return r, nil
}
