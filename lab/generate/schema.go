package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A field is an entry of fields.txt.
type field struct {
	kind         string // string, date, time, uri, email, integer, number, boolean, object, rows
	defaultValue string // as JSON, "" for none
	description  string
}

// fields maps a name, or server:name, to its field.
type fields map[string]field

func parseFields() (fields, error) {
	lines, err := readLines("fields.txt")
	if err != nil {
		return nil, err
	}
	fs := make(fields)
	for _, l := range lines {
		if len(l.words) < 3 {
			return nil, l.errorf("want NAME TYPE DESCRIPTION")
		}
		name := l.words[0]
		if _, twice := fs[name]; twice {
			return nil, l.errorf("field %q stands here a second time", name)
		}
		kind, value, _ := strings.Cut(l.words[1], "=")
		if _, ok := kinds[kind]; !ok {
			return nil, l.errorf("unknown type %q", kind)
		}
		if value != "" && kind == "string" {
			value = quote(value)
		}
		fs[name] = field{kind, value, l.after(2)}
	}
	return fs, nil
}

// kinds maps the types of fields.txt to JSON Schema.
var kinds = map[string]members{
	"string":  {{"type", `"string"`}},
	"date":    {{"type", `"string"`}, {"format", `"date"`}},
	"time":    {{"type", `"string"`}, {"format", `"date-time"`}},
	"uri":     {{"type", `"string"`}, {"format", `"uri"`}},
	"email":   {{"type", `"string"`}, {"format", `"email"`}},
	"integer": {{"type", `"integer"`}},
	"number":  {{"type", `"number"`}},
	"boolean": {{"type", `"boolean"`}},
	"object":  {{"type", `"object"`}},
	"rows":    {{"type", `"array"`}, {"items", `{"type":"array"}`}},
}

// members of a JSON object in the order in which they are written.
type members [][2]string

func (m members) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, kv := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(kv[0]) + ":" + kv[1])
	}
	b.WriteByte('}')
	return b.String()
}

// quote returns s as a JSON string.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	return strings.TrimSpace(b.String())
}

// schema returns the JSON Schema of an object with the fields of a list such as
//
//	repo! state=open|closed labels[] changes[]{path! content!}!
//
// In the answer of a tool (out) every field is required but those with a "?".
func (fs fields) schema(server, list string, out bool) (json.RawMessage, error) {
	s, err := fs.object(server, list, out, false)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(s.String()), nil
}

func (fs fields) object(server, list string, out, inner bool) (members, error) {
	parts, err := splitFields(list)
	if err != nil {
		return nil, err
	}
	var properties members
	var required []string
	for _, part := range parts {
		name, m, err := fs.property(server, part, out, inner)
		if err != nil {
			return nil, err
		}
		properties = append(properties, [2]string{name, m.String()})
		if strings.HasSuffix(part, "!") || out && !strings.HasSuffix(part, "?") {
			required = append(required, quote(name))
		}
	}
	o := members{{"type", `"object"`}, {"properties", properties.String()}}
	if len(required) > 0 {
		o = append(o, [2]string{"required", "[" + strings.Join(required, ",") + "]"})
	}
	return o, nil
}

// property returns name and schema of one field. The fields of elements in a list (inner) go without
// descriptions, as with most servers: schemas travel in every prompt.
func (fs fields) property(server, part string, out, inner bool) (string, members, error) {
	part = strings.TrimRight(part, "!?")
	part, object, isObject := strings.Cut(part, "{")
	part, enum, isEnum := strings.Cut(part, "=")
	name, isList := strings.CutSuffix(part, "[]")

	f, ok := fs[server+":"+name]
	if !ok {
		if f, ok = fs[name]; !ok {
			return "", nil, fmt.Errorf("field %q of server %s is not in fields.txt", name, server)
		}
	}
	m := append(members(nil), kinds[f.kind]...)
	if isObject {
		var err error
		if m, err = fs.object(server, strings.TrimSuffix(object, "}"), out, true); err != nil {
			return "", nil, err
		}
	}
	if isEnum {
		var values []string
		for v := range strings.SplitSeq(enum, "|") {
			values = append(values, quote(v))
		}
		m = append(m, [2]string{"enum", "[" + strings.Join(values, ",") + "]"})
	}
	if isList {
		m = members{{"type", `"array"`}, {"items", m.String()}}
	}
	if !inner {
		m = append(m, [2]string{"description", quote(f.description)})
	}
	if f.defaultValue != "" && !out {
		m = append(m, [2]string{"default", f.defaultValue})
	}
	return name, m, nil
}

// splitFields cuts a list at the spaces outside of braces.
func splitFields(list string) ([]string, error) {
	var parts []string
	depth, start := 0, 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i == len(list) || list[i] == ' ' && depth == 0:
			if i > start {
				parts = append(parts, list[start:i])
			}
			start = i + 1
		case list[i] == '{':
			depth++
		case list[i] == '}':
			depth--
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("braces of %q do not match", list)
	}
	return parts, nil
}
