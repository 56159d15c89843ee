package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"waymark/catalog"
	"waymark/internal/strictjson"
)

// An OpenAPI document (3.0 or 3.1, JSON or YAML) gives one tool for each operation, under the server of the option or
// the title of the document:
//
//	name         operationId, else method and path
//	input        parameters and the properties of the JSON body as one object; a body that is no object, or whose
//	             properties collide with parameters, is the property "body"
//	output       the JSON of the first successful response
//	annotations  GET and HEAD are read-only, PUT and DELETE idempotent, DELETE destructive
//
// References inside the document are written out; a schema that refers to itself, or is too large, is left open where
// that begins. Examples and extensions are left out.
func decodeOpenAPI(in *input, emit func(Item) bool) error {
	return in.eachFile("openapi", []string{".json", ".yaml", ".yml"}, func(name string) (more bool, err error) {
		text, err := in.readAll(name)
		if err != nil {
			return false, err
		}
		root, err := openAPIDocument(text)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		d := openAPI{root: root, server: in.opts.Server, names: map[string]bool{}}
		if d.server == "" {
			d.server = cmpSlug(textOf(object(root["info"])["title"]), serverOfFile(name))
		}
		paths := object(root["paths"])
		more = true
		for _, at := range slices.Sorted(maps.Keys(paths)) {
			item, err := d.resolved(paths[at])
			for _, method := range methods {
				if err == nil && item[method] == nil {
					continue
				}
				it := Item{File: name, Line: 1, Kind: KindTool}
				if err == nil {
					it.Line = lineOf(text, at)
					it.Tool, it.ID, err = d.tool(method, at, item)
				}
				if err != nil {
					it.drop(fmt.Sprintf("%s %s: %s", strings.ToUpper(method), at, err))
				}
				if more = emit(it); !more {
					return false, nil
				}
				if item == nil {
					break
				}
				err = nil
			}
		}
		return more, nil
	})
}

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}

// openAPIDocument reads JSON or YAML, and refuses versions that are not known.
func openAPIDocument(text []byte) (root map[string]any, err error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		if err := strictjson.UnmarshalForeign(trimmed, &root); err != nil {
			return nil, err
		}
	} else {
		var any any
		if err := yaml.Unmarshal(text, &any); err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		root = object(withTextKeys(any))
	}
	switch version := textOf(root["openapi"]); {
	case strings.HasPrefix(version, "3.0") || strings.HasPrefix(version, "3.1"):
		return root, nil
	case version != "":
		return nil, fmt.Errorf("OpenAPI %.20s is not read; want 3.0 or 3.1", version)
	case root["swagger"] != nil:
		return nil, errors.New("version 2.0 (Swagger) is not read; want OpenAPI 3.0 or 3.1")
	}
	return nil, errors.New("is no OpenAPI document")
}

// withTextKeys makes keys of YAML that are no texts, as the codes of responses, into texts.
func withTextKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = withTextKeys(e)
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[fmt.Sprint(k)] = withTextKeys(e)
		}
		return m
	case []any:
		for i, e := range v {
			v[i] = withTextKeys(e)
		}
	}
	return v
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func textOf(v any) string         { s, _ := v.(string); return s }

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func slug(s string) string { return strings.Trim(notInName.ReplaceAllString(s, "_"), "_") }

func cmpSlug(title, otherwise string) string {
	if s := strings.ToLower(slug(title)); s != "" {
		return s
	}
	return otherwise
}

type openAPI struct {
	root   map[string]any
	server string
	names  map[string]bool
	active []string // references that are being written out
	budget int      // schemas that may still be written out for a tool at this depth
}

// mostSchemas bounds the schemas written out for one tool: references can multiply without end.
const mostSchemas = 500

// inPointer is what stands for characters in the parts of a reference.
var inPointer = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}")

