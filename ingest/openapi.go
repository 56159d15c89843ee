package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"waymark/catalog"
	"waymark/internal/codec"
)

// decodeOpenAPI reads an OpenAPI document (2.0, 3.0 or 3.1, JSON or YAML). It returns one tool per operation. The
// server of the tools is the option, else the title of the document:
//
//	name         operationId, else method and path
//	input        parameters and the properties of the JSON body as one object; a parameter whose name is taken gets its
//	             location as a suffix (id_query); a body that is not an object, or whose properties collide with
//	             parameters, becomes the property "body"
//	output       the JSON schema of the first successful response
//	annotations  GET and HEAD are read-only, PUT and DELETE idempotent, DELETE destructive
//
// References inside the document, and to files below its folder, are inlined. A schema that refers to itself or is too
// large is replaced by the empty schema at that point. Examples and extensions are left out.
func decodeOpenAPI(in *input, emit func(Item) bool) error {
	return in.eachFile("openapi", func(name string) (more bool, err error) {
		text, err := in.readAll(name)
		if err != nil {
			return false, err
		}
		files := *in
		files.isDir = true // open regular files only
		d := openAPI{in: &files, server: in.opts.Server, names: map[string]bool{}, files: map[string]any{},
			lost: map[string]bool{}}
		root, err := d.parse(name, text)
		if err == nil {
			err = knownVersion(object(root))
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		d.files[name] = root
		if d.server == "" {
			d.server = cmp.Or(strings.ToLower(slug(textOf(object(object(root)["info"])["title"]))), serverOfFile(name))
		}
		paths := object(object(root)["paths"])
		for _, at := range slices.Sorted(maps.Keys(paths)) {
			item, err := d.resolved(paths[at])
			if err != nil {
				item = map[string]any{methods[0]: nil}
			}
			for _, method := range methods {
				if _, ok := item[method]; !ok {
					continue
				}
				it := Item{File: name, Line: lineOf(text, at), Kind: KindTool}
				failed := err
				if failed == nil {
					it.Tool, it.ID, failed = d.tool(method, at, item)
				}
				if failed != nil {
					it.drop(fmt.Sprintf("%s %s: %s", strings.ToUpper(method), at, failed))
				}
				if !emit(it) {
					return false, nil
				}
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(d.lost)) { // the tools are kept
			it := Item{File: name, Line: 1}
			if it.drop("what it names is left open: " + reason); !emit(it) {
				return false, nil
			}
		}
		return true, nil
	})
}

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}

func knownVersion(root map[string]any) error {
	switch version := cmp.Or(textOf(root["openapi"]), textOf(root["swagger"])); {
	case version == "":
		return errors.New("is no OpenAPI document")
	case !slices.Contains([]string{"2.0", "3.0", "3.1"}, version[:min(len(version), 3)]):
		return fmt.Errorf("OpenAPI %.20s is not read; want 2.0, 3.0 or 3.1", version)
	}
	return nil
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func textOf(v any) string         { s, _ := v.(string); return s }

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func slug(s string) string { return strings.Trim(notInName.ReplaceAllString(s, "_"), "_") }

type openAPI struct {
	in     *input
	server string
	names  map[string]bool
	files  map[string]any  // by file name; schemas also by $id
	lost   map[string]bool // error messages of references that cannot be resolved
	active []string        // references that are being inlined
	budget int             // schemas that may still be inlined for a tool at this depth
}

// Limits: schemas inlined for one tool, because references can multiply without end, and files of one document.
const (
	mostSchemas = 500
	mostFiles   = 2_000
)

// parse parses a JSON or YAML file.
func (d *openAPI) parse(name string, text []byte) (root any, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		var whole map[string]any
		err = codec.UnmarshalForeign(text, &whole)
		root = whole
	} else if err = yaml.Unmarshal(text, &root); err != nil {
		err = fmt.Errorf("not YAML: %w", err)
	}
	return d.absolute(name, root), err
}

// absolute makes the references in v absolute: it prefixes the document, which is the file or a schema with its own
// $id. It also converts YAML keys that are not strings, such as response codes, to strings.
func (d *openAPI) absolute(document string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if id := textOf(v["$id"]); id != "" {
			if document, _, _ = strings.Cut(within(document, id), "#"); d.files[document] == nil {
				d.files[document] = v
			}
		}
		for k, e := range v {
			v[k] = d.absolute(document, e)
		}
		if ref, ok := v["$ref"].(string); ok {
			v["$ref"] = within(document, ref)
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[fmt.Sprint(k)] = e
		}
		return d.absolute(document, m)
	case []any:
		for i, e := range v {
			v[i] = d.absolute(document, e)
		}
	}
	return v
}

