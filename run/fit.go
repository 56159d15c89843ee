package run

import (
	"encoding/json"
	"slices"
	"strings"

	"waymark/catalog"
)

// types checks the arguments of a node against the schema of what it calls.
func (c *checker) types(s *scope, n *node) {
	if n.Kind == "" || n.Kind == KindHost {
		return
	}
	in := catalog.ReadSchema(n.tool.InputSchema)
	var err error
	if n.input, err = c.validator(n.tool.ID, n.tool.InputSchema); err != nil {
		c.warn("%s: arguments are not checked: %s", n.tool.ID, oneLine(err.Error()))
	}
	given := map[string]bool{}
	for i := range n.args {
		a := &n.args[i]
		a.path, _, _ = place(in, a.name)
		given[a.path[0]] = true
	}
	required := in.Required()
	for _, name := range required {
		if !given[name] {
			if _, preset := defaultOf(in, name); n.Kind != kindTool && preset {
				continue
			}
			at, _ := in.Member(name)
			c.missing(s, Problem{Task: n.ID, Argument: name, Detail: "is required and not given"}, Open{n.task.ID, name, n.tool.ID, shown(at)})
		}
	}
	for i := range n.args {
		a := &n.args[i]
		a.required = len(a.path) == 1 && slices.Contains(required, a.name)
		_, want, found := place(in, a.name)
		if found == catalog.Absent {
			c.wrong(n.ID, a.name, "%s takes no such argument; it takes %s", n.tool.ID, list(in.Names()))
			continue
		}
		from, _ := a.value.tree.(*reference)
		switch {
		case a.required && from != nil && from.from == fromTask && c.plan.nodes[s.nodes[from.task]].Kind == KindHost:
			at := c.plan.nodes[s.nodes[from.task]].ID
			detail := "takes a result of " + at + ", which the host carries out itself"
			c.missing(s, Problem{Task: n.ID, Argument: a.name, Detail: detail}, Open{n.task.ID, a.name, n.tool.ID, shown(want)})
		case from != nil:
			c.reference(s, n.ID, a.name, from, want)
		case len(a.value.reads) == 0:
			wrong, _ := n.input.Check(a.value.plain(), a.path...) // none if not in properties: checked at run time
			for _, w := range wrong {
				c.wrong(n.ID, a.name, "%s", w)
			}
		default:
			c.inner(s, n.ID, a.name, a.value)
		}
	}
}

// place returns the path of an argument and its schema. A name with dots may mean a member of an object, as plans write
// it.
func place(in catalog.Schema, name string) (path []string, want catalog.Schema, found catalog.Presence) {
	want, found = in.Member(name)
	if found == catalog.Present || !strings.Contains(name, ".") {
		return []string{name}, want, found
	}
	path = strings.Split(name, ".")
	for _, part := range path {
		var inside catalog.Presence
		if in, inside = in.Member(part); inside != catalog.Present {
			return []string{name}, want, found
		}
	}
	return path, in, catalog.Present
}

// inner checks the references within an argument.
func (c *checker) inner(s *scope, path, argument string, v *value) {
	for _, read := range v.reads {
		if from, ok := read.(*reference); ok {
			c.reference(s, path, argument, from, catalog.Schema{})
		}
	}
}

// reference checks that the source of a value exists, and that its type is compatible with the wanted schema.
func (c *checker) reference(s *scope, path, argument string, r *reference, want catalog.Schema) {
	from, of := catalog.Schema{}, ""
	switch r.from {
	case fromIntent:
		if c.intent == "" {
			c.missing(s, Problem{Task: path, Argument: argument, Detail: "takes the intent, and there is none"},
				Open{Task: "intent", Schema: map[string]any{"type": "string", "description": "the purpose of the run"}})
			return
		}
		from = catalog.ReadSchema(json.RawMessage(`{"type":"string"}`))
	case fromParams:
		if s.given != nil {
			v, ok := follow(s.given, r.path)
			if !ok {
				at := Problem{Task: path, Argument: argument, Detail: r.text + " is not given"}
				if len(r.path) == 1 && r.path[0].index < 0 {
					c.missing(s, at, Open{Task: "params", Argument: r.path[0].name, Schema: shown(want)})
				} else {
					c.report(at)
				}
				return
			}
			if decoded, err := catalog.Decode(v); err == nil {
				if got, takes := catalog.TypesOf(decoded), want.Types(); got&takes == 0 {
					c.wrong(path, argument, "takes %s, and %s is %s", takes, r.text, got)
				}
			}
			return
		}
		from, of = s.params, "params"
	case fromTask:
		d := &c.plan.nodes[s.nodes[r.task]]
		if d.Kind == "" || d.Kind == KindHost {
			return // its tool is unknown, which is reported, or the host runs it and gives no result
		}
		from, of = catalog.ReadSchema(d.tool.OutputSchema), "the result of "+d.tool.ID
	}
	at, problem, doubt := followSchema(from, r.path)
	switch {
	case problem != "":
		c.wrong(path, argument, "%q: in %s, %s", r.text, of, problem)
		return
	case doubt != "":
		c.warn("task %q, argument %q: %q: in %s, %s", path, argument, r.text, of, doubt)
	}
	if got, takes := at.Types(), want.Types(); got&takes == 0 {
		c.wrong(path, argument, "takes %s, and %s is %s", takes, r.text, got)
	}
}

func (c *checker) outputTypes(s *scope) {
	c.inner(s, strings.TrimSuffix(s.prefix, "/"), "output", s.output)
	for _, read := range s.output.reads {
		for _, id := range tasksOf(read) {
			if _, ok := s.byID[id]; !ok {
				c.wrong(strings.TrimSuffix(s.prefix, "/"), "output", "there is no task %q", id)
			}
		}
	}
}
