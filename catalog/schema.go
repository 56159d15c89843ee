package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Types is a set of JSON types, one bit each. Integers and numbers with a fraction are separate bits: an input that
// takes integers may well get an integer from an output declared as number.
type Types uint8

const (
	isNull Types = 1 << iota
	isBool
	isWhole
	isFraction
	isString
	ListType
	ObjectType

	isNumber = isWhole | isFraction
	AnyType  = isNull | isBool | isNumber | isString | ListType | ObjectType
)

var typeNames = []struct {
	types Types
	name  string
}{
	{isNull, "null"}, {isBool, "boolean"}, {isNumber, "number"}, {isWhole, "integer"}, {isString, "string"},
	{ListType, "array"}, {ObjectType, "object"}, {isFraction, "number"},
}

// named returns the types for a type name of JSON Schema, AnyType for an unknown name.
func named(word string) Types {
	for _, t := range typeNames {
		if t.name == word {
			return t.types
		}
	}
	return AnyType
}

func (t Types) String() string {
	if t == AnyType {
		return "anything"
	}
	return strings.Join(t.names(), " or ")
}

func (t Types) names() (names []string) {
	for _, n := range typeNames {
		if t&n.types == n.types {
			names, t = append(names, n.name), t&^n.types
		}
	}
	return names
}

// TypesOf returns the types of decoded values.
func TypesOf(values ...any) (t Types) {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			t |= isNull
		case bool:
			t |= isBool
		case string:
			t |= isString
		case []any:
			t |= ListType
		case map[string]any:
			t |= ObjectType
		case json.Number:
			t |= isFraction
			if isWholeNumber(v) {
				t |= isWhole
			}
		}
	}
	return t
}

// A Schema is a position in a JSON Schema of any author: any draft, with local references, or the compact form of data
// sets, {"properties":{"query":"string"}}. Parts that are invalid count as absent, and the zero Schema allows anything.
type Schema struct {
	root, at any
	budget   *int // positions that may still be visited: references may be circular and fan out
}

const maxPlaces = 6000

// ReadSchema parses a schema. It returns a Schema that allows anything if raw is empty or not JSON.
func ReadSchema(raw json.RawMessage) Schema {
	v, _ := Decode(raw)
	return SchemaOf(v)
}

// SchemaOf returns the Schema of a decoded value.
func SchemaOf(v any) Schema { return Schema{v, v, new(maxPlaces)} }

func (s Schema) with(at any) Schema { return Schema{s.root, at, s.budget} }

// Object returns the schema as an object, with references into its own document resolved; nil if it is not an object.
func (s Schema) Object() map[string]any {
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
			s.at = s.root
			for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
				if m, _ := s.at.(map[string]any); part != "" {
					s.at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
				}
			}
		default:
			return nil
		}
	}
	return nil
}

// branches returns the schemas in the lists under the given keys (anyOf, oneOf, allOf).
func (s Schema) branches(o map[string]any, keys ...string) (all []Schema) {
	for _, key := range keys {
		list, _ := o[key].([]any)
		for _, e := range list {
			all = append(all, s.with(e))
		}
	}
	return all
}

// Types returns the types that a value may have.
func (s Schema) Types() Types {
	o := s.Object()
	if o == nil {
		if s.at == false {
			return 0
		}
		return AnyType
	}
	t := AnyType
	if words := words(o["type"]); words != nil {
		t = 0
		for _, word := range words {
			t |= named(word)
		}
	}
	if values, ok := o["enum"].([]any); ok {
		t &= TypesOf(values...)
	}
	if v, ok := o["const"]; ok {
		t &= TypesOf(v)
	}
	if or := s.branches(o, "anyOf", "oneOf"); len(or) > 0 {
		var union Types
		for _, b := range or {
			union |= b.Types()
		}
		t &= union
	}
	for _, b := range s.branches(o, "allOf") {
		t &= b.Types()
	}
	if t == AnyType && o["properties"] != nil {
		t = ObjectType
	}
	if o["nullable"] == true {
		t |= isNull
	}
	return t
}