// within resolves a reference relative to the document that contains it.
func within(document, ref string) string {
	other, pointer, _ := strings.Cut(ref, "#")
	base, err := url.Parse(document)
	switch {
	case other == "":
		other = document
	case strings.Contains(other, ":"):
	case err == nil && base.IsAbs():
		if to, err := base.Parse(other); err == nil {
			other = to.String()
		}
	default:
		other = path.Join(path.Dir(document), other)
	}
	return other + "#" + pointer
}

// inPointer decodes the escaped characters in the parts of a JSON pointer.
var inPointer = strings.NewReplacer("~1", "/", "~0", "~")

// resolved follows the references of an object and returns their target. A chain of 16 references is an error.
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
		file, pointer, _ := strings.Cut(ref, "#")
		root, err := d.file(file)
		if err != nil {
			return nil, err
		}
		if v = at(root, pointer); v == nil {
			return nil, fmt.Errorf("reference %.100q leads nowhere", ref)
		}
	}
	return nil, errors.New("references run in a circle")
}

// file returns the content of a file, or of a schema with an $id.
func (d *openAPI) file(name string) (root any, err error) {
	root, known := d.files[name]
	if known {
		return root, nil
	}
	var text []byte
	err = fs.ErrInvalid
	if d.in.stream == nil && len(d.files) < mostFiles {
		text, err = d.in.readAll(name)
	}
	if err == nil {
		root, err = d.parse(name, text)
	}
	if err != nil {
		const lost = "reference %.100q cannot be read in the folder of the document: bundle the document first"
		return nil, fmt.Errorf(lost, name)
	}
	d.files[name] = root
	return root, nil
}

// at returns the value at a JSON pointer.
func at(v any, pointer string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if part, err := url.PathUnescape(part); err == nil && part != "" {
			v = object(v)[inPointer.Replace(part)]
		}
	}
	return v
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
	t.Description = cmp.Or(t.Description, strings.ToUpper(method)+" "+at)
	read, remove := method == "get" || method == "head", method == "delete"
	t.Annotations = &catalog.Annotations{ReadOnly: &read, OpenWorld: new(true)}
	if !read {
		t.Annotations.Destructive, t.Annotations.Idempotent = &remove, new(remove || method == "put")
	}
	for _, depth := range []int{12, 8, 5, 3, 2, 1} { // a schema that is too large is cut at a lower depth
		d.budget = mostSchemas
		input, err := d.input(slices.Concat(list(item["parameters"]), list(op["parameters"])), op["requestBody"], depth)
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
		if len(t.InputSchema) <= catalog.MaxSchema && len(t.OutputSchema) <= catalog.MaxSchema &&
			len(t.InputSchema)+len(t.OutputSchema)+len(t.Description) <= catalog.MaxEntry/2 {
			break
		}
	}
	return t, id, nil
}

// input returns the schema of the parameters and the body as one object.
func (d *openAPI) input(parameters []any, body any, depth int) (map[string]any, error) {
	params := map[string]map[string]any{} // a parameter of the operation replaces that of the path
	for _, p := range parameters {
		p, err := d.resolved(p)
		if err != nil {
			return nil, err
		}
		switch name, in := textOf(p["name"]), textOf(p["in"]); {
		case in == "body": // OpenAPI 2.0
			body = p
		case name == "", in == "header" && slices.Contains([]string{"accept", "authorization", "content-type"}, strings.ToLower(name)):
		case in == "path":
			params["\x00"+name] = p // sorts first, so it keeps its name
		default:
			params[in+"\x00"+name] = p
		}
	}
	properties, required := map[string]any{}, map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(params)) {
		p := params[k]
		schema := d.typed(p, depth)
		switch {
		case schema != nil:
		case p["schema"] != nil || p["content"] != nil:
			schema = map[string]any{}
		default: // OpenAPI 2.0: the parameter itself is a schema
			if schema = object(d.schema(p, depth)); schema["type"] == "file" {
				schema["type"] = "string"
			}
			delete(schema, "required")
		}
		if text := textOf(p["description"]); text != "" {
			schema["description"] = text
		}
		name, in := textOf(p["name"]), textOf(p["in"])
		if properties[name] != nil || name == "body" && body != nil {
			name += "_" + in
		}
		properties[name], required[name] = schema, p["required"] == true || in == "path"
	}
	if body != nil {
		body, err := d.resolved(body)
		if err != nil {
			return nil, err
		}
		d.addBody(body, depth, properties, required)
	}
	s := map[string]any{"type": "object", "properties": properties}
	maps.DeleteFunc(required, func(_ string, is bool) bool { return !is })
	if len(required) > 0 {
		s["required"] = slices.Sorted(maps.Keys(required))
	}
	return s, nil
}

