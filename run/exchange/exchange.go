// Package exchange writes stored capabilities for other programs, and reads theirs.
//
//	format     what it is                        what it can say
//	waymark    the capability as JSON            everything
//	toolhive   composite tool of ToolHive, YAML  tasks, references, simple conditions, object outputs
//	arazzo     Arazzo 1.0 workflow, YAML         everything: what Arazzo has no word for stands in x-waymark fields
//
// What a format cannot say is named in the notes, never dropped silently. What is read and cannot be said
// here at all is an error that names each thing.
package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"waymark/catalog"
	"waymark/internal/strictjson"
)

// The formats.
const (
	Waymark  = "waymark"
	ToolHive = "toolhive"
	Arazzo   = "arazzo"
)

// Formats are all of them.
var Formats = []string{Waymark, ToolHive, Arazzo}

// MaxInput is the largest text that is read, in bytes.
const MaxInput = 4 << 20

// Encode writes a capability. notes say what of it the format cannot say.
func Encode(format string, c catalog.Capability) (text []byte, notes []string, err error) {
	switch format {
	case Waymark:
		text, err = json.MarshalIndent(c, "", "  ")
		return append(text, '\n'), nil, err
	case ToolHive:
		return encodeToolHive(c)
	case Arazzo:
		return encodeArazzo(c)
	}
	return nil, nil, fmt.Errorf("unknown format %q: want one of %s", format, strings.Join(Formats, ", "))
}

// Decode reads capabilities. An empty format is found out. notes say what was left out.
func Decode(format string, text []byte) (all []catalog.Capability, notes []string, err error) {
	if len(text) > MaxInput {
		return nil, nil, fmt.Errorf("%d bytes, at most %d", len(text), MaxInput)
	}
	doc, err := document(text)
	if err != nil {
		return nil, nil, err
	}
	if format == "" {
		format = guess(doc)
	}
	r := &reading{}
	switch format {
	case Waymark:
		all = r.waymark(doc)
	case ToolHive:
		all = r.toolHive(doc)
	case Arazzo:
		all = r.arazzo(doc)
	case "":
		return nil, nil, fmt.Errorf("has none of the formats %s", strings.Join(Formats, ", "))
	default:
		return nil, nil, fmt.Errorf("unknown format %q: want one of %s", format, strings.Join(Formats, ", "))
	}
	if len(r.errs) == 0 && len(all) == 0 {
		r.wrong("", "holds no capability")
	}
	for i := range all {
		if err := all[i].Normalise(); err != nil {
			r.errs = append(r.errs, err)
		}
	}
	return all, r.notes, errors.Join(r.errs...)
}

// guess knows a document by its keys.
func guess(doc any) string {
	if _, many := doc.([]any); many {
		return Waymark
	}
	m, _ := doc.(map[string]any)
	has := func(key string) bool { _, ok := m[key]; return ok }
	switch {
	case has("arazzo"):
		return Arazzo
	case has("steps"), has("composite_tools"), has("compositeTools"), has("spec"):
		return ToolHive
	case has("id"), has("capabilities"):
		return Waymark
	}
	return ""
}

// document reads JSON or YAML into plain values: maps by string, lists, strings, numbers, booleans, nil.
func document(text []byte) (any, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		if err := strictjson.CheckFile(trimmed); err == nil {
			d := json.NewDecoder(bytes.NewReader(trimmed))
			d.UseNumber()
			var v any
			return v, d.Decode(&v)
		} else if yaml.Unmarshal(text, new(any)) != nil || json.NewDecoder(bytes.NewReader(trimmed)).Decode(new(any)) == nil {
			return nil, err // flow YAML may begin with a bracket too
		}
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	budget := 1 << 18 // aliases may make much of little
	return plain(v, &budget, 0)
}

const maxDepth = 64

// plain turns what YAML gives into what JSON would.
func plain(v any, budget *int, depth int) (any, error) {
	if *budget--; *budget < 0 || depth > maxDepth {
		return nil, errors.New("too much, or nested too deep")
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			p, err := plain(e, budget, depth+1)
			if err != nil {
				return nil, err
			}
			v[k] = p
		}
		return v, nil
	case map[any]any:
		return nil, errors.New("has a key that is no string")
	case []any:
		for i, e := range v {
			p, err := plain(e, budget, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = p
		}
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("has a number that is not finite")
		}
		return v, nil
	case nil, bool, string, int, int64, uint64:
		return v, nil
	}
	return fmt.Sprint(v), nil // a date
}

// raw is a plain value as JSON.
func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // plain values always encode
		return json.RawMessage("null")
	}
	return b
}

// values is JSON as plain values for YAML, with numbers as numbers.
func values(b json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return numbers(v)
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

func toYAML(v any) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(v)
	return b.Bytes(), errors.Join(err, e.Close())
}

// reading collects what is wrong and what was left out.
type reading struct {
	errs  []error
	notes []string
}

func (r *reading) wrong(where, format string, args ...any) {
	r.errs = append(r.errs, errors.New(strings.TrimPrefix(where+": "+fmt.Sprintf(format, args...), ": ")))
}

func (r *reading) note(where, format string, args ...any) {
	r.notes = append(r.notes, strings.TrimPrefix(where+": "+fmt.Sprintf(format, args...), ": "))
}

func (r *reading) waymark(doc any) (all []catalog.Capability) {
	list, many := doc.([]any)
	if m, ok := doc.(map[string]any); ok {
		if inner, ok := m["capabilities"].([]any); ok {
			list, many = inner, true
		}
	}
	if !many {
		list = []any{doc}
	}
	for i, e := range list {
		c, err := strictjson.Decode[catalog.Capability](raw(e))
		if err != nil {
			r.wrong(fmt.Sprintf("capability %d", i+1), "%s", err)
			continue
		}
		all = append(all, c)
	}
	return all
}

// text reads a string field.
func text(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok {
			return s
		}
	}
	return ""
}

// object reads a field that is an object.
func object(m map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		if o, ok := m[k].(map[string]any); ok {
			return o
		}
	}
	return nil
}

// items reads a field that is a list.
func items(m map[string]any, keys ...string) []any {
	for _, k := range keys {
		if l, ok := m[k].([]any); ok {
			return l
		}
	}
	return nil
}

func words(list []any) (out []string) {
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// single is the body of an object with one key, as {"$from": "t1.result"}.
func single(b json.RawMessage, key string) (string, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil || len(m) != 1 {
		return "", false
	}
	var s string
	return s, json.Unmarshal(m[key], &s) == nil
}

// special reports whether a value holds a reference or an expression anywhere.
func special(b json.RawMessage) bool {
	var walk func(v any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				if k == "$from" || k == "$expr" || k == "$value" || walk(e) {
					return true
				}
			}
		case []any:
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		}
		return false
	}
	var v any
	return json.Unmarshal(b, &v) == nil && walk(v)
}
