package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// HostSchema returns the input or output schema of a tool in the form that every MCP host accepts. The official
// TypeScript SDK refuses a whole tools/list if one value under properties is a boolean schema, so true becomes {}
// and false becomes {"not":{}} wherever a schema can stand; additionalProperties and its relatives keep their
// booleans, which hosts expect there. A missing schema or type means an object. The error says why a schema
// cannot be published. Numbers stay as they are, and so does the order of keys where nothing has to change.
func HostSchema(schema json.RawMessage) (json.RawMessage, error) {
	if k := typeOf(schema); k == "" || k == "null" {
		return json.RawMessage(`{"type":"object"}`), nil
	} else if k != "object" {
		return nil, fmt.Errorf("the schema is a JSON %s, want an object", k)
	}
	same := jsontext.Value(bytes.Clone(schema))
	if err := same.Compact(jsontext.AllowDuplicateNames(false)); err != nil { // repeated names are errors, too
		return nil, fmt.Errorf("the schema cannot be decoded: %w", err)
	}
	var w hostWriter
	out, err := w.value(json.RawMessage(same), asTool, "")
	if err == nil && !w.changed {
		return json.RawMessage(same), nil
	}
	return out, err
}

// role is the meaning of a JSON value inside a schema. Unlike [place] it tells keywords that contain schemas from
// all others: uniqueItems and deprecated have booleans too.
type role uint8

const (
	asValue   role = iota // plain data
	asTool                // the schema of a tool: an object of type object
	asSchema              // a schema
	asLenient             // a schema that may stay a boolean
	asSchemas             // a list of schemas, or one
	asNames               // schemas by name
)

// keywords maps the keywords that contain schemas to the role of their value.
var keywords = map[string]role{
	"properties": asNames, "patternProperties": asNames, "$defs": asNames, "definitions": asNames, "dependentSchemas": asNames,
	"allOf": asSchemas, "anyOf": asSchemas, "oneOf": asSchemas, "prefixItems": asSchemas, "items": asSchemas,
	"contains": asSchema, "not": asSchema, "if": asSchema, "then": asSchema, "else": asSchema, "propertyNames": asSchema, "contentSchema": asSchema,
	"additionalProperties": asLenient, "unevaluatedProperties": asLenient, "unevaluatedItems": asLenient, "additionalItems": asLenient,
}

type hostWriter struct{ changed bool }

// value returns the value at a JSON pointer in the form for hosts.
func (w *hostWriter) value(v json.RawMessage, r role, at string) (json.RawMessage, error) {
	kind := typeOf(v)
	switch {
	case r == asValue, r == asLenient && kind == "boolean":
		return v, nil
	case kind == "object":
		return w.object(object(v), r, at)
	case kind == "array" && r == asSchemas:
		all := list(v)
		for i, e := range all {
			var err error
			if all[i], err = w.value(e, asSchema, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return nil, err
			}
		}
		return json.Marshal(all)
	case kind == "boolean" && r != asNames:
		w.changed = true
		if v[0] == 't' {
			return json.RawMessage(`{}`), nil
		}
		return json.RawMessage(`{"not":{}}`), nil
	}
	return nil, fmt.Errorf("%s in the schema is a JSON %s, want an object", at, kind)
}

// object returns a schema, or schemas by name. Of type and required of a tool's schema hosts accept one form only.
func (w *hostWriter) object(members map[string]json.RawMessage, r role, at string) (json.RawMessage, error) {
	if r == asTool {
		var names []*string
		kind, typed := members["type"]
		required, given := members["required"]
		switch {
		case typed && text(kind) != "object":
			return nil, fmt.Errorf("the type of the schema is %s, want \"object\"", Cut(string(kind), 100))
		case given && (typeOf(required) != "array" || json.Unmarshal(required, &names) != nil || slices.Contains(names, nil)):
			return nil, fmt.Errorf("required in the schema is %s, want a list of strings", Cut(string(required), 100))
		case !typed:
			members["type"], w.changed = json.RawMessage(`"object"`), true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		inner := keywords[key]
		if r == asNames {
			inner = asSchema
		}
		var err error
		if members[key], err = w.value(members[key], inner, at+"/"+key); err != nil {
			return nil, err
		}
	}
	return json.Marshal(members)
}
