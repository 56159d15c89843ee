package episodic

import (
	"encoding/json"
	"slices"
	"strings"

	"waymark/catalog"
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
	v, err := catalog.Decode(arguments)
	if err != nil {
		return ""
	}
	s := shapeOf(v, 0)
	if len(s) > shapeBytes {
		s = s[:shapeBytes] + "…"
	}
	return s
}

// shapeOf returns the shape of a decoded value. It describes only the first item of a list. Members are sorted after
// their names are masked, so that equal shapes are equal strings.
func shapeOf(v any, depth int) string {
	switch v := v.(type) {
	case []any:
		switch {
		case len(v) == 0:
			return "[]"
		case depth >= 2*shapeDepth:
			return "[…]"
		}
		return "[" + shapeOf(v[0], depth+1) + "]"
	case map[string]any:
		if depth >= shapeDepth {
			return "{…}"
		}
		var parts []string
		for name, inner := range v {
			parts = append(parts, fieldName(name)+":"+shapeOf(inner, depth+1))
		}
		slices.Sort(parts)
		parts = slices.Compact(parts)
		if len(parts) > shapeMembers {
			parts = append(parts[:shapeMembers], "…")
		}
		return "{" + strings.Join(parts, ",") + "}"
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			return "integer"
		}
	}
	return catalog.TypesOf(v).String()
}
