package route

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"waymark/server/internal/jsonio"
)

// Call is an operation as an MCP tool has it: arguments in the place of a body.
type Call struct {
	Rule
	Body reflect.Type
	Do   func(ctx context.Context, arguments json.RawMessage) (any, error)
}

// brief is a body with other defaults for a model, which pays for each byte.
type brief interface{ Brief() }

func callOf[I, O any](ru Rule, handler func(context.Context, *I) (O, error)) Call {
	body, _ := reflect.TypeFor[I]().FieldByName("Body")
	return Call{ru, body.Type, func(ctx context.Context, arguments json.RawMessage) (any, error) {
		in := new(I)
		into := reflect.ValueOf(in).Elem().FieldByIndex(body.Index).Addr().Interface()
		if err := Arguments(arguments, into); err != nil {
			return nil, err
		}
		if b, ok := into.(brief); ok {
			b.Brief()
		}
		return handler(ctx, in)
	}}
}

// Arguments reads the arguments of a tool by the rules of an HTTP body.
func Arguments(raw json.RawMessage, into any) error {
	if err := jsonio.DecodeArguments(raw, into); err != nil {
		return err
	}
	value := any(map[string]any{})
	if len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &value); err != nil {
			return err
		}
	}
	k := schemaOf(reflect.TypeOf(into).Elem())
	result := &huma.ValidateResult{}
	huma.Validate(k.registry, k.schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, result)
	if len(result.Errors) > 0 {
		return huma.NewError(http.StatusUnprocessableEntity, "validation failed", result.Errors...)
	}
	return nil
}

// SchemaOf is the schema of the arguments of a tool: that of the body without references, without the fields with the tag
// mcp:"-", and without bounds that no model reaches. Fields with the tag mcp:"optional" may be left out.
func SchemaOf(t reflect.Type) json.RawMessage { return schemaOf(t).published }

// toolSchema is the schema of a type, as it is checked and as it is published.
type toolSchema struct {
	registry  huma.Registry
	schema    *huma.Schema
	published json.RawMessage
}

var toolSchemas sync.Map // of toolSchema by type

func schemaOf(t reflect.Type) toolSchema {
	if k, ok := toolSchemas.Load(t); ok {
		return k.(toolSchema)
	}
	k := toolSchema{registry: huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)}
	k.schema = k.registry.Schema(t, false, "")
	k.optional(k.schema, t)
	published, err := json.Marshal(k.inlined(k.schema, t))
	if err != nil {
		panic(err) // of a type of this program
	}
	k.published = published
	toolSchemas.Store(t, k)
	return k
}

// tags are the mcp tags of the fields of a struct by their names in JSON.
func tags(t reflect.Type) map[string]string {
	all := map[string]string{}
	if t != nil && t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			all[jsonio.Name(f)] = f.Tag.Get("mcp")
		}
	}
	return all
}

func (k *toolSchema) optional(s *huma.Schema, t reflect.Type) {
	of := tags(t)
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return of[name] != "" })
	s.PrecomputeMessages()
}

func (k *toolSchema) inlined(s *huma.Schema, t reflect.Type) *huma.Schema {
	if s == nil {
		return nil
	}
	out := *s
	if s.Ref != "" {
		t, out = k.registry.TypeFromRef(s.Ref), *k.registry.SchemaFromRef(s.Ref)
		if s.Description != "" {
			out.Description = s.Description
		}
	}
	if out.Format != "date-time" {
		out.Format = ""
	}
	out.ContentEncoding, out.MaxLength, out.MaxItems, out.Examples = "", nil, nil, nil
	of, properties := tags(t), out.Properties
	out.Properties = map[string]*huma.Schema{}
	for name, p := range properties {
		if of[name] != "-" {
			out.Properties[name] = k.inlined(p, nil)
		}
	}
	out.Items = k.inlined(out.Items, nil)
	if values, ok := out.AdditionalProperties.(*huma.Schema); ok {
		out.AdditionalProperties = k.inlined(values, nil)
	}
	return &out
}
