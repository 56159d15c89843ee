package route

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

type operation struct {
	ID, Method, Path, Summary string
	Description               []string // paragraphs
	Parameters                []field
	Bodies, Answers           []content
}

type content struct {
	Label, Media string
	Type         typeWords
	Example      string
}

type field struct {
	Name, Where, Doc string
	Type             typeWords
	Required         bool
}

// docsType is a type in words, with the name of the schema it refers to, if any.
type typeWords struct{ Before, Ref, After string }

type schemaOf struct {
	Name   string
	Doc    string
	Fields []field
	Type   typeWords // of schemas that are no objects
}

type group struct {
	Name       string
	Operations []operation
}

// Pages is what is said of the API, for programs and for people.
type Pages struct{ OpenAPI, Page []byte }

// Describe writes down the routes, once they are all registered.
func Describe(spec *huma.OpenAPI, page *template.Template) (*Pages, error) {
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Version": spec.Info.Version, "Description": spec.Info.Description, "Groups": groups(spec), "Schemas": schemas(spec)})
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	return &Pages{append(text, '\n'), b.Bytes()}, nil
}

// Tags is the order of the groups: as a newcomer meets them.
var Tags = []*huma.Tag{
	{Name: "Suggestions", Description: "What comes next, DAGs of tools, search, and why"},
	{Name: "Scorers", Description: "Rubrics, councils and evidence"},
	{Name: "Runs", Description: "Running DAGs and stored capabilities"},
	{Name: "History", Description: "Recording episodes, and erasing them"},
	{Name: "Catalog", Description: "Tools and capabilities"},
	{Name: "Servers", Description: "MCP servers behind the gateway, and the approval of their tools"},
	{Name: "Model", Description: "The graph, rebuilds and evaluations"},
	{Name: "Administration", Description: "Workspaces, keys, rules and backups"},
}

func groups(spec *huma.OpenAPI) []group {
	groups := make([]group, len(Tags))
	for i, tag := range Tags {
		groups[i].Name = tag.Name
	}
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		item := spec.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete} {
			if op == nil || len(op.Tags) == 0 {
				continue
			}
			g := &groups[slices.IndexFunc(Tags, func(t *huma.Tag) bool { return t.Name == op.Tags[0] })]
			g.Operations = append(g.Operations, operationOf(op))
		}
	}
	return groups
}

func operationOf(op *huma.Operation) operation {
	d := operation{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: strings.Split(op.Description, "\n\n")}
	for _, p := range op.Parameters {
		d.Parameters = append(d.Parameters, field{Name: p.Name, Where: p.In, Doc: p.Description, Type: wordsOf(p.Schema), Required: p.Required})
	}
	if op.RequestBody != nil {
		for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
			d.Bodies = append(d.Bodies, content{"Body", media, wordsOf(op.RequestBody.Content[media].Schema), exampleOf(op.RequestBody.Content[media])})
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if status >= "400" { // problems, the same for all
			continue
		}
		bodies := op.Responses[status].Content
		if len(bodies) == 0 {
			d.Answers = append(d.Answers, content{Label: status})
		}
		for _, media := range slices.Sorted(maps.Keys(bodies)) {
			d.Answers = append(d.Answers, content{status, media, wordsOf(bodies[media].Schema), exampleOf(bodies[media])})
		}
	}
	return d
}

// exampleOf is the recorded value of a body, to be read.
func exampleOf(m *huma.MediaType) string {
	text, _ := m.Example.(json.RawMessage)
	var lines string
	if json.Unmarshal(text, &lines) == nil {
		return lines
	}
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return ""
	}
	return b.String()
}

func schemas(spec *huma.OpenAPI) []schemaOf {
	all := spec.Components.Schemas.Map()
	var out []schemaOf
	for _, name := range slices.Sorted(maps.Keys(all)) {
		schema := all[name]
		d := schemaOf{Name: name, Doc: schema.Description}
		if schema.Type != huma.TypeObject {
			d.Type = wordsOf(schema)
		}
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			p := schema.Properties[name]
			d.Fields = append(d.Fields, field{Name: name, Doc: p.Description, Type: wordsOf(p), Required: slices.Contains(schema.Required, name)})
		}
		out = append(out, d)
	}
	return out
}

func wordsOf(s *huma.Schema) typeWords {
	switch {
	case s == nil:
		return typeWords{}
	case s.Ref != "":
		return typeWords{Ref: s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]}
	case len(s.OneOf)+len(s.AnyOf) > 0:
		all := slices.Concat(s.OneOf, s.AnyOf)
		t := wordsOf(all[0])
		for _, other := range all[1:] {
			o := wordsOf(other)
			t.After += " or " + o.Before + o.Ref + o.After
		}
		return t
	case s.Type == huma.TypeArray:
		t := wordsOf(s.Items)
		t.Before = "list of " + t.Before
		return t
	case s.Type == huma.TypeObject:
		if value, ok := s.AdditionalProperties.(*huma.Schema); ok {
			t := wordsOf(value)
			t.Before = "map to " + t.Before
			return t
		}
		return typeWords{Before: "object"}
	}
	t := typeWords{Before: s.Type}
	if t.Before == "" {
		t.Before = "any JSON"
	}
	if s.Format != "" {
		t.Before += " (" + s.Format + ")"
	}
	if len(s.Enum) > 0 {
		var names []string
		for _, v := range s.Enum {
			names = append(names, fmt.Sprint(v))
		}
		t.Before = strings.Join(names, ", ")
	}
	var bounds []string
	if s.Minimum != nil {
		bounds = append(bounds, fmt.Sprintf("from %v", *s.Minimum))
	}
	if s.Maximum != nil {
		bounds = append(bounds, fmt.Sprintf("to %v", *s.Maximum))
	}
	if s.MaxLength != nil {
		bounds = append(bounds, fmt.Sprintf("at most %d characters", *s.MaxLength))
	}
	if s.Default != nil {
		bounds = append(bounds, fmt.Sprintf("default %v", s.Default))
	}
	if len(bounds) > 0 {
		t.After = ", " + strings.Join(bounds, " ")
	}
	return t
}
