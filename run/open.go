package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
)

// Open is a required argument without a value: of a task of the DAG itself, of its parameters (Task is "params"), or
// the intent (Task is "intent", without an argument).
type Open struct {
	Task     string
	Argument string
	Tool     string         // the tool that takes it
	Schema   map[string]any // of the value; empty: not known
}

// Key returns the name of the argument for a person: t1.path, params.repo, intent.
func (o Open) Key() string {
	if o.Argument == "" {
		return o.Task
	}
	return o.Task + "." + o.Argument
}

// String describes the argument in one line.
func (o Open) String() string {
	var b strings.Builder
	b.WriteString(o.Key())
	if kind := catalog.SchemaOf(o.Schema).Types(); kind != catalog.AnyType {
		fmt.Fprintf(&b, " (%s)", kind)
	}
	if o.Tool != "" {
		fmt.Fprintf(&b, " of %s", o.Tool)
	}
	if text, _ := o.Schema["description"].(string); text != "" {
		b.WriteString(": " + oneLine(text))
	}
	return b.String()
}

// Form returns a JSON Schema of the missing values of a DAG, by task. [Request.Set] takes an object that fits it. Form
// returns nil if no value is missing.
func (e *CheckError) Form() map[string]any {
	if len(e.Open) == 0 {
		return nil
	}
	tasks, order := map[string]any{}, []string{}
	for _, o := range e.Open {
		if o.Argument == "" {
			tasks[o.Task], order = any(o.Schema), append(order, o.Task)
			continue
		}
		task, ok := tasks[o.Task].(map[string]any)
		if !ok {
			task = map[string]any{"type": "object", "properties": map[string]any{}, "required": []string{}}
			if o.Tool != "" {
				task["title"] = o.Tool
			}
			tasks[o.Task], order = task, append(order, o.Task)
		}
		task["properties"].(map[string]any)[o.Argument] = o.Schema
		task["required"] = append(task["required"].([]string), o.Argument)
	}
	return map[string]any{"type": "object", "properties": tasks, "required": order}
}

// missing reports an argument without a value. A value that is missing inside a called capability is not open, because
// a request cannot supply it.
func (c *checker) missing(s *scope, at Problem, o Open) {
	at.Open = s.owner < 0
	c.report(at)
	if at.Open && !slices.ContainsFunc(c.open, func(other Open) bool { return other.Key() == o.Key() }) {
		c.open = append(c.open, o)
	}
}

// plainWords are the keywords of a schema that a form can show by themselves. maxFormSchema is the maximum size in
// bytes of a schema that is shown whole.
var plainWords = []string{"type", "title", "description", "enum", "format", "default", "examples"}

const maxFormSchema = 4 << 10

// shown returns a schema for a form. A schema that is long, or has references, which point outside of it, is reduced to
// its top-level plain keywords.
func shown(s catalog.Schema) map[string]any {
	plain := func(v any) bool {
		text, err := json.Marshal(v)
		return err == nil && len(text) <= maxFormSchema && !bytes.Contains(text, []byte(`"$`))
	}
	o := s.Object()
	if o != nil && plain(o) {
		return o
	}
	top := map[string]any{}
	for _, word := range plainWords {
		if v, ok := o[word]; ok && plain(v) {
			top[word] = v
		}
	}
	return top
}

// OnlyOpen reports whether missing values are the only problems of a DAG.
func (e *CheckError) OnlyOpen() bool {
	return len(e.Problems) > 0 && !slices.ContainsFunc(e.Problems, func(p Problem) bool { return !p.Open })
}

// Set sets the arguments of tasks. values maps the id of a task to an object of arguments, params to an object of
// parameters, and intent to a string. A value is taken literally, even if it looks like a reference.
func (q *Request) Set(values map[string]json.RawMessage) error {
	var problems []Problem
	tasks := slices.Clone(q.DAG.Tasks)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key == "intent" {
			if json.Unmarshal(values[key], &q.DAG.Intent) != nil {
				problems = append(problems, Problem{Argument: "values.intent", Detail: "is not a string"})
			}
			continue
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(values[key], &members) != nil || members == nil {
			problems = append(problems, Problem{Argument: "values." + key, Detail: "is not an object of arguments"})
			continue
		}
		if key == "params" {
			all := map[string]json.RawMessage{}
			if len(q.DAG.Params) > 0 && json.Unmarshal(q.DAG.Params, &all) != nil {
				problems = append(problems, Problem{Argument: "params", Detail: "is not an object"})
				continue
			}
			maps.Copy(all, members)
			q.DAG.Params, _ = json.Marshal(all) // it was JSON
			continue
		}
		ids := make([]string, len(tasks))
		for i, t := range tasks {
			ids[i] = t.ID
		}
		i := slices.Index(ids, key)
		if i < 0 {
			problems = append(problems, Problem{Argument: "values." + key, Detail: "there is no such task; there are " + list(ids)})
			continue
		}
		arguments := literally(members)
		for name, v := range tasks[i].Arguments {
			if _, given := members[name]; !given {
				arguments[name] = v
			}
		}
		tasks[i].Arguments = arguments
	}
	q.DAG.Tasks = tasks
	if len(problems) > 0 {
		return &CheckError{Problems: problems}
	}
	return nil
}

// literally returns arguments in which no part of a value is read as a reference.
func literally(values map[string]json.RawMessage) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(values))
	for name, v := range values {
		if all[name] = v; bytes.ContainsAny(v, "{[") {
			all[name], _ = json.Marshal(map[string]json.RawMessage{"$value": v}) // valid JSON: cannot fail
		}
	}
	return all
}
