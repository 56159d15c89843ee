package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Limits of stored entries, in bytes unless another unit is named. They are far above the values in
// real catalogs (of 24,000 tools of public data sets the longest id has 115 bytes and the longest
// description 1,152) and keep one entry below the largest payload that storage accepts.
const (
	MaxID          = 256
	MaxName        = 256
	MaxDescription = 8 << 10
	MaxIntent      = 8 << 10
	MaxSchema      = 64 << 10
	maxArguments   = 64 << 10
	MaxTools       = 256 // tools of a capability
	MaxTasks       = 256 // tasks of a capability
	maxRequires    = 256 // tools that a tool requires
	MaxEntry       = 240 << 10
)

// Normalise converts a tool to its stored form (normal form C, trimmed, texts without invisible
// characters, schemas without spaces), or returns an error that names the tool and the wrong field. A
// tool without an id gets it from server and name; a tool without a name gets it from the id. Required
// tools are sorted and distinct.
func (t *Tool) Normalise() error {
	if t.ID == "" && t.Name != "" {
		t.ID = ID(t.Server, t.Name)
	}
	return fix("tool", &t.ID, func(f *Fields) {
		if t.Name == "" {
			t.Name = t.ID
			if rest, ok := strings.CutPrefix(t.ID, t.Server+":"); ok && rest != "" && t.Server != "" {
				t.Name = rest
			}
		}
		f.Name("name", &t.Name, MaxName)
		f.Name("server", &t.Server, MaxName)
		f.Name("domain", &t.Domain, MaxName)
		f.Prose("description", &t.Description, MaxDescription)
		f.schema("input schema", &t.InputSchema)
		f.schema("output schema", &t.OutputSchema)
		if t.Annotations != nil {
			f.Prose("title", &t.Annotations.Title, MaxName)
		}
		requires := slices.DeleteFunc(f.distinct("requires", t.Requires), func(id string) bool { return id == t.ID })
		t.Requires = append([]string(nil), slices.Sorted(slices.Values(requires))...) // nil if empty
		if n := len(t.Requires); n > maxRequires {
			f.Fail("it requires %d tools, the limit is %d", n, maxRequires)
		}
	})
}

// Normalise converts a capability to its stored form: as for a tool, and with distinct tools in order
// of first use, including the tools of its tasks. Tasks must form a directed acyclic graph.
func (c *Capability) Normalise() error {
	return fix("capability", &c.ID, func(f *Fields) {
		c.Name = cmp.Or(c.Name, c.ID)
		f.Name("name", &c.Name, MaxName)
		f.Prose("description", &c.Description, MaxDescription)
		f.Prose("intent", &c.Intent, MaxIntent)
		f.schema("input schema", &c.InputSchema)
		f.schema("output schema", &c.OutputSchema)
		c.normaliseTasks(f)
		all := slices.Clone(c.Tools)
		for _, t := range c.Tasks {
			all = append(all, t.Tool)
		}
		c.Tools = f.distinct("tools", all)
		if slices.Contains(c.Tools, c.ID) {
			f.Fail("it lists itself as a tool")
		}
		if n := len(c.Tools); n > MaxTools {
			f.Fail("%d tools, the limit is %d", n, MaxTools)
		}
	})
}

func (c *Capability) normaliseTasks(f *Fields) {
	if len(c.Tasks) > MaxTasks {
		f.Fail("%d tasks, the limit is %d", len(c.Tasks), MaxTasks)
		return
	}
	ids, dependsOn := make([]string, len(c.Tasks)), make([][]string, len(c.Tasks))
	size := 0
	for i := range c.Tasks {
		t := &c.Tasks[i]
		f.Name(fmt.Sprintf("id of task %d", i+1), &t.ID, MaxID)
		f.Name(fmt.Sprintf("tool of task %q", t.ID), &t.Tool, MaxID)
		if t.Tool == "" {
			f.Fail("task %q has no tool", t.ID)
		}
		for j := range t.DependsOn {
			f.Name(fmt.Sprintf("depends_on of task %q", t.ID), &t.DependsOn[j], MaxID)
		}
		slices.Sort(t.DependsOn)
		t.DependsOn = slices.Compact(t.DependsOn)
		for name, value := range t.Arguments {
			if !json.Valid(value) {
				f.Fail("argument %.80q of task %q is not JSON", name, t.ID)
			}
			size += len(name) + len(value)
		}
		ids[i], dependsOn[i] = t.ID, t.DependsOn
	}
	if size > maxArguments {
		f.Fail("arguments of all tasks are %d bytes long, the limit is %d", size, maxArguments)
	}
	if f.Err == nil {
		_, f.Err = Layers("task", ids, dependsOn)
	}
}

// Fields normalises the fields of one entry and stops at the first wrong field.
type Fields struct{ Err error }

// Note records an error unless one is recorded already.
func (f *Fields) Note(err error) { f.Err = cmp.Or(f.Err, err) }

// Fail records an error with this message unless one is recorded already.
func (f *Fields) Fail(format string, args ...any) {
	if f.Err == nil {
		f.Err = fmt.Errorf(format, args...)
	}
}

// Name normalises an identifier; see [Identifier].
func (f *Fields) Name(field string, s *string, limit int) {
	if f.Err == nil {
		*s, f.Err = Identifier(field, *s, limit)
	}
}

// Prose normalises a text; see [Prose].
func (f *Fields) Prose(field string, s *string, limit int) {
	if f.Err == nil {
		*s, f.Err = Prose(field, *s, limit)
	}
}

func (f *Fields) schema(field string, s *json.RawMessage) {
	if f.Err == nil {
		*s, f.Err = normalSchema(field, *s)
	}
}

// distinct normalises ids and keeps the first of equal ones.
func (f *Fields) distinct(field string, ids []string) []string {
	seen := make(map[string]bool, len(ids))
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		if f.Name(field, &id, MaxID); id == "" {
			f.Fail("%s: a tool without an id", field)
		}
		if !seen[id] {
			seen[id], all = true, append(all, id)
		}
	}
	return all
}

// fix normalises the id of an entry, then the other fields, and names the entry in the error.
func fix(noun string, id *string, rest func(*Fields)) error {
	var f Fields
	if f.Name("id", id, MaxID); f.Err != nil {
		return fmt.Errorf("%s: %w", noun, f.Err)
	}
	if *id == "" {
		return fmt.Errorf("%s has no id", noun)
	}
	if rest(&f); f.Err != nil {
		return fmt.Errorf("%s %q: %w", noun, *id, f.Err)
	}
	return nil
}

func normalSchema(field string, schema json.RawMessage) (json.RawMessage, error) {
	schema = bytes.TrimSpace(schema)
	switch {
	case len(schema) == 0, string(schema) == "null":
		return nil, nil
	case !bytes.ContainsAny(schema[:1], "{tf"):
		return nil, fmt.Errorf("%s is not a JSON object", field)
	}
	if len(schema) > MaxSchema {
		return nil, fmt.Errorf("%s is %d bytes long, the limit is %d", field, len(schema), MaxSchema)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, schema); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return b.Bytes(), nil
}
