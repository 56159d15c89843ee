package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits on what is stored, in bytes unless another unit is named. They are far above what real
// catalogs hold (of 24,000 tools of public data sets the longest id has 115 bytes and the longest
// description 1,152) and keep one entry below the largest payload that storage takes.
const (
	MaxID          = 256
	MaxName        = 256
	MaxDescription = 8 << 10
	MaxIntent      = 8 << 10
	MaxSchema      = 64 << 10
	MaxSchemaDepth = 32 // levels of nesting
	maxArguments   = 64 << 10
	MaxTools       = 256 // tools of a capability
	MaxTasks       = 256 // tasks of a capability
	maxRequires    = 256 // tools that a tool requires
	MaxEntry       = 240 << 10
)

// Normalise puts a tool into the one form in which it is stored (normal form C, trimmed, invisible
// characters out of the texts, schemas without space), or says which field of which tool is wrong.
// A tool without an id takes it from server and name, a tool without a name keeps its id as one.
// What it requires is sorted, each once.
func (t *Tool) Normalise() error {
	if t.ID == "" && t.Name != "" {
		t.ID = ID(t.Server, t.Name)
	}
	return fix("tool", &t.ID, func() (err error) {
		if t.Name == "" {
			t.Name = t.ID
			if rest, ok := strings.CutPrefix(t.ID, t.Server+":"); ok && rest != "" && t.Server != "" {
				t.Name = rest
			}
		}
		if t.Name, err = Identifier("name", t.Name, MaxName); err != nil {
			return err
		}
		if t.Server, err = Identifier("server", t.Server, MaxName); err != nil {
			return err
		}
		if t.Domain, err = Identifier("domain", t.Domain, MaxName); err != nil {
			return err
		}
		if t.Description, err = Prose("description", t.Description, MaxDescription); err != nil {
			return err
		}
		if t.InputSchema, err = normalSchema("input schema", t.InputSchema); err != nil {
			return err
		}
		if t.OutputSchema, err = normalSchema("output schema", t.OutputSchema); err != nil {
			return err
		}
		if t.Annotations != nil {
			if t.Annotations.Title, err = Prose("title", t.Annotations.Title, MaxName); err != nil {
				return err
			}
		}
		if t.Requires, err = normalRequires(t.Requires, t.ID); err != nil {
			return err
		}
		return checkSize(t)
	})
}

