// Package contract says what is different between two versions of the tools of a server, whether it breaks callers, and
// which stored requests, paths, plans and argument wires it concerns.
//
//	was, now ──▶ Compare ──▶ changes ──▶ Affected ◀── episodes, capabilities
//
// The order of keys, of tools and of lists whose order JSON Schema gives no meaning, and white space in texts, are no change.
package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/catalog/inspect"
	"waymark/run"
)

// Severity says what a change means for callers.
type Severity string

const (
	Breaking   Severity = "breaking"   // calls or readers of results that were right may now be wrong
	Review     Severity = "review"     // calls still fit, but the meaning may be another
	Compatible Severity = "compatible" // nothing that was right is wrong now
)

// The kinds of change.
const (
	ToolRemoved      = "tool_removed"
	ToolAdded        = "tool_added"
	FieldRemoved     = "field_removed"
	FieldRenamed     = "field_renamed"
	FieldAdded       = "field_added"
	RequiredAdded    = "required_added"
	RequiredRemoved  = "required_removed"
	TypeChanged      = "type_changed"
	EnumChanged      = "enum_changed"
	SchemaChanged    = "schema_changed" // another rule of a schema
	TextChanged      = "text_changed"
	TextSuspicious   = "text_suspicious"
	AnnotationChange = "annotation_changed"
)

// Change is one difference between two versions of a tool.
type Change struct {
	Tool     string   `json:"tool"`
	Kind     string   `json:"kind"`
	Part     string   `json:"part,omitempty"` // input, output or description
	Path     string   `json:"path,omitempty"` // of the field, with [] for any item of a list
	Severity Severity `json:"severity"`
	Detail   string   `json:"detail"`
}

// Compare lists what is different, by tool, in the order of the parts and paths. Texts are looked at beside the tools of
// other servers.
func Compare(was, now, others []catalog.Tool) []Change {
	older, newer := byID(was), byID(now)
	known := inspect.NewCatalog()
	for _, t := range slices.Concat(now, others) {
		known.Add(t.ID, t.Server, t.Name)
	}
	d := &differ{}
	for _, id := range slices.Sorted(maps.Keys(union(older, newer))) {
		a, had := older[id]
		b, has := newer[id]
		d.tool = id
		before := len(d.found)
		switch {
		case !has:
			d.add(ToolRemoved, "", "", Breaking, "its server does not offer it%s", d.successor(a, older, newer))
			continue
		case !had:
			d.add(ToolAdded, "", "", Compatible, "it is new")
		default:
			d.compare(&a, &b)
		}
		if len(d.found) > before {
			d.suspect(&a, &b, known)
		}
	}
	return d.found
}

func byID(tools []catalog.Tool) map[string]catalog.Tool {
	all := make(map[string]catalog.Tool, len(tools))
	for _, t := range tools {
		all[t.ID] = t
	}
	return all
}

