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

// Tool is an operation as MCP publishes it. It is annotated as read-only if its scope is ScopeRead.
type Tool struct {
	Rule
	Name, Title, Description string
	Screen                   string // the page that shows its answers; may be empty
	Destructive, OpenWorld   bool   // hints of MCP
	Servers                  bool   // offered only if upstream servers are connected
	Rounded                  bool   // fractions in answers have four significant digits
	Schema                   json.RawMessage
	Call                     func(ctx context.Context, arguments json.RawMessage) (ToolAnswer, error)
}

// ToolAnswer is the answer of a tool. A host shows its model either the text or the JSON, so the JSON contains the text too.
type ToolAnswer struct {
	Text string
	JSON json.RawMessage
}

// arguments is implemented by requests whose tool arguments are not just the body.
type arguments interface{ Arguments() any }

// brief is implemented by bodies with other defaults for a model, which pays for each byte.
type brief interface{ Brief() }

// NewTool makes a tool from a handler and from the text of its answer for the model. Without a text, the answer must
// contain a message of its own. The arguments of the tool are the field Body of I; an I without one, as that of a GET,
// must have the method Arguments, or NewTool panics.
func NewTool[I, O any](t Tool, f func(ctx context.Context, in *I) (O, error), text func(in *I, out O) string) Tool {
	argumentsOf := func(in *I) any {
		if own, ok := any(in).(arguments); ok {
			return own.Arguments()
		}
		return reflect.ValueOf(in).Elem().FieldByName("Body").Addr().Interface()
	}
	t.Schema = schemaOf(reflect.TypeOf(argumentsOf(new(I))).Elem()).published
	t.Call = func(ctx context.Context, raw json.RawMessage) (answer ToolAnswer, err error) {
		in := new(I)
		into := argumentsOf(in)
		if err := Arguments(raw, into); err != nil {
			return answer, err
		}
		if b, ok := into.(brief); ok {
			b.Brief()
		}
		out, err := f(ctx, in)
		if err != nil {
			return answer, err
		}
		said := ""
		if text != nil {
			said = text(in, out)
		}
		if t.Rounded {
			return WithMessage(out, said, fourDigits)
		}
		return WithMessage(out, said)
	}
	return t
}

// WithMessage encodes a value as an answer with the text as its message. If the text is empty, the value must have a
// message of its own.
func WithMessage(value any, text string, form ...jsonv2.Options) (answer ToolAnswer, err error) {
	if answer.JSON, err = Encode(value, form...); err != nil {
		return answer, err
	}
	if answer.Text = text; text == "" {
		var own struct{ Message string }
		err = json.Unmarshal(answer.JSON, &own)
		answer.Text = own.Message
		return answer, err
	}
	message, err := Encode(text)
	answer.JSON = slices.Concat([]byte(`{"message":`), message, []byte(","), answer.JSON[1:])
	return answer, err
}

// Object is any JSON object.
type Object struct{ json.RawMessage }

// Schema implements [huma.SchemaProvider].
func (Object) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeObject} }

// Limited calls f, after waiting for a turn if the operation or the request is long. size is the request's size in bytes.
func Limited[O any](ctx context.Context, r *Table, ru Rule, size int64, f func() (O, error)) (none O, err error) {
	if ru.Long || ru.Scope == ScopeRead && size > LongQuestion {
		leave, err := r.Limiter.Enter(ctx, From(ctx).LimitKey())
		if err != nil {
			return none, err
		}
		defer leave()
	}
	return f()
}

// Resolve returns the id that a spelling means to a caller. For a caller with a tool set, an ambiguous spelling is
// refused like an id outside the set, because the error for it lists ids.
func Resolve(a Access, m *suggest.Model, spelling string) (string, error) {
	id, err := m.Resolve(spelling)
	if a.Tools != nil && (err != nil || !m.Allows(a.Tools, id)) {
		return "", Problem(http.StatusForbidden, a.Tools.Refusal(catalog.ShownID(spelling)).Error())
	}
	return id, err
}

// The texts for models are built from templates of this program, ids and numbers: the author of a tool's description
// must not be able to speak in this server's voice. An id is quoted unless it looks like one. Other external text, such
// as a description, is first reduced to one short line (ShownText).

// ShownIDs joins ids; of a long list it names the first 10 and the number of the others.
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

// ShownText returns external text on one line of at most 300 bytes.
func ShownText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Arguments decodes the arguments of a tool by the rules of an HTTP body. It converts values that a host sent as text.
func Arguments(raw json.RawMessage, into any) error {
	k := schemaOf(reflect.TypeOf(into).Elem())
	raw = catalog.ParseStrings(raw, k.complete)
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

// SchemaOf returns the schema of the arguments of a tool: the schema of the type without references, without the fields
// with the tag mcp:"-", and without limits that no model reaches. Fields with the tag mcp:"optional" are not required.
func SchemaOf(t reflect.Type) json.RawMessage { return schemaOf(t).published }

// toolSchema is the schema of a type: for validation, without references and, for publication, without hidden fields.
type toolSchema struct {
	registry            huma.Registry
	schema              *huma.Schema
	complete, published json.RawMessage
}

var toolSchemas sync.Map // toolSchema by type

func schemaOf(t reflect.Type) toolSchema {
	if k, ok := toolSchemas.Load(t); ok {
		return k.(toolSchema)
	}
	k := toolSchema{registry: huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)}
	k.schema = k.registry.Schema(t, false, "")
	k.optional(k.schema, t)
	k.complete, k.published = k.inlined(k.schema, t, ""), k.inlined(k.schema, t, "-")
	toolSchemas.Store(t, k)
	return k
}

// tags returns the mcp tags of the fields of a struct by their JSON names.
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

func (k *toolSchema) inlined(s *huma.Schema, t reflect.Type, hidden string) json.RawMessage {
	text, err := json.Marshal(k.inline(s, t, hidden))
	if err != nil {
		panic(err) // a type of this program
	}
	return text
}

// inline leaves out the fields with the tag hidden, which may be empty. With a tag it also leaves out what objects say
// about other members.
func (k *toolSchema) inline(s *huma.Schema, t reflect.Type, hidden string) *huma.Schema {
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
		if hidden == "" || of[name] != hidden {
			out.Properties[name] = k.inline(p, nil, hidden)
		}
	}
	out.Items = k.inline(out.Items, nil, hidden)
	switch values, ok := out.AdditionalProperties.(*huma.Schema); {
	case hidden != "": // every byte of the list of tools costs in each session
		out.AdditionalProperties = nil
	case ok:
		out.AdditionalProperties = k.inline(values, nil, hidden)
	}
	return &out
}
