// Package api holds what every operation of HTTP and MCP has in common:
//
//	access.go       who asks, what they may do, and what the log says of the request
//	route.go        the table of operations with the rules by which the middleware treats them; tool.go as MCP tools
//	share.go        what a server has, divided among its clients: bytes, requests and computations; connections.go
//	json.go         JSON, strictly in, and with one form for each value out; body.go bodies that a handler reads itself
//	problem.go      the one place where an error becomes a status and a text
package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/danielgtaylor/huma/v2/sse"

	"waymark/live"
)

// Table registers operations together with the rules by which the middleware treats them.
type Table struct {
	API        huma.API
	Workspaces *live.Workspaces
	MaxBody    int64
	Timeout    time.Duration   // of an answer, where its rule has none
	Turns      *Turns          // of what computes for long
	Rules      map[string]Rule // by method and gin path

	Operations []Operation // in the order of their registration
	Tools      []Tool      // of MCP
}

// Operation describes a registered operation to those who send its requests.
type Operation struct {
	huma.Operation
	in reflect.Type
}

// Field is a path or query parameter, or a field of the body, of an operation.
type Field struct {
	Name, In string // In: path, query or body
	Key      string // the name, after "body." where a path parameter has it, too
	Type     reflect.Type
	Tag      reflect.StructTag
}

// Kind is the kind of value of a field: string, int, float64, bool, list, or what else it is.
func (f Field) Kind() string {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "list"
	case k >= reflect.Int && k <= reflect.Uint64:
		return "int"
	default:
		return k.String()
	}
}

// Fields are the fields of a request that is a flat object; the others are not listed.
func (o Operation) Fields() (all []Field) {
	for _, f := range reflect.VisibleFields(o.in) {
		for _, in := range []string{"path", "query"} {
			if name, _, _ := strings.Cut(f.Tag.Get(in), ","); name != "" {
				all = append(all, Field{name, in, name, f.Type, f.Tag})
			}
		}
		body := f.Type
		if body.Kind() == reflect.Pointer {
			body = body.Elem()
		}
		if f.Name != "Body" || body.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(body) {
			if name := FieldName(f); name != "" && name != "-" {
				key := name
				if strings.Contains(o.Path, "{"+name+"}") {
					key = "body." + name
				}
				all = append(all, Field{name, "body", key, f.Type, f.Tag})
			}
		}
	}
	return all
}

// Rule is what the middleware must know of a route before it runs.
type Rule struct {
	Public bool   // answered without a credential
	Scope  Scopes // needed
	Stream bool   // no deadlines, no limit of the whole body
	Long   bool   // computes for long: answered in turn, as long questions are

	ToolSet bool // applies the tool set of a credential; all other routes are refused to it

	Operator bool // only the operator of the server may, beside the scope
	Creates  bool // a workspace that does not exist is created: the route records
	Global   bool // of no workspace, so it does not matter whether there is one

	Also string // a media type that is taken beside application/json
	Gzip bool   // packed bodies are taken

	Timeout time.Duration // of the answer, default Config.Timeout
	Body    int64         // bytes taken where that is more than Config.MaxBody
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

// Op is an operation of the API, without what follows from its rule.
func Op(tag, id, method, path, summary, text string) huma.Operation {
	return huma.Operation{Tags: []string{tag}, OperationID: id, Method: method, Path: path, Summary: summary, Description: text}
}

// None is an answer without a body.
type None struct{}

// Body is an answer with one.
type Body[O any] struct{ Body O }

// Add registers an operation together with its rule. O is the body of its answer.
func Add[I, O any](r *Table, ru Rule, op huma.Operation, handler func(context.Context, *I) (O, error)) {
	if _, none := any(*new(O)).(None); none {
		Raw(r, ru, op, func(ctx context.Context, in *I) (*struct{}, error) {
			_, err := handler(ctx, in)
			return nil, err
		})
		return
	}
	Raw(r, ru, op, func(ctx context.Context, in *I) (*Body[O], error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, err
		}
		return &Body[O]{out}, nil
	})
}

// Raw registers an operation whose answer is more than a body.
func Raw[I, O any](r *Table, ru Rule, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	r.Declare(ru, &op)
	r.Operations = append(r.Operations, Operation{op, reflect.TypeFor[I]()})
	if r.API == nil { // the table alone is wanted
		return
	}
	if ru.Stream {
		huma.Register(r.API, op, handler)
		return
	}
	huma.Register(r.API, op, func(ctx context.Context, in *I) (*O, error) {
		return InTurn(ctx, r, ru, ExchangeFrom(ctx).Size, func() (*O, error) { return handler(ctx, in) })
	})
}