func union[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

type differ struct {
	tool  string
	part  string
	found []Change
}

func (d *differ) add(kind, part, path string, s Severity, format string, args ...any) {
	d.found = append(d.found, Change{d.tool, kind, part, path, s, catalog.Cut(fmt.Sprintf(format, args...), 300)})
}

// successor names the new tool that has the contract of a removed one.
func (d *differ) successor(t catalog.Tool, before, after map[string]catalog.Tool) string {
	for _, id := range slices.Sorted(maps.Keys(after)) {
		o := after[id]
		if _, there := before[id]; !there && o.Server == t.Server && spaced(o.Description) == spaced(t.Description) &&
			same(o.InputSchema, t.InputSchema) && same(o.OutputSchema, t.OutputSchema) {
			return "; " + id + " has its contract"
		}
	}
	return ""
}

func (d *differ) compare(a, b *catalog.Tool) {
	if spaced(a.Description) != spaced(b.Description) {
		d.add(TextChanged, "description", "", Review, "was %q, is %q", catalog.Cut(a.Description, 100), catalog.Cut(b.Description, 100))
	}
	d.part = "input"
	d.schema("", decoded(a.InputSchema), decoded(b.InputSchema))
	d.part = "output"
	d.schema("", decoded(a.OutputSchema), decoded(b.OutputSchema))
	d.annotations(a, b)
}

func (d *differ) annotations(a, b *catalog.Tool) {
	text := func(t *catalog.Tool) string {
		if t.Annotations == nil {
			return "{}"
		}
		text, _ := json.Marshal(t.Annotations) // bools and a title: cannot fail
		return string(text)
	}
	was, is := text(a), text(b)
	if was == is {
		return
	}
	severity, more := Review, ""
	if run.Asks(*a) == "" && run.Asks(*b) != "" {
		severity, more = Breaking, ": calls of it need a grant now"
	}
	d.add(AnnotationChange, "", "", severity, "was %s, is %s%s", was, is, more)
}

// suspect reports texts that address the model where the version before had none.
func (d *differ) suspect(a, b *catalog.Tool, known *inspect.Catalog) {
	before := map[string]bool{}
	for _, f := range known.Entry(inspect.OfTool(a)) {
		before[f.Check] = true
	}
	for _, f := range known.Entry(inspect.OfTool(b)) {
		if f.Severity == inspect.Quarantine && !before[f.Check] {
			d.add(TextSuspicious, "", "", Breaking, "%s", f.Detail)
		}
	}
}

// schema compares two schemas at a path.
func (d *differ) schema(path string, was, now any) {
	a, isA := was.(map[string]any)
	b, isB := now.(map[string]any)
	switch {
	case normal(was) == normal(now):
		return
	case was == nil && d.part == "output":
		d.add(SchemaChanged, d.part, path, Compatible, "it has a schema now")
		return
	case !isA || !isB:
		d.add(SchemaChanged, d.part, path, Breaking, "was %s, is %s", shown(was), shown(now))
		return
	}
	before := len(d.found)
	for _, key := range slices.Sorted(maps.Keys(union(a, b))) {
		d.keyword(path, key, a, b)
	}
	if len(d.found) == before { // nothing that differs may stay unsaid
		d.add(SchemaChanged, d.part, path, Review, "was %s, is %s", shown(was), shown(now))
	}
}

func (d *differ) keyword(path, key string, a, b map[string]any) {
	was, had := a[key]
	is, has := b[key]
	if had == has && normal(was) == normal(is) {
		return
	}
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		d.fields(path, key, a, b)
	case "required":
		d.required(path, texts(was), texts(is), b)
	case "type":
		d.narrowed(TypeChanged, path, kinds(was), kinds(is))
	case "enum":
		d.narrowed(EnumChanged, path, texts(was), texts(is))
	case "items", "contains", "not", "if", "then", "else", "propertyNames":
		suffix := map[string]string{"items": "[]"}[key]
		if had && has {
			d.schema(path+suffix, was, is)
			return
		}
		d.add(SchemaChanged, d.part, path, Breaking, "%s was %s, is %s", key, shown(was), shown(is))
	case "anyOf", "oneOf", "allOf", "prefixItems":
		d.branches(path, key, was, is)
	case "description", "title", "examples", "$comment", "default":
		d.add(TextChanged, d.part, path, Review, "%s was %s, is %s", key, shown(was), shown(is))
	default:
		d.add(SchemaChanged, d.part, path, Breaking, "%s was %s, is %s", key, shown(was), shown(is))
	}
}

func (d *differ) branches(path, key string, was, is any) {
	a, _ := was.([]any)
	b, _ := is.([]any)
	var gone, fresh []any
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y any) bool { return normal(x) == normal(y) }) {
			gone = append(gone, x)
		}
	}
	for _, y := range b {
		if !slices.ContainsFunc(a, func(x any) bool { return normal(x) == normal(y) }) {
			fresh = append(fresh, y)
		}
	}
	if len(gone) == 1 && len(fresh) == 1 {
		d.schema(path, gone[0], fresh[0])
		return
	}
	d.add(SchemaChanged, d.part, path, Breaking, "%s was %s, is %s", key, shown(was), shown(is))
}

