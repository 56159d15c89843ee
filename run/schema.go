package run

import (
	"encoding/json"
	"slices"
	"strings"
)

// kinds is a set of JSON types, one bit each. Whole numbers and those with a fraction are two: an input
// that takes integers may well get one from an output that says number.
type kinds uint8

const (
	isNull kinds = 1 << iota
	isBool
	isWhole
	isFraction
	isString
	isList
	isObject

	isNumber = isWhole | isFraction
	isAny    = isNull | isBool | isNumber | isString | isList | isObject
)

var typeNames = []struct {
	kinds kinds
	name  string
}{
	{isNull, "null"}, {isBool, "boolean"}, {isNumber, "number"}, {isWhole, "integer"}, {isString, "string"}, {isList, "array"}, {isObject, "object"},
}

// named are the types of a word of JSON Schema; any for a word it does not have.
func named(word string) kinds {
	for _, t := range typeNames {
		if t.name == word {
			return t.kinds
		}
	}
	return isAny
}

func (t kinds) String() string {
	if t == isAny {
		return "anything"
	}
	var names []string
	for _, n := range typeNames {
		if t&n.kinds == n.kinds {
			names, t = append(names, n.name), t&^n.kinds
		}
	}
	return strings.Join(names, " or ")
}

// schema is a place in a JSON Schema. The zero schema says nothing.
type schema struct {
	root, at any
	budget   *int // places that may still be looked at: references may run in circles and fan out
}

const schemaBudget = 2000

// readSchema reads a schema. What makes no sense says nothing.
func readSchema(raw json.RawMessage) schema {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return schema{}
	}
	budget := schemaBudget
	return schema{v, v, &budget}
}

func (s schema) with(at any) schema { return schema{s.root, at, s.budget} }

// object is the schema as an object, with references into its own document followed. The compact form of
// data sets, a bare type, is one with that type.
func (s schema) object() map[string]any {
	for range 8 {
		if s.budget == nil || *s.budget <= 0 {
			return nil
		}
		*s.budget--
		switch at := s.at.(type) {
		case string:
			return map[string]any{"type": at}
		case map[string]any:
			ref, ok := at["$ref"].(string)
			path, local := strings.CutPrefix(ref, "#")
			if !ok || !local {
				return at
			}
			target := s.root
			for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
				if part == "" {
					continue
				}
				m, _ := target.(map[string]any)
				target = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
			}
			s.at = target
		default:
			return nil
		}
	}
	return nil
}

// branches are the schemas under anyOf and oneOf (or) or allOf.
func (s schema) branches(o map[string]any, keys ...string) []schema {
	var all []schema
	for _, key := range keys {
		list, _ := o[key].([]any)
		for _, e := range list {
			all = append(all, s.with(e))
		}
	}
	return all
}

// kinds are those that a value may have.
func (s schema) kinds() kinds {
	o := s.object()
	if o == nil {
		if s.at == false {
			return 0
		}
		return isAny
	}
	t := isAny
	switch of := o["type"].(type) {
	case string:
		t = named(of)
	case []any:
		t = 0
		for _, word := range of {
			w, _ := word.(string)
			t |= named(w)
		}
	}
	if values, ok := o["enum"].([]any); ok {
		t &= kindsOf(values...)
	}
	if v, ok := o["const"]; ok {
		t &= kindsOf(v)
	}
	if or := s.branches(o, "anyOf", "oneOf"); len(or) > 0 {
		var union kinds
		for _, b := range or {
			union |= b.kinds()
		}
		t &= union
	}
	for _, b := range s.branches(o, "allOf") {
		t &= b.kinds()
	}
	if t == isAny && o["properties"] != nil {
		t = isObject
	}
	return t
}

// kindsOf are the types of decoded values.
func kindsOf(values ...any) (t kinds) {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			t |= isNull
		case bool:
			t |= isBool
		case string:
			t |= isString
		case []any:
			t |= isList
		case map[string]any:
			t |= isObject
		case float64:
			t |= isFraction
			if v == float64(int64(v)) {
				t |= isWhole
			}
		}
	}
	return t
}

// found says whether a schema has a part.
type found uint8

const (
	perhaps found = iota // it does not say
	yes
	unlisted // it lists others, and does not forbid this one
	no
)

// member is the schema of a property.
func (s schema) member(name string) (schema, found) {
	o := s.object()
	if o == nil {
		return schema{}, perhaps
	}
	properties, lists := o["properties"].(map[string]any)
	if p, ok := properties[name]; ok {
		return s.with(p), yes
	}
	result, at := perhaps, schema{}
	var some []any
	for _, b := range s.branches(o, "allOf", "anyOf", "oneOf") {
		switch sub, f := b.member(name); f {
		case yes:
			some = append(some, sub.at)
		case unlisted, no:
			result = max(result, unlisted)
		}
	}
	if len(some) == 1 {
		return s.with(some[0]), yes
	}
	if len(some) > 1 {
		return s.with(map[string]any{"anyOf": some}), yes
	}
	additional, said := o["additionalProperties"]
	switch _, patterns := o["patternProperties"]; {
	case patterns:
		return schema{}, perhaps
	case said && additional == false && result == perhaps:
		return schema{}, no
	case said && additional != false && additional != true:
		return s.with(additional), yes
	case said && additional == true:
		return schema{}, perhaps
	case lists && len(properties) > 0:
		return at, unlisted
	}
	return at, result
}

// element is the schema of an element of a list.
func (s schema) element(i int) schema {
	o := s.object()
	if o == nil {
		return schema{}
	}
	if first, ok := o["prefixItems"].([]any); ok && i < len(first) {
		return s.with(first[i])
	}
	if items, ok := o["items"]; ok {
		if tuple, ok := items.([]any); ok { // up to draft 2019-09
			if i < len(tuple) {
				return s.with(tuple[i])
			}
			return schema{}
		}
		return s.with(items)
	}
	for _, b := range s.branches(o, "allOf", "anyOf", "oneOf") {
		if e := b.element(i); e.at != nil {
			return e
		}
	}
	return schema{}
}

// names are the properties that the schema lists, sorted.
func (s schema) names() []string {
	o := s.object()
	properties, _ := o["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	for _, b := range s.branches(o, "allOf") {
		names = append(names, b.names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// required are the properties that there must be, sorted.
func (s schema) required() []string {
	o := s.object()
	var names []string
	list, _ := o["required"].([]any)
	for _, e := range list {
		if name, ok := e.(string); ok {
			names = append(names, name)
		}
	}
	for _, b := range s.branches(o, "allOf") {
		names = append(names, b.required()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
