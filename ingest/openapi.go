package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"waymark/catalog"
	"waymark/ingest/hook"
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
// The schemas that an operation refers to, in the document or in files below its folder, become definitions ($defs) of
// the schemas of its tool. Examples and extensions are left out.
func decodeOpenAPI(in *input, emit func(Item) bool) error {
	return in.eachFile("openapi", func(name string) (more bool, err error) {
		files := *in
		files.isDir = true // open regular files only
		d := openAPI{in: &files, names: map[string]bool{}, files: map[string]*document{}}
		d.lost = func(err error) {
			if reason := "what it names is left open: " + err.Error(); !d.names[reason] {
				d.names[reason] = true
				emit(Item{File: name, Dropped: reason})
			}
		}
		root, err := d.file(name)
		if err == nil {
			err = knownVersion(root)
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		d.server = cmp.Or(in.opts.Server, strings.ToLower(slug(root.text("info.title"))), serverOfFile(name))
		paths := root.at("paths")
		for _, at := range paths.names() {
			item, err := d.follow(paths.at(at))
			for _, method := range methods {
				if err == nil && item.at(method) == nil || err != nil && method != "get" {
					continue
				}
				it, failed := Item{File: name, Kind: KindTool}, err
				if failed == nil {
					it.Tool, failed = d.tool(method, at, item)
				}
				if failed != nil {
					it.drop(fmt.Sprintf("%s %s: %s", strings.ToUpper(method), at, failed))
				}
				if !emit(it) {
					return false, nil
				}
			}
		}
		return true, nil
	})
}

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}