func (d *openAPI) addBody(body map[string]any, depth int, properties map[string]any, required map[string]bool) {
	schema := d.typed(body, depth)
	fields := object(schema["properties"])
	collides := false
	for name := range fields {
		collides = collides || properties[name] != nil
	}
	if len(fields) == 0 || collides {
		if schema != nil {
			properties["body"], required["body"] = schema, body["required"] == true
		}
		return
	}
	maps.Copy(properties, fields)
	for _, name := range list(schema["required"]) {
		if name := textOf(name); fields[name] != nil && body["required"] == true {
			required[name] = true
		}
	}
}

// output returns the schema of the first successful response that has one, nil if none has.
func (d *openAPI) output(op map[string]any, depth int) any {
	responses := object(op["responses"])
	for _, code := range slices.Sorted(maps.Keys(responses)) {
		if !strings.HasPrefix(code, "2") {
			continue
		}
		if r, err := d.resolved(responses[code]); err == nil {
			if s := d.typed(r, depth); len(s) > 0 {
				return s
			}
		}
	}
	return nil
}

// typed returns the schema of a parameter, body or response: its own schema, or that of its JSON or form content; nil
// for none.
func (d *openAPI) typed(holder map[string]any, depth int) map[string]any {
	if s := holder["schema"]; s != nil {
		return object(d.schema(s, depth))
	}
	types := object(holder["content"])
	for _, like := range []string{"application/json", "json", "form"} {
		for _, kind := range slices.Sorted(maps.Keys(types)) {
			if strings.Contains(kind, like) {
				return object(d.schema(object(types[kind])["schema"], depth))
			}
		}
	}
	return nil
}

// nested lists the schema keywords whose value is a schema or a list of schemas, kept those whose values are copied.
var (
	nested = strings.Fields(`allOf anyOf oneOf prefixItems items contains not if then else propertyNames contentSchema
	additionalProperties unevaluatedProperties unevaluatedItems additionalItems`)
	kept = strings.Fields(`type format enum const required title description default minimum maximum exclusiveMinimum exclusiveMaximum
	multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties`)
)

// schema inlines a schema down to a depth, as JSON Schema 2020-12. A reference that cannot be resolved becomes an empty
// schema.
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
		d.lost[err.Error()] = true
		return map[string]any{}
	}
	if ref != "" {
		d.active = append(d.active, ref)
		defer func() { d.active = d.active[:len(d.active)-1] }()
	}
	s := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(m)) { // sorted, so that the budget always ends at the same place
		value := m[key]
		switch {
		case slices.Contains(kept, key):
			s[key] = value
		case slices.Contains(nested, key) && list(value) != nil:
			all := make([]any, len(list(value)))
			for i, e := range list(value) {
				all[i] = d.schema(e, depth-1)
			}
			if len(all) > 0 {
				s[key] = all
			}
		case slices.Contains(nested, key):
			s[key] = d.schema(value, depth-1)
		case (key == "properties" || key == "patternProperties") && len(object(value)) > 0: // definitions are not referenced any more
			all := make(map[string]any, len(object(value)))
			for _, name := range slices.Sorted(maps.Keys(object(value))) {
				all[name] = d.schema(object(value)[name], depth-1)
			}
			s[key] = all
		}
	}
	nullable := func(m map[string]any) bool { return m["nullable"] == true || m["x-nullable"] == true }
	return upgraded(nullable(m) || nullable(object(v)), s)
}

// upgraded converts the keywords of OpenAPI 3.0 that JSON Schema does not have.
func upgraded(nullable bool, s map[string]any) any {
	for _, exclusive := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
		if _, flag := s[exclusive].(bool); flag { // the bound itself is kept
			delete(s, exclusive)
		}
	}
	if !nullable || len(s) == 0 {
		return s
	}
	kind := textOf(s["type"])
	if kind == "" && s["type"] == nil {
		return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
	}
	if kind != "" {
		s["type"] = []any{kind, "null"}
	}
	if enum := list(s["enum"]); enum != nil && !slices.Contains(enum, nil) {
		s["enum"] = append(slices.Clone(enum), nil)
	}
	return s
}