// ByID is the path parameter of one thing.
type ByID struct {
	ID string `path:"id" doc:"The id, percent-encoded."`
}

// Stream registers an operation that answers with server-sent events. exists refuses a request with a status before the
// stream begins, after which there is none left to choose.
func Stream(r *Table, ru Rule, op huma.Operation, events map[string]any, exists func(ctx context.Context, id string) error,
	handler func(ctx context.Context, in *ByID, send sse.Sender)) {
	op.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		if err := exists(ctx.Context(), ctx.Param("id")); err != nil {
			Fail(humagin.Unwrap(ctx), err)
			return
		}
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no") // proxies that collect answers would hold back events
		next(ctx)
	}}
	ru.Stream = true
	r.Declare(ru, &op)
	if r.API == nil {
		return
	}
	sse.Register(r.API, op, events, handler)
}

// Relay sends updates until the last one, the end of the request, or shutdown. event is what is sent of an update.
func Relay[T any](ctx context.Context, draining <-chan struct{}, updates <-chan T, event func(T) (data any, last bool), send sse.Sender) {
	for id := 1; ; id++ {
		select {
		case update, ok := <-updates:
			if !ok {
				return
			}
			if data, last := event(update); send(sse.Message{ID: id, Data: data}) != nil || last {
				return
			}
		case <-ctx.Done():
			return
		case <-draining:
			return
		}
	}
}

// A Handler answers an operation on a workspace.
type Handler[I, O any] func(ctx context.Context, e *live.Engine, in *I) (O, error)

// Ask registers a question: its workspace must exist, and its model.
func Ask[I, O any](r *Table, ru Rule, op huma.Operation, handler Handler[I, O]) {
	addTo(r, ru, op, r.Workspaces.Get, handler)
}

// Record registers an operation that only records: it waits for no build, and creates a workspace that does not exist.
func Record[I, O any](r *Table, ru Rule, op huma.Operation, handler Handler[I, O]) {
	addTo(r, ru, op, r.Workspaces.Open, handler)
}

func addTo[I, O any](r *Table, ru Rule, op huma.Operation, open func(context.Context, string) (*live.Engine, error), handler Handler[I, O]) {
	Add(r, ru, op, func(ctx context.Context, in *I) (out O, err error) {
		e, err := open(ctx, From(ctx).Workspace)
		if err != nil {
			return out, err
		}
		return handler(ctx, e, in)
	})
}

// Schemas are those of the description.
func (r *Table) Schemas() huma.Registry {
	if r.API == nil {
		return huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	}
	return r.API.OpenAPI().Components.Schemas
}

// TimeLimit is how long an answer of a route may take; streams have no limit.
func (r *Table) TimeLimit(ru Rule) time.Duration { return cmp.Or(ru.Timeout, r.Timeout) }

// Declare notes the rule of an operation and completes its description.
func (r *Table) Declare(ru Rule, op *huma.Operation) {
	ginPath := strings.NewReplacer("{", ":", "}", "").Replace(op.Path)
	r.Rules[op.Method+" "+ginPath] = ru
	op.MaxBodyBytes = max(r.MaxBody, ru.Body) + 1 // huma refuses the limit itself; the real limit is in limitBody
	op.BodyReadTimeout = ReadTimeout
	op.Security = []map[string][]string{{"key": {}}, {}}
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	if !ru.Stream {
		op.Errors = append(op.Errors, http.StatusGatewayTimeout)
	}
	if strings.Contains(op.Path, "{") {
		op.Errors = append(op.Errors, http.StatusNotFound)
	}
	if op.Method != http.MethodGet && op.Method != http.MethodDelete {
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	if op.Method != http.MethodGet && ru.Scope != ScopeRead {
		op.Errors = append(op.Errors, http.StatusConflict, http.StatusInsufficientStorage)
	}
	op.Description = strings.TrimSpace(op.Description + "\n\nNeeds scope " + strings.Join(ru.Scope.Names(), ", ") + ".")
}

// ReadTimeout is how long a body may take, and a request whose body is not read to its end.
const ReadTimeout = 15 * time.Second