func knownVersion(root *document) error {
	switch version := root.text("openapi swagger"); {
	case version == "":
		return errors.New("is not an OpenAPI document")
	case !slices.Contains([]string{"2.0", "3.0", "3.1"}, version[:min(len(version), 3)]):
		return fmt.Errorf("OpenAPI %.20s is not read; want 2.0, 3.0 or 3.1", version)
	}
	return nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func slug(s string) string { return strings.Trim(notInName.ReplaceAllString(s, "_"), "_") }

type openAPI struct {
	in     *input
	server string
	names  map[string]bool // of tools
	files  map[string]*document
	lost   func(error) // reports a schema that cannot be read
}

// Limits: files of one document, and bytes of the definitions in one schema, because a schema can refer to all others.
const (
	mostFiles       = 2_000
	mostDefinitions = catalog.MaxSchema / 2
)

// file returns the content of a JSON or YAML file.
func (d *openAPI) file(name string) (root *document, err error) {
	root, known := d.files[name]
	if known {
		return root, nil
	}
	if len(d.files) > mostFiles || len(d.files) > 0 && d.in.stream != nil {
		return nil, errors.New("is not opened")
	}
	text, err := d.in.readAll(name)
	if err == nil {
		root, err = parse(text, "YAML", yaml.Unmarshal)
	}
	if err == nil {
		root = &document{raw: root.raw, file: name}
		d.files[name] = root
	}
	return root, err
}

// target returns the file and the JSON pointer of a reference; the pointer is "" if the value is no reference.
func (d *document) target() (file, pointer string) {
	file, pointer, _ = strings.Cut(d.text("$ref"), "#")
	if file == "" {
		return d.file, pointer
	}
	return path.Join(path.Dir(d.file), file), cmp.Or(pointer, "/")
}

// inPointer decodes the escaped characters in the parts of a JSON pointer.
var inPointer = strings.NewReplacer("~1", "/", "~0", "~")

// follow follows the references of an object and returns their target. A chain of 16 references is an error.
func (d *openAPI) follow(v *document) (*document, error) {
	for range 16 {
		if v == nil || v.raw[0] != '{' {
			return nil, errors.New("is not an object")
		}
		file, pointer := v.target()
		if pointer == "" {
			return v, nil
		}
		to, err := d.file(file)
		if err != nil {
			const lost = "reference %.100q cannot be read in the folder of the document: bundle the document first"
			return nil, fmt.Errorf(lost, v.text("$ref"))
		}
		for part := range strings.SplitSeq(pointer, "/") {
			if part, err := url.PathUnescape(part); err == nil && part != "" {
				to = to.at(inPointer.Replace(part))
			}
		}
		if to == nil {
			return nil, fmt.Errorf("reference %.100q is not found", v.text("$ref"))
		}
		v = to
	}
	return nil, errors.New("references form a cycle")
}

func (d *openAPI) tool(method, at string, item *document) (*catalog.Tool, error) {
	op, err := d.follow(item.at(method))
	if err != nil {
		return nil, err
	}
	name := slug(op.text("operationId"))
	if name == "" || d.names[name] {
		name = method + "_" + slug(at)
	}
	if d.names[name] {
		return nil, fmt.Errorf("there are two operations %q", name)
	}
	d.names[name] = true
	t := &catalog.Tool{ID: catalog.ID(d.server, name), Name: name, Server: d.server}
	t.Description = strings.TrimSpace(strings.TrimSpace(op.text("summary")) + "\n" + strings.TrimSpace(op.text("description")))
	t.Description = cmp.Or(t.Description, strings.ToUpper(method)+" "+at)
	read, remove := method == "get" || method == "head", method == "delete"
	t.Annotations = &catalog.Annotations{ReadOnly: &read, OpenWorld: new(true)}
	if !read {
		t.Annotations.Destructive, t.Annotations.Idempotent = &remove, new(remove || method == "put")
	}
	shared, _ := item.at("parameters").elements()
	own, _ := op.at("parameters").elements()
	input := definitions{openAPI: d, names: map[string]string{}}
	schema, err := input.arguments(append(shared, own...), op.at("requestBody"))
	if err != nil {
		return nil, err
	}
	t.InputSchema = encode(input.with(schema))
	output := definitions{openAPI: d, names: map[string]string{}}
	if schema = output.response(op.at("responses")); len(schema) > 0 {
		t.OutputSchema = encode(output.with(schema))
	}
	return t, nil
}

// arguments returns the schema of the parameters and the body as one object.
func (d *definitions) arguments(parameters []*document, body *document) (map[string]any, error) {
	params := map[string]*document{} // a parameter of the operation replaces that of the path
	for _, p := range parameters {
		p, err := d.follow(p)
		if err != nil {
			return nil, err
		}
		switch name, in := p.text("name"), p.text("in"); {
		case in == "body": // OpenAPI 2.0
			body = p
		case name == "", in == "header" && slices.Contains([]string{"accept", "authorization", "content-type"}, strings.ToLower(name)):
		case in == "path":
			params["\x00"+name] = p // sorts first, so it keeps its name
		default:
			params[in+"\x00"+name] = p
		}
	}
	properties, required := map[string]any{}, map[string]any{}
	for _, k := range slices.Sorted(maps.Keys(params)) {
		p := params[k]
		schema := d.schema(cmp.Or(schemaOf(p), p)) // in OpenAPI 2.0 the parameter itself is a schema
		if schemaOf(p) == nil {
			delete(schema, "required")
		}
		if text := p.text("description"); text != "" {
			schema["description"] = text
		}
		name, in := p.text("name"), p.text("in")
		if properties[name] != nil || name == "body" && body != nil {
			name += "_" + in
		}
		if properties[name] = schema; in == "path" || holds(p, "required=true") {
			required[name] = true
		}
	}
	if body != nil {
		body, err := d.follow(body)
		if err != nil {
			return nil, err
		}
		d.addBody(body, properties, required)
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = slices.Sorted(maps.Keys(required))
	}
	return s, nil
}

// addBody adds the properties of the body, or the body as a whole.
func (d *definitions) addBody(body *document, properties, required map[string]any) {
	schema := schemaOf(body)
	if to, err := d.follow(schema); err == nil && !null(schema) {
		schema = to
	}
	fields, collides := schema.at("properties").names(), false
	for _, name := range fields {
		collides = collides || properties[name] != nil
	}
	needs, _ := schema.at("required").elements()
	switch must := holds(body, "required=true"); {
	case schema == nil:
	case len(fields) == 0 || collides:
		if properties["body"] = d.schema(schema); must {
			required["body"] = true
		}
	default:
		for _, name := range fields {
			properties[name] = d.schema(schema.at("properties." + name))
		}
		for _, name := range needs {
			if name := hook.Text(name.raw); must && properties[name] != nil {
				required[name] = true
			}
		}
	}
}

// response returns the schema of the first successful response that has one, nil if none has.
func (d *definitions) response(responses *document) map[string]any {
	for _, code := range responses.names() {
		if r, err := d.follow(responses.at(code)); err == nil && strings.HasPrefix(code, "2") && schemaOf(r) != nil {
			return d.schema(schemaOf(r))
		}
	}
	return nil
}

// schemaOf returns the schema of a parameter, body or response: its own schema, or that of its JSON or form content; nil
// for none.
func schemaOf(holder *document) *document {
	types := holder.at("content")
	for _, like := range []string{"application/json", "json", "form"} {
		for _, kind := range types.names() {
			if strings.Contains(kind, like) {
				return types.at(kind).at("schema")
			}
		}
	}
	return holder.at("schema")
}

// definitions are the schemas that one schema refers to.
type definitions struct {
	*openAPI
	names map[string]string // file and pointer → name in the schema
	wait  []*document       // references to schemas that are not added yet
}

// with adds the definitions to the schema that refers to them, those nearest to it first, as long as there is room. The
// others, and those that cannot be read, are open.
func (d *definitions) with(schema map[string]any) map[string]any {
	defs := map[string]any{}
	for size := 0; len(d.wait) > 0; d.wait = d.wait[1:] {
		name := d.reference(d.wait[0])
		to, err := d.follow(d.wait[0])
		if err != nil {
			d.lost(err)
			continue
		}
		def := d.schema(to)
		if size += len(encode(def)); size > mostDefinitions {
			break
		}
		defs[name] = def
	}
	for _, name := range d.names {
		if defs[name] == nil {
			defs[name] = map[string]any{}
		}
		schema["$defs"] = defs
	}
	return schema
}

// reference returns the name of the definition that a reference leads to.
func (d *definitions) reference(v *document) string {
	file, pointer := v.target()
	key := file + "#" + pointer
	if name, known := d.names[key]; known {
		return name
	}
	name := slug(path.Base(pointer))
	if slices.Contains(slices.Collect(maps.Values(d.names)), name) || name == "" {
		name = fmt.Sprint("schema", len(d.names))
	}
	d.names[key], d.wait = name, append(d.wait, v)
	return name
}

// nested lists the schema keywords whose value is a schema or a list of schemas, kept those whose values are copied.
var (
	nested = strings.Fields(`allOf anyOf oneOf prefixItems items contains not if then else propertyNames contentSchema
	additionalProperties unevaluatedProperties unevaluatedItems additionalItems`)
	kept = strings.Fields(`type format enum const required title description default minimum maximum exclusiveMinimum exclusiveMaximum
	multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties`)
)

// schema converts a schema to JSON Schema 2020-12. A schema without members, or a boolean, is open.
func (d *definitions) schema(v *document) map[string]any {
	s := map[string]any{}
	if _, pointer := v.target(); pointer != "" {
		s["$ref"] = "#/$defs/" + d.reference(v)
		return nullable(v, s)
	}
	for _, key := range v.names() { // sorted, so that the definitions always have the same order
		value := v.at(key)
		list, isList := value.elements()
		switch isNested := slices.Contains(nested, key); {
		case value == nil:
		case slices.Contains(kept, key), isNested && (string(value.raw) == "true" || string(value.raw) == "false"):
			s[key] = value.raw
		case isNested && isList:
			var all []any
			for _, e := range list {
				all = append(all, d.schema(e))
			}
			s[key] = all
		case isNested:
			s[key] = d.schema(value)
		case key == "properties" || key == "patternProperties":
			all := map[string]any{}
			for _, name := range value.names() {
				all[name] = d.schema(value.at(name))
			}
			s[key] = all
		}
	}
	for _, exclusive := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
		if holds(v, exclusive+"=true|false") { // of OpenAPI 3.0; the bound itself is kept
			delete(s, exclusive)
		}
	}
	return nullable(v, s)
}

func null(v *document) bool { return holds(v, "nullable=true; x-nullable=true") }

// nullable adds null to a schema if its source allows it in the way of OpenAPI 3.0.
func nullable(v *document, s map[string]any) map[string]any {
	var enum []any
	switch kind := v.text("type"); {
	case !null(v) || len(s) == 0:
	case kind != "":
		s["type"] = []string{kind, "null"}
		if json.Unmarshal(v.value("enum"), &enum) == nil && !slices.Contains(enum, nil) {
			s["enum"] = append(enum, nil)
		}
	case v.at("type") == nil:
		return map[string]any{"anyOf": []any{s, map[string]string{"type": "null"}}}
	}
	return s
}
