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
// booleans, which hosts expect there. Servers write an empty list or null where they mean an empty object or nothing: these are
// read so. A missing schema or type means an object. The error says why a schema
// cannot be published. Numbers stay as they are, and so does the order of keys where nothing has to change.
func HostSchema(schema json.RawMessage) (json.RawMessage, error) {
	same := jsontext.Value(bytes.Clone(bytes.TrimSpace(schema)))
	if len(same) == 0 || string(same) == "null" {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	if err := same.Compact(jsontext.AllowDuplicateNames(false)); err != nil { // repeated names are errors, too
		return nil, fmt.Errorf("the schema cannot be decoded: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(same))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // it is JSON
	if k := typeOf(v); k != "object" {
		return nil, fmt.Errorf("the schema is a JSON %s, want an object", k)
	}
	var w hostWriter
	out, err := w.value(v, asTool, "")
	switch {
	case err != nil:
		return nil, err
	case !w.changed:
		return json.RawMessage(same), nil
	}
	return json.Marshal(out)
}

// typeOf names the type of a decoded value.
func typeOf(v any) string {
	if _, number := v.(json.Number); number {
		return "number"
	}
	return TypesOf(v).String()
}

type hostWriter struct{ changed bool }

// value returns the value at a JSON pointer in the form for hosts.
func (w *hostWriter) value(v any, r Role, at string) (_ any, err error) {
	if r < asTool {
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
	return nil, fmt.Errorf("%s in the schema is a JSON %s, want an object", at, typeOf(v))
}

// fill replaces empty values of a schema by those that are meant.
func (w *hostWriter) fill(members map[string]any, r Role) {
	for key, v := range members {
		list, isList := v.([]any)
		empty := v == nil || isList && len(list) == 0
		role := Keywords[key]
		schemas := role >= AsSchema
		switch {
		case key == "required" && r == asTool && empty, key == "required" && r != asTool && !isList:
			delete(members, key)
		case key == "required":
			if object, ok := v.(map[string]any); !ok || len(object) > 0 {
				continue
			}
			delete(members, key)
		case key == "type" && isList && r == asTool && slices.Contains(list, any("object")):
			members[key] = "object"
		case key == "type" && v == nil, key == "enum" && empty:
			delete(members, key)
		case !schemas || !empty:
			continue
		case v == nil, role == AsSchemas && key != "items":
			delete(members, key)
		default:
			members[key] = map[string]any{}
		}
		w.changed = true
	}
}

// object changes a schema, or schemas by name. Of type and required of a tool's schema hosts accept one form only.
func (w *hostWriter) object(members map[string]any, r Role, at string) (err error) {
	if r != AsNames {
		w.fill(members, r)
	}
	if r == asTool {
		shown := func(v any) string {
			text, _ := json.Marshal(v) // it was JSON
			return Cut(string(text), 100)
		}
		kind, typed := members["type"]
		required, given := members["required"]
		list, isList := required.([]any)
		switch {
		case typed && kind != "object":
			return fmt.Errorf("the type of the schema is %s, want \"object\"", shown(kind))
		case given && (!isList || len(words(list)) < len(list)):
			return fmt.Errorf("required in the schema is %s, want a list of strings", shown(required))
		case !typed:
			members["type"], w.changed = "object", true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		inner := Keywords[key]
		if r == AsNames {
			inner = AsSchema
		}
		if members[key], err = w.value(members[key], inner, at+"/"+key); err != nil {
			return err
		}
	}
	return nil
}