// normalRequires are the distinct ids, sorted, without the tool itself.
func normalRequires(ids []string, self string) ([]string, error) {
	var all []string
	for _, id := range ids {
		id, err := Identifier("requires", id, MaxID)
		if err != nil {
			return nil, err
		}
		if id == "" {
			return nil, errors.New("it requires a tool without an id")
		}
		if id != self {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > maxRequires {
		return nil, fmt.Errorf("it requires %d tools, the limit is %d", len(all), maxRequires)
	}
	return all, nil
}

// Normalise puts a capability into the one form in which it is stored: as for a tool, and its tools
// distinct, in the order of first use, with the tools of its tasks among them. Tasks must form a
// directed acyclic graph.
func (c *Capability) Normalise() error {
	return fix("capability", &c.ID, func() (err error) {
		if c.Name == "" {
			c.Name = c.ID
		}
		if c.Name, err = Identifier("name", c.Name, MaxName); err != nil {
			return err
		}
		if c.Description, err = Prose("description", c.Description, MaxDescription); err != nil {
			return err
		}
		if c.Intent, err = Prose("intent", c.Intent, MaxIntent); err != nil {
			return err
		}
		if c.InputSchema, err = normalSchema("input schema", c.InputSchema); err != nil {
			return err
		}
		if c.OutputSchema, err = normalSchema("output schema", c.OutputSchema); err != nil {
			return err
		}
		if err = c.normaliseTasks(); err != nil {
			return err
		}
		if err = c.normaliseTools(); err != nil {
			return err
		}
		return checkSize(c)
	})
}

func (c *Capability) normaliseTasks() error {
	if len(c.Tasks) > MaxTasks {
		return fmt.Errorf("%d tasks, the limit is %d", len(c.Tasks), MaxTasks)
	}
	ids, dependsOn := make([]string, len(c.Tasks)), make([][]string, len(c.Tasks))
	size := 0
	for i := range c.Tasks {
		t := &c.Tasks[i]
		var err error
		if t.ID, err = Identifier(fmt.Sprintf("id of task %d", i+1), t.ID, MaxID); err != nil {
			return err
		}
		if t.Tool, err = Identifier(fmt.Sprintf("tool of task %q", t.ID), t.Tool, MaxID); err != nil {
			return err
		}
		if t.Tool == "" {
			return fmt.Errorf("task %q has no tool", t.ID)
		}
		for j := range t.DependsOn {
			if t.DependsOn[j], err = Identifier(fmt.Sprintf("depends_on of task %q", t.ID), t.DependsOn[j], MaxID); err != nil {
				return err
			}
		}
		slices.Sort(t.DependsOn)
		t.DependsOn = slices.Compact(t.DependsOn)
		for name, value := range t.Arguments {
			if !json.Valid(value) {
				return fmt.Errorf("argument %.80q of task %q is not JSON", name, t.ID)
			}
			size += len(name) + len(value)
		}
		ids[i], dependsOn[i] = t.ID, t.DependsOn
	}
	if size > maxArguments {
		return fmt.Errorf("arguments of all tasks are %d bytes long, the limit is %d", size, maxArguments)
	}
	return CheckDAG("task", ids, dependsOn)
}

func (c *Capability) normaliseTools() error {
	all := slices.Clone(c.Tools)
	for _, t := range c.Tasks {
		all = append(all, t.Tool)
	}
	seen := make(map[string]bool, len(all))
	tools := make([]string, 0, len(all))
	for _, tool := range all {
		tool, err := Identifier("tool", tool, MaxID)
		switch {
		case err != nil:
			return err
		case tool == "":
			return errors.New("a tool without an id")
		case tool == c.ID:
			return errors.New("it lists itself as a tool")
		case !seen[tool]:
			seen[tool] = true
			tools = append(tools, tool)
		}
	}
	if len(tools) > MaxTools {
		return fmt.Errorf("%d tools, the limit is %d", len(tools), MaxTools)
	}
	c.Tools = tools
	return nil
}

// fix normalises the id, then the rest, and names the thing in what goes wrong.
func fix(noun string, id *string, rest func() error) (err error) {
	if *id, err = Identifier("id", *id, MaxID); err != nil {
		return fmt.Errorf("%s: %w", noun, err)
	}
	if *id == "" {
		return fmt.Errorf("%s has no id", noun)
	}
	if err := rest(); err != nil {
		return fmt.Errorf("%s %q: %w", noun, *id, err)
	}
	return nil
}

func normalSchema(field string, schema json.RawMessage) (json.RawMessage, error) {
	switch typeOf(schema) {
	case "", "null":
		return nil, nil
	case "object", "boolean":
	default:
		return nil, fmt.Errorf("%s is no JSON object", field)
	}
	if len(schema) > MaxSchema {
		return nil, fmt.Errorf("%s is %d bytes long, the limit is %d", field, len(schema), MaxSchema)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, schema); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if d := nesting(b.Bytes()); d > MaxSchemaDepth {
		return nil, fmt.Errorf("%s is nested %d deep, the limit is %d", field, d, MaxSchemaDepth)
	}
	return b.Bytes(), nil
}

// nesting is the greatest number of brackets open at once in a valid JSON text.
func nesting(v []byte) (deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return deepest
}

func checkSize(v any) error {
	b, err := json.Marshal(v)
	if err == nil && len(b) > MaxEntry {
		err = fmt.Errorf("%d bytes as JSON, the limit is %d", len(b), MaxEntry)
	}
	return err
}
