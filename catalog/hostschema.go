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
// TypeScript SDK rejects a whole tools/list if one value under properties is a boolean schema, so true becomes {} and
// false becomes {"not":{}} wherever a schema is expected; additionalProperties and its relatives keep their booleans,
// which hosts accept there. Servers write an empty list or null for an empty object or an absent value: HostSchema
// corrects these, and keeps only the strings of required. A missing schema or type means an object. The error is the
// reason why a schema cannot be published. Numbers are unchanged, and so is the order of keys if nothing else changes.
func HostSchema(schema json.RawMessage) (json.RawMessage, error) {
	same := jsontext.Value(bytes.Clone(bytes.TrimSpace(schema)))
	if len(same) == 0 || string(same) == "null" {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	if err := same.Compact(jsontext.AllowDuplicateNames(false)); err != nil { // duplicate names are errors, too
		return nil, fmt.Errorf("the schema cannot be decoded: %w", err)
	}
	v, _ := Decode(same) // it is JSON
	root, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the schema is a JSON %s, want an object", TypesOf(v))
	}
	var w hostWriter
	switch kind := root["type"]; {
	case kind == "object":
	case kind == nil, slices.Contains(words(kind), "object"):
		root["type"], w.changed = "object", true
	default:
		text, _ := json.Marshal(kind) // it was JSON
		return nil, fmt.Errorf("the type of the schema is %s, want \"object\"", Cut(string(text), 100))
	}
	if err := w.object(root, AsSchema, ""); err != nil {
		return nil, err
	}
	if !w.changed {
		return json.RawMessage(same), nil
	}
	return json.Marshal(root)
}

type hostWriter struct{ changed bool }

// value converts the value at a JSON pointer to the form for hosts.
func (w *hostWriter) value(v any, r Role, at string) (_ any, err error) {
	if r < AsSchema {
		return v, nil
	}
	switch of := v.(type) {
	case map[string]any:
		return v, w.object(of, r, at)
	case []any:
		for i := range of {
			if r == AsSchemas && err == nil {
				of[i], err = w.value(of[i], AsSchema, fmt.Sprintf("%s/%d", at, i))
			}
		}
		if r == AsSchemas {
			return v, err
		}
	case bool:
		if r == AsSchema || r == AsSchemas {
			w.changed = true
			if of {
				return map[string]any{}, nil
			}
			return map[string]any{"not": map[string]any{}}, nil
		}
		if r == AsLenient {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%s in the schema is a JSON %s, want an object", at, TypesOf(v))
}

// object converts the members of a schema, or of a map of schemas by name.
func (w *hostWriter) object(members map[string]any, r Role, at string) (err error) {
	for _, key := range slices.Sorted(maps.Keys(members)) {
		v, inner := members[key], Keywords[key]
		list, isList := v.([]any)
		empty, names := v == nil || isList && len(list) == 0, words(v)
		switch {
		case r == AsNames:
			inner = AsSchema
		case key == "required" && isList && len(names) == len(list) && !empty:
			continue
		case key == "required" && len(names) > 0:
			members[key], w.changed = names, true
			continue
		case key == "required", v == nil && (key == "type" || inner >= AsSchema),
			empty && (key == "enum" || inner == AsSchemas && key != "items"):
			delete(members, key)
			w.changed = true
			continue
		case empty && inner >= AsSchema:
			v, w.changed = map[string]any{}, true
		}
		if members[key], err = w.value(v, inner, at+"/"+key); err != nil {
			return err
		}
	}
	return nil
}
