package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// HostSchema returns the input schema of a tool in the form that every MCP host accepts. The official TypeScript SDK
// rejects a whole tools/list if the type of one schema is not "object", if a value of its properties is a boolean
// schema, or if required is no list of strings. A missing schema or type means an object. The error is the reason why a
// schema cannot be published. A schema that needs no change is returned as it is; numbers are never changed.
func HostSchema(schema json.RawMessage) (json.RawMessage, error) {
	if schema = bytes.TrimSpace(schema); len(schema) == 0 || string(schema) == "null" {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	sent, _ := Decode(schema)
	v, _ := Decode(schema)
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is no JSON object")
	}
	if kind, typed := root["type"]; typed && !slices.Contains(words(kind), "object") {
		return nil, fmt.Errorf("the type of the schema is %v, want \"object\"", kind)
	}
	root["type"] = "object"
	list, _ := root["required"].([]any)
	if names := words(root["required"]); len(names) == 0 {
		delete(root, "required")
	} else if len(names) != len(list) {
		root["required"] = names
	}
	properties, ok := root["properties"].(map[string]any)
	if !ok { // some servers write an empty object as a list or as null
		delete(root, "properties")
	}
	for name, p := range properties {
		switch p := p.(type) {
		case map[string]any:
		case bool:
			properties[name] = map[string]any{}
			if !p {
				properties[name] = map[string]any{"not": map[string]any{}}
			}
		default:
			return nil, fmt.Errorf("the property %s is no schema", ShownID(name))
		}
	}
	if reflect.DeepEqual(sent, v) {
		return schema, nil
	}
	return json.Marshal(root)
}
