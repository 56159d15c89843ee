package episodic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Bounds of a shape. Anything beyond them is written as ….
const (
	shapeDepth   = 2
	shapeMembers = 32
	shapeBytes   = 512
)

// Shape returns the names and types of arguments without their values. It returns an empty text for invalid JSON:
//
//	{"path":"a.go","lines":[1,2],"where":{"open":true}}  →  {lines:[integer],path:string,where:{open:boolean}}
//
// A name that may be a value is written as *; see [fieldName].
func Shape(arguments json.RawMessage) string {
	if len(bytes.TrimSpace(arguments)) == 0 || !json.Valid(arguments) {
		return ""
	}
	s := shapeOf(arguments, 0)
	if len(s) > shapeBytes {
		s = s[:shapeBytes] + "…"
	}
	return s
}

// shapeOf returns the shape of valid JSON, whose type it takes from the first character. It describes only the
// first item of a list. Members are sorted after their names are masked, so that equal shapes are equal strings.
func shapeOf(v json.RawMessage, depth int) string {
	switch v = bytes.TrimSpace(v); v[0] {
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	case '[':
		if depth >= 2*shapeDepth {
			return "[…]"
		}
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil || len(list) == 0 {
			return "[]"
		}
		return "[" + shapeOf(list[0], depth+1) + "]"
	case '{':
		if depth >= shapeDepth {
			return "{…}"
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(v, &members) != nil {
			return "{…}"
		}
		parts := make([]string, 0, len(members))
		for name, value := range members {
			parts = append(parts, fieldName(name)+":"+shapeOf(value, depth+1))
		}
		slices.Sort(parts)
		parts = slices.Compact(parts)
		if len(parts) > shapeMembers {
			parts = append(parts[:shapeMembers], "…")
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if bytes.ContainsAny(v, ".eE") {
		return "number"
	}
	return "integer"
}
