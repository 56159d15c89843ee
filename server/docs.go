package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"waymark/server/internal/problem"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// The documentation of the API is one page made from the OpenAPI description when it is first
// asked for. It needs no network and no script; the machine-readable form is /openapi.json.

var docsPage = template.Must(template.ParseFS(pageFiles, "pages/docs.html", "pages/style.html"))

type docsOperation struct {
	ID, Method, Path, Summary string
	Description               []string // paragraphs
	Parameters                []docsField
	Bodies, Answers           []docsContent
}

type docsContent struct {
	Label, Media string
	Type         docsType
}

type docsField struct {
	Name, Where, Doc string
	Type             docsType
	Required         bool
}

// docsType is a type in words, with the name of the schema it refers to, if any.
type docsType struct{ Before, Ref, After string }

type docsSchema struct {
	Name   string
	Doc    string
	Fields []docsField
	Type   docsType // of schemas that are no objects
}

type docsGroup struct {
	Name       string
	Operations []docsOperation
}

// description is what is said of the API, for programs and for people.
type description struct{ openapi, page []byte }

// describeAPI writes down the routes, once they are all registered.
func describeAPI(spec *huma.OpenAPI) (*description, error) {
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	var b bytes.Buffer
	err = docsPage.Execute(&b, map[string]any{
		"Version": spec.Info.Version, "Description": spec.Info.Description, "Groups": docsGroups(spec), "Schemas": docsSchemas(spec)})
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	return &description{append(text, '\n'), b.Bytes()}, nil
}

func (s *Server) serveDocs(c *gin.Context) {
	d, err := s.description()
	if err != nil {
		problem.Fail(c, err)
		return
	}
	servePage(c, d.page)
}

func (s *Server) serveOpenAPI(c *gin.Context) {
	d, err := s.description()
	if err != nil {
		problem.Fail(c, err)
		return
	}
	c.Data(http.StatusOK, "application/openapi+json", d.openapi)
}

// docsTags is the order of the groups: as a newcomer meets them.
var docsTags = []string{"Suggestions", "Scorers", "Runs", "History", "Catalog", "Servers", "Model", "Administration"}

func docsGroups(spec *huma.OpenAPI) []docsGroup {
	groups := make([]docsGroup, len(docsTags))
	for i, tag := range docsTags {
		groups[i].Name = tag
	}
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		item := spec.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete} {
			if op == nil || len(op.Tags) == 0 {
				continue
			}
			g := &groups[slices.Index(docsTags, op.Tags[0])]
			g.Operations = append(g.Operations, docsOperationOf(op))
		}
	}
	return groups
}

func docsOperationOf(op *huma.Operation) docsOperation {
	d := docsOperation{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: strings.Split(op.Description, "\n\n")}
	for _, p := range op.Parameters {
		d.Parameters = append(d.Parameters, docsField{Name: p.Name, Where: p.In, Doc: p.Description, Type: docsTypeOf(p.Schema), Required: p.Required})
	}
	if op.RequestBody != nil {
		for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
			d.Bodies = append(d.Bodies, docsContent{"Body", media, docsTypeOf(op.RequestBody.Content[media].Schema)})
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if status >= "400" { // problems, the same for all
			continue
		}
		content := op.Responses[status].Content
		if len(content) == 0 {
			d.Answers = append(d.Answers, docsContent{Label: status})
		}
		for _, media := range slices.Sorted(maps.Keys(content)) {
			d.Answers = append(d.Answers, docsContent{status, media, docsTypeOf(content[media].Schema)})
		}
	}
	return d
}

func docsSchemas(spec *huma.OpenAPI) []docsSchema {
	all := spec.Components.Schemas.Map()
	var out []docsSchema
	for _, name := range slices.Sorted(maps.Keys(all)) {
		schema := all[name]
		d := docsSchema{Name: name, Doc: schema.Description}
		if schema.Type != huma.TypeObject {
			d.Type = docsTypeOf(schema)
		}
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			p := schema.Properties[field]
			d.Fields = append(d.Fields, docsField{Name: field, Doc: p.Description, Type: docsTypeOf(p), Required: slices.Contains(schema.Required, field)})
		}
		out = append(out, d)
	}
	return out
}

func docsTypeOf(s *huma.Schema) docsType {
	switch {
	case s == nil:
		return docsType{}
	case s.Ref != "":
		return docsType{Ref: s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]}
	case len(s.OneOf) > 0:
		t := docsTypeOf(s.OneOf[0])
		for _, other := range s.OneOf[1:] {
			o := docsTypeOf(other)
			t.After += " or " + o.Before + o.Ref + o.After
		}
		return t
	case s.Type == huma.TypeArray:
		t := docsTypeOf(s.Items)
		t.Before = "list of " + t.Before
		return t
	case s.Type == huma.TypeObject:
		if value, ok := s.AdditionalProperties.(*huma.Schema); ok {
			t := docsTypeOf(value)
			t.Before = "map to " + t.Before
			return t
		}
		return docsType{Before: "object"}
	}
	t := docsType{Before: s.Type}
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