// resolved follows the references of an object, in the document.
func (d *openAPI) resolved(v any) (map[string]any, error) {
	for range 16 {
		m := object(v)
		ref := textOf(m["$ref"])
		if ref == "" {
			if m == nil {
				return nil, errors.New("is no object")
			}
			return m, nil
		}
		pointer, ok := strings.CutPrefix(ref, "#/")
		if !ok {
			return nil, fmt.Errorf("reference %.100q is not in the document", ref)
		}
		v = any(d.root)
		for part := range strings.SplitSeq(pointer, "/") {
			v = object(v)[inPointer.Replace(part)]
		}
		if v == nil {
			return nil, fmt.Errorf("reference %.100q leads nowhere", ref)
		}
	}
	return nil, errors.New("references run in a circle")
}

func (d *openAPI) tool(method, at string, item map[string]any) (*catalog.Tool, string, error) {
	op, err := d.resolved(item[method])
	if err != nil {
		return nil, "", err
	}
	name := slug(textOf(op["operationId"]))
	if name == "" || d.names[name] {
		name = method + "_" + slug(at)
	}
	id := catalog.ID(d.server, name)
	if d.names[name] {
		return nil, id, fmt.Errorf("there are two operations %q", name)
	}
	d.names[name] = true
	t := &catalog.Tool{ID: id, Name: name, Server: d.server}
	t.Description = strings.TrimSpace(strings.TrimSpace(textOf(op["summary"])) + "\n" + strings.TrimSpace(textOf(op["description"])))
	if t.Description == "" {
		t.Description = strings.ToUpper(method) + " " + at
	}
	read, remove := method == "get" || method == "head", method == "delete"
	t.Annotations = &catalog.Annotations{ReadOnly: &read, OpenWorld: new(true)}
	if !read {
		idempotent := remove || method == "put"
		t.Annotations.Destructive, t.Annotations.Idempotent = &remove, &idempotent
	}
	parameters := slices.Concat(list(item["parameters"]), list(op["parameters"]))
	for _, depth := range []int{12, 8, 5, 3, 2, 1} { // a schema that is too large is left open earlier
		d.budget = mostSchemas
		input, err := d.input(parameters, op["requestBody"], depth)
		if err != nil {
			return nil, id, err
		}
		output := d.output(op, depth)
		if d.budget < 0 && depth > 1 {
			continue
		}
		if t.InputSchema, t.OutputSchema = encode(input), nil; output != nil {
			t.OutputSchema = encode(output)
		}
		if len(t.InputSchema) <= catalog.MaxSchema && len(t.OutputSchema) <= catalog.MaxSchema && len(t.InputSchema)+len(t.OutputSchema)+len(t.Description) <= catalog.MaxEntry/2 {
			break
		}
	}
	return t, id, nil
}

// input is the schema of parameters and body as one object.
func (d *openAPI) input(parameters []any, body any, depth int) (map[string]any, error) {
	properties, required := map[string]any{}, map[string]bool{}
	for _, p := range parameters {
		p, err := d.resolved(p)
		if err != nil {
			return nil, err
		}
		name, where := textOf(p["name"]), textOf(p["in"])
		if name == "" || where == "header" && slices.Contains([]string{"accept", "authorization", "content-type"}, strings.ToLower(name)) {
			continue
		}
		schema, _ := d.schema(p["schema"], depth).(map[string]any)
		if p["schema"] == nil {
			schema, _ = d.jsonSchema(p["content"], depth).(map[string]any)
		}
		if schema == nil {
			schema = map[string]any{}
		}
		if text := textOf(p["description"]); text != "" {
			schema["description"] = text
		}
		properties[name] = schema
		required[name] = p["required"] == true || where == "path"
	}
	if body != nil {
		body, err := d.resolved(body)
		if err != nil {
			return nil, err
		}
		d.addBody(body, depth, properties, required)
	}
	s := map[string]any{"type": "object", "properties": properties}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if required[name] {
			names = append(names, name)
		}
	}
	if names != nil {
		s["required"] = names
	}
	return s, nil
}

func (d *openAPI) addBody(body map[string]any, depth int, properties map[string]any, required map[string]bool) {
	schema := d.jsonSchema(body["content"], depth)
	fields := object(object(schema)["properties"])
	collides := slices.ContainsFunc(slices.Collect(maps.Keys(fields)), func(name string) bool { return properties[name] != nil })
	if len(fields) == 0 || collides {
		if schema != nil {
			properties["body"], required["body"] = schema, body["required"] == true
		}
		return
	}
	maps.Copy(properties, fields)
	for _, name := range list(object(schema)["required"]) {
		if name := textOf(name); fields[name] != nil && body["required"] == true {
			required[name] = true
		}
	}
}

// output is the schema of the first successful response, nil if it says nothing.
func (d *openAPI) output(op map[string]any, depth int) any {
	responses := object(op["responses"])
	for _, code := range slices.Sorted(maps.Keys(responses)) {
		if !strings.HasPrefix(code, "2") {
			continue
		}
		if r, err := d.resolved(responses[code]); err == nil {
			if s := object(d.jsonSchema(r["content"], depth)); len(s) > 0 {
				return s
			}
		}
	}
	return nil
}

// jsonSchema is the schema of the content that is JSON, or of a form.
func (d *openAPI) jsonSchema(content any, depth int) any {
	types := object(content)
	for _, like := range []string{"application/json", "json", "form"} {
		for _, kind := range slices.Sorted(maps.Keys(types)) {
			if strings.Contains(kind, like) {
				return d.schema(object(types[kind])["schema"], depth)
			}
		}
	}
	return nil
}

// Keywords of schemas that hold a schema, a list of schemas, and schemas by name.
var (
	schemaKeys = []string{"items", "not", "additionalProperties", "if", "then", "else", "contains", "propertyNames"}
	schemaList = []string{"oneOf", "anyOf", "allOf", "prefixItems"}
	schemaMaps = []string{"properties", "patternProperties"}
	plainKeys  = strings.Fields(`type format enum const required title description default minimum maximum exclusiveMinimum exclusiveMaximum
		multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties`)
)

// schema writes a schema out, down to a depth, as JSON Schema 2020-12. What cannot be resolved is left open.
func (d *openAPI) schema(v any, depth int) any {
	if open, ok := v.(bool); ok {
		return open
	}
	ref := textOf(object(v)["$ref"])
	if d.budget--; v == nil || depth == 0 || d.budget < 0 || ref != "" && slices.Contains(d.active, ref) {
		return map[string]any{}
	}
	m, err := d.resolved(v)
	if err != nil {
		return map[string]any{}
	}
	if ref != "" {
		d.active = append(d.active, ref)
		defer func() { d.active = d.active[:len(d.active)-1] }()
	}
	s := map[string]any{}
	for _, key := range plainKeys {
		if value, ok := m[key]; ok {
			s[key] = value
		}
	}
	for _, key := range schemaKeys {
		if value, ok := m[key]; ok {
			s[key] = d.schema(value, depth-1)
		}
	}
	for _, key := range schemaList {
		if values := list(m[key]); len(values) > 0 {
			all := make([]any, len(values))
			for i, e := range values {
				all[i] = d.schema(e, depth-1)
			}
			s[key] = all
		}
	}
	for _, key := range schemaMaps {
		if values := object(m[key]); len(values) > 0 {
			all := make(map[string]any, len(values))
			for _, name := range slices.Sorted(maps.Keys(values)) { // the budget ends at the same place each time
				all[name] = d.schema(values[name], depth-1)
			}
			s[key] = all
		}
	}
	d.upgrade(m, s)
	return s
}

// upgrade writes what OpenAPI 3.0 says in its own way as JSON Schema.
func (d *openAPI) upgrade(m, s map[string]any) {
	if kind := textOf(s["type"]); m["nullable"] == true && kind != "" {
		s["type"] = []any{kind, "null"}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if on, ok := s[exclusive].(bool); ok {
			delete(s, exclusive)
			if on && s[bound] != nil {
				s[exclusive] = s[bound]
				delete(s, bound)
			}
		}
	}
}
