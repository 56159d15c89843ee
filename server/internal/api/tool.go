package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	jsonv2 "github.com/go-json-experiment/json"

	"waymark/catalog"
	"waymark/suggest"
)

// Tool is an operation as MCP publishes it. It reads if its scope does.
type Tool struct {
	Rule
	Name, Title, Description string
	Screen                   string // of the page that shows its answers; may be empty
	Destructive, OpenWorld   bool   // as the hints of MCP have it
	Servers                  bool   // offered only where other servers are connected
	Rounded                  bool   // answers have numbers of four digits
	Schema                   json.RawMessage
	Call                     func(ctx context.Context, arguments json.RawMessage) (Told, error)
}

// Told is the answer of a tool. Hosts show a model the text or the structured answer, so the text is in both.
type Told struct {
	Text string
	JSON json.RawMessage
}

// arguments is a request whose arguments as a tool are not just its body.
type arguments interface{ Arguments() any }

// brief is a body with other defaults for a model, which pays for each byte.
type brief interface{ Brief() }

// NewTool makes a tool of a function, which returns its answer and a text for the model; without a text the answer has a
// message of its own.
func NewTool[I, O any](t Tool, f func(ctx context.Context, in *I) (O, string, error)) Tool {
	argumentsOf := func(in *I) any {
		if own, ok := any(in).(arguments); ok {
			return own.Arguments()
		}
		return reflect.ValueOf(in).Elem().FieldByName("Body").Addr().Interface()
	}
	t.Schema = schemaOf(reflect.TypeOf(argumentsOf(new(I))).Elem()).published
	t.Call = func(ctx context.Context, raw json.RawMessage) (told Told, err error) {
		in := new(I)
		into := argumentsOf(in)
		if err := Arguments(raw, into); err != nil {
			return told, err
		}
		if b, ok := into.(brief); ok {
			b.Brief()
		}
		out, text, err := f(ctx, in)
		if err != nil {
			return told, err
		}
		if t.Rounded {
			return Tell(out, text, fourDigits)
		}
		return Tell(out, text)
	}
	return t
}

// Tell puts a text into an answer.
func Tell(answer any, text string, form ...jsonv2.Options) (told Told, err error) {
	if told.JSON, err = Encode(answer, form...); err != nil {
		return told, err
	}
	if told.Text = text; text == "" {
		var own struct{ Message string }
		err = json.Unmarshal(told.JSON, &own)
		told.Text = own.Message
		return told, err
	}
	message, err := Encode(text)
	told.JSON = slices.Concat([]byte(`{"message":`), message, []byte(","), told.JSON[1:])
	return told, err
}

// Object is any object.
type Object struct{ json.RawMessage }

// Schema implements [huma.SchemaProvider].
func (Object) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeObject} }

// InTurn answers at once, or in turn where that takes long. size is that of the request in bytes.
func InTurn[O any](ctx context.Context, r *Table, ru Rule, size int64, f func() (O, error)) (none O, err error) {
	if ru.Long || ru.Scope == ScopeRead && size > LongQuestion {
		leave, err := r.Turns.Enter(ctx, From(ctx).Holder())
		if err != nil {
			return none, err
		}
		defer leave()
	}
	return f()
}

// Resolve returns the id that a spelling means to a caller. Within a tool set an ambiguous spelling is refused like an id
// outside it, because the error lists ids.
func Resolve(a Access, m *suggest.Model, spelling string) (string, error) {
	id, err := m.Resolve(spelling)
	if a.Tools != nil && (err != nil || !m.Allows(a.Tools, id)) {
		return "", Problem(http.StatusForbidden, a.Tools.Refusal(catalog.ShownID(spelling)).Error())
	}
	return id, err
}

// The texts that a model reads are made from templates of this program, ids and numbers. Descriptions, intents and
// results of others never enter them: whoever writes a tool's description must not be able to speak in this server's
// voice. Even an id is quoted unless it looks like one.

// ShownIDs joins ids; a long list is cut.
func ShownIDs(ids []string) string {
	const most = 10
	shown := make([]string, min(len(ids), most))
	for i := range shown {
		shown[i] = catalog.ShownID(ids[i])
	}
	if more := len(ids) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// ShownText is a text of others on one line, not too long.
func ShownText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Arguments reads the arguments of a tool by the rules of an HTTP body. Values that a host sends as texts are read.
func Arguments(raw json.RawMessage, into any) error {
	k := schemaOf(reflect.TypeOf(into).Elem())
	raw = catalog.Fit(raw, k.published)
	if err := DecodeArguments(raw, into); err != nil {
		return err
	}
	value := any(map[string]any{})
	if len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &value); err != nil {
			return err
		}
	}
	result := &huma.ValidateResult{}
	huma.Validate(k.registry, k.schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, result)
	if len(result.Errors) > 0 {
		return huma.NewError(http.StatusUnprocessableEntity, "validation failed", result.Errors...)
	}
	return nil
}

// SchemaOf is the schema of the arguments of a tool: that of the type without references, without the fields with the tag
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
			all[FieldName(f)] = f.Tag.Get("mcp")
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