// words returns the strings of a list, or a single string as a list.
func words(v any) (all []string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		if word, ok := e.(string); ok {
			all = append(all, word)
		}
	}
	return all
}

// Presence states whether a schema has a member.
type Presence uint8

const (
	Unsaid Presence = iota
	Present
	Unlisted // other members are listed, and this one is not forbidden
	Absent
)

// Member returns the schema of a property.
func (s Schema) Member(name string) (Schema, Presence) {
	o := s.Object()
	properties, _ := o["properties"].(map[string]any)
	if p, ok := properties[name]; ok {
		return s.with(p), Present
	}
	result := Unsaid
	var some []any
	for _, b := range s.branches(o, "allOf", "anyOf", "oneOf") {
		switch sub, f := b.Member(name); f {
		case Present:
			some = append(some, sub.at)
		case Unlisted, Absent:
			result = Unlisted
		}
	}
	switch len(some) {
	case 0:
	case 1:
		return s.with(some[0]), Present
	default:
		return s.with(map[string]any{"anyOf": some}), Present
	}
	additional, said := o["additionalProperties"]
	switch _, patterns := o["patternProperties"]; {
	case patterns, additional == true:
		return Schema{}, Unsaid
	case said && additional != false:
		return s.with(additional), Present
	case said && result == Unsaid:
		return Schema{}, Absent
	case len(properties) > 0:
		return Schema{}, Unlisted
	}
	return Schema{}, result
}

// Element returns the schema of the elements of a list, except of a tuple.
func (s Schema) Element() Schema {
	o := s.Object()
	if _, tuple := o["prefixItems"]; tuple {
		return Schema{}
	}
	return s.with(o["items"])
}

// Names returns the properties that the schema lists, sorted.
func (s Schema) Names() []string {
	return s.union(func(o map[string]any) []string {
		properties, _ := o["properties"].(map[string]any)
		return slices.Collect(maps.Keys(properties))
	})
}

// Required returns the required properties, sorted.
func (s Schema) Required() []string {
	return s.union(func(o map[string]any) []string {
		list, _ := o["required"].([]any)
		return words(list)
	})
}

func (s Schema) union(of func(map[string]any) []string) []string {
	o := s.Object()
	names := of(o)
	for _, b := range s.branches(o, "allOf") {
		names = append(names, b.union(of)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Property is one named input or output of a tool.
type Property struct {
	Name        string // of a nested object: outer.inner
	Type        string // JSON Schema types, without null, joined by |; "any" if not specified
	Description string
	Required    bool
}

// Properties returns the properties in a schema, sorted by name: those of the object and, one level down, those of the
// objects in it (a.b). Properties of anyOf, oneOf and allOf are merged.
func Properties(schema json.RawMessage) []Property { return properties(schema, false) }

// Results returns the same as [Properties], and also the properties of list items (a[].b).
func Results(schema json.RawMessage) []Property { return properties(schema, true) }

func properties(schema json.RawMessage, items bool) (found []Property) {
	var object func(s Schema, prefix string)
	object = func(s Schema, prefix string) { // including those of allOf, anyOf and oneOf
		o := s.Object()
		properties, _ := o["properties"].(map[string]any)
		required, _ := o["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			inner := s.with(properties[name])
			of := inner.Object()
			p := Property{Name: prefix + name, Type: "any", Required: prefix == "" && slices.Contains(required, any(name))}
			p.Description, _ = of["description"].(string)
			if t := inner.Types(); t != AnyType && t&^isNull != 0 {
				p.Type = strings.Join((t &^ isNull).names(), "|")
			}
			found = append(found, p)
			if prefix == "" {
				object(inner, name+".")
				if items {
					object(inner.Element(), name+"[].")
				}
			}
		}
		for _, b := range s.branches(o, "allOf", "anyOf", "oneOf") {
			object(b, prefix)
		}
	}
	object(ReadSchema(schema), "")
	slices.SortStableFunc(found, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(found, func(a, b Property) bool { return a.Name == b.Name })
}