// fields compares members by name. A member that went and one that came with the same schema were renamed.
func (d *differ) fields(path, key string, was, now map[string]any) {
	a, _ := was[key].(map[string]any)
	b, _ := now[key].(map[string]any)
	if path != "" && key == "properties" {
		path += "."
	}
	if key != "properties" {
		path += key + "."
	}
	renamed := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, still := b[name]; still {
			d.schema(path+name, a[name], b[name])
			continue
		}
		for _, other := range slices.Sorted(maps.Keys(b)) {
			if _, old := a[other]; !old && renamed[other] == "" && normal(a[name]) == normal(b[other]) {
				renamed[other] = name
				d.add(FieldRenamed, d.part, path+name, Breaking, "it is called %s", other)
				break
			}
		}
		if !slices.Contains(slices.Collect(maps.Values(renamed)), name) {
			d.add(FieldRemoved, d.part, path+name, Breaking, "it is gone")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, old := a[name]; !old && renamed[name] == "" {
			d.add(FieldAdded, d.part, path+name, Compatible, "it is new")
		}
	}
}

func (d *differ) required(path string, was, is []string, now map[string]any) {
	if path != "" {
		path += "."
	}
	properties, _ := now["properties"].(map[string]any)
	added, removed := Breaking, Compatible
	if d.part == "output" {
		added, removed = removed, added
	}
	for _, name := range is {
		if !slices.Contains(was, name) {
			d.add(RequiredAdded, d.part, path+unquoted(name), added, "it is required")
		}
	}
	for _, name := range was {
		if _, still := properties[unquoted(name)]; !slices.Contains(is, name) && still { // that it went is said
			d.add(RequiredRemoved, d.part, path+unquoted(name), removed, "it is not required any more")
		}
	}
}

// narrowed compares sets of what is allowed: of an input nothing may go, of an output nothing may come. None are all.
func (d *differ) narrowed(kind, path string, was, is []string) {
	more := len(is) == 0 || len(was) > 0 && subset(was, is)
	less := len(was) == 0 || len(is) > 0 && subset(is, was)
	severity := Breaking
	if d.part == "input" && more || d.part == "output" && less {
		severity = Compatible
	}
	d.add(kind, d.part, path, severity, "was %s, is %s", orAny(was), orAny(is))
}

func orAny(set []string) string { return cmp.Or(strings.Join(set, " "), "anything") }

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}

// kinds are the types that a value of type names; every integer is a number.
func kinds(v any) []string {
	set := texts(v)
	if slices.Contains(set, `"number"`) && !slices.Contains(set, `"integer"`) {
		set = append(set, `"integer"`)
		slices.Sort(set)
	}
	return set
}

// texts are the members of a list, or the one value, as JSON, sorted.
func texts(v any) (all []string) {
	list, isList := v.([]any)
	if !isList && v != nil {
		list = []any{v}
	}
	for _, x := range list {
		all = append(all, normal(x))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func unquoted(text string) (s string) {
	_ = json.Unmarshal([]byte(text), &s) // anything else names no member
	return s
}

func decoded(schema json.RawMessage) (v any) {
	c := catalog.Canonical(schema)
	if len(c) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(c))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(c) // no JSON is compared as it stands
	}
	return v
}

func same(a, b json.RawMessage) bool { return normal(decoded(a)) == normal(decoded(b)) }

// normal is a value as text: equal for values that mean the same as part of a schema.
func normal(v any) string {
	var b strings.Builder
	write(&b, v)
	return b.String()
}

func write(b *strings.Builder, v any) {
	switch x := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, key := range slices.Sorted(maps.Keys(x)) {
			value := x[key]
			text, isText := value.(string)
			list, isList := value.([]any)
			switch {
			case isText && (key == "description" || key == "title" || key == "$comment"):
				value = spaced(text)
			case isList && (key == "anyOf" || key == "oneOf" || key == "allOf"):
				value = texts(list)
			}
			fmt.Fprintf(b, "%q:", key)
			write(b, value)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, e := range x {
			write(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	default:
		text, _ := json.Marshal(v) // decoded from JSON, or texts: cannot fail
		b.Write(text)
	}
}

func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	text, _ := json.Marshal(v) // decoded from JSON: cannot fail
	return catalog.Cut(string(text), 120)
}

// spaced is a text with one space where it has white space.
func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }
