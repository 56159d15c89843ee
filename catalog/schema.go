package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Property is one named input or output of a tool.
type Property struct {
	Name        string // of a nested object: outer.inner
	Type        string // a JSON Schema type, several joined by |, or a data set's own word; "any" if not said
	Description string
	Required    bool
}

// maxProperties bounds what is read from one schema.
const maxProperties = 1000

// Properties lists what a schema names, sorted by name: the properties of the object and, one level
// down, those of objects in it (a.b). It reads JSON Schema (with local references, and the types of
// anyOf, oneOf and allOf joined) and the compact form of data sets, {"properties":{"query":"string"}}.
// From a schema that makes no sense it returns what it can.
func Properties(schema json.RawMessage) []Property { return properties(schema, false) }

// Results lists what [Properties] does, and the properties of the items of lists (a[].b).
func Results(schema json.RawMessage) []Property { return properties(schema, true) }

func properties(schema json.RawMessage, items bool) []Property {
	root := object(schema)
	if root == nil {
		return nil
	}
	r := reader{root: root, budget: maxSchemas, items: items}
	r.object(root, "", 0)
	slices.SortStableFunc(r.found, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(r.found, func(a, b Property) bool { return a.Name == b.Name })
}

// maxSchemas bounds the schemas looked at: references that fan out in a circle would multiply.
const maxSchemas = 2000

type reader struct {
	root   map[string]json.RawMessage
	found  []Property
	budget int  // schemas that may still be looked at
	items  bool // of lists are read
}

// object reads the properties of s, and of the schemas it is joined from.
func (r *reader) object(s map[string]json.RawMessage, prefix string, depth int) {
	if r.budget--; depth > 8 || r.budget < 0 { // references may run in circles
		return
	}
	s = r.follow(s)
	var required []string
	for _, e := range list(s["required"]) {
		required = append(required, text(e))
	}
	properties := object(s["properties"])
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(r.found) >= maxProperties {
			return
		}
		p := Property{Name: prefix + name, Type: "any", Required: prefix == "" && slices.Contains(required, name)}
		if word := text(properties[name]); word != "" { // compact form
			p.Type = word
			r.found = append(r.found, p)
			continue
		}
		inner := r.follow(object(properties[name]))
		p.Description = text(inner["description"])
		if t := r.types(inner, 0); len(t) > 0 {
			p.Type = strings.Join(t, "|")
		}
		r.found = append(r.found, p)
		if prefix == "" {
			r.object(inner, name+".", depth+1)
			if r.items {
				r.object(object(inner["items"]), name+"[].", depth+1)
			}
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, e := range list(s[key]) {
			r.object(object(e), prefix, depth+1)
		}
	}
}

// types lists the types that s admits, null apart, in the order they are named.
func (r *reader) types(s map[string]json.RawMessage, depth int) (types []string) {
	if r.budget--; depth > 8 || r.budget < 0 {
		return nil
	}
	add := func(t string) {
		if t != "" && t != "null" && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	add(text(s["type"]))
	for _, e := range list(s["type"]) {
		add(text(e))
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		for _, e := range list(s[key]) {
			for _, t := range r.types(r.follow(object(e)), depth+1) {
				add(t)
			}
		}
	}
	if len(types) == 0 {
		for _, e := range append(list(s["enum"]), s["const"]) {
			add(typeOf(e))
		}
	}
	if len(types) == 0 && object(s["properties"]) != nil {
		add("object")
	}
	return types
}

// follow replaces a schema that refers into its own document by what it refers to.
func (r *reader) follow(s map[string]json.RawMessage) map[string]json.RawMessage {
	for range 8 {
		path, ok := strings.CutPrefix(text(s["$ref"]), "#/")
		if !ok {
			return s
		}
		target := r.root
		for part := range strings.SplitSeq(path, "/") {
			part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			target = object(target[part])
		}
		if target == nil {
			return s
		}
		s = target
	}
	return nil
}

// typeOf is the JSON Schema type of a value, "" for nothing.
func typeOf(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if bytes.ContainsAny(v, ".eE") {
		return "number"
	}
	return "integer"
}

// object, list and text read a value if it has that type, and are empty if it has not.
func object(v json.RawMessage) (m map[string]json.RawMessage) {
	if typeOf(v) != "object" || json.Unmarshal(v, &m) != nil {
		return nil
	}
	return m
}

func list(v json.RawMessage) (l []json.RawMessage) {
	if typeOf(v) != "array" || json.Unmarshal(v, &l) != nil {
		return nil
	}
	return l
}

func text(v json.RawMessage) (s string) {
	if typeOf(v) != "string" || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
