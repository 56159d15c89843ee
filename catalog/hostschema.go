package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// HostSchema returns the input schema of a tool in the form that every MCP host accepts. The official TypeScript SDK
// rejects a whole tools/list if the type of one schema is not "object", if a value of its properties is a boolean
// schema, or if required is no list of strings, and APIs of models reject such values at any depth. A missing schema or
// type means an object. The error is the reason why a
// schema cannot be published. A schema that needs no change is returned as it is; numbers are never changed.
func HostSchema(schema json.RawMessage) (json.RawMessage, error) {
	if schema = bytes.TrimSpace(schema); len(schema) == 0 || string(schema) == "null" {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	sent, _ := Decode(schema)
	v, _ := Decode(schema)
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is not a JSON object")
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
	if err := mend(root); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(sent, v) {
		return schema, nil
	}
	return json.Marshal(root)
}

// mend corrects the schemas by name inside a schema, at any depth: true becomes {} and false {"not":{}}. Some servers
// write an empty object as a list or as null.
func mend(schema map[string]any) error {
	for key, v := range schema {
		all, isList := v.([]any)
		switch key {
		case "default", "const", "enum", "examples":
			continue // data
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			named, ok := v.(map[string]any)
			if !ok {
				schema[key] = map[string]any{}
			}
			for _, name := range slices.Sorted(maps.Keys(named)) {
				switch allowed, isBool := named[name].(bool); {
				case isBool && allowed:
					named[name] = map[string]any{}
				case isBool:
					named[name] = map[string]any{"not": map[string]any{}}
				}
				if _, ok := named[name].(map[string]any); !ok {
					return fmt.Errorf("the property %s is not a schema", ShownID(name))
				}
				all = append(all, named[name])
			}
		default:
			if !isList {
				all = []any{v}
			}
		}
		for _, inner := range all {
			if of, ok := inner.(map[string]any); ok {
				if err := mend(of); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
