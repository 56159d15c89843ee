// Package api contains the parts that all operations of HTTP and MCP share:
//
//	access.go       the caller of a request, its permissions, and the data of the request for the log
//	route.go        the table of operations with their rules for the middleware; tool.go as MCP tools
//	share.go        limits per client on bytes, requests and computations; connections.go on connections
//	json.go         strict decoding and uniform encoding of JSON; body.go bodies that a handler reads itself
//	problem.go      the one place where an error becomes a status and a text
package api

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/danielgtaylor/huma/v2/sse"

	"waymark/live"
)

// Table registers operations together with their rules for the middleware.
type Table struct {
	API        huma.API
	Workspaces *live.Workspaces
	MaxBody    int64
	Timeout    time.Duration   // of a response, if its rule sets none
	Limiter    *ComputeLimiter // limits long computations
	Rules      map[string]Rule // by method and gin path

	Operations []Operation // in the order of their registration
	Tools      []Tool      // of MCP
}

// Operation describes a registered operation to clients that send its requests.
type Operation struct {
	huma.Operation
	in reflect.Type
}

// Field is a path or query parameter, or a field of the body, of an operation.
type Field struct {
	Name, In string // In: path, query or body
	Key      string // the name, after "body." if a path parameter has the same name
	Type     reflect.Type
	Tag      reflect.StructTag
}

// Kind returns the kind of a field's value: string, int, float64, bool, list, or another kind of package reflect.
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

// Fields returns the parameters and, if the body is a flat object, its fields. It omits other bodies.
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

// Rule is the information about a route that the middleware needs before it runs.
type Rule struct {
	Public bool   // answered without a credential
	Scope  Scopes // required scopes
	Stream bool   // no deadlines, no limit on the whole body
	Long   bool   // a long computation: it waits for a turn, as long requests do

	ToolSet bool // the route applies the tool set of a credential; such a credential is refused by all other routes

	Operator         bool // requires the operator of the server, in addition to the scope
	CreatesWorkspace bool // creates a workspace that does not exist: the route records
	Global           bool // independent of workspaces: the named one need not exist

	Also string // a media type accepted besides application/json
	Gzip bool   // bodies packed with gzip are accepted

	Timeout time.Duration // of the response, default Config.Timeout
	Body    int64         // most bytes of a body, if that is more than Config.MaxBody
}

// Tags is the order of the groups of operations: the order in which a newcomer meets them.
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

// Op returns an operation of the API without the parts that follow from its rule.
func Op(tag, id, method, path, summary, text string) huma.Operation {
	return huma.Operation{Tags: []string{tag}, OperationID: id, Method: method, Path: path, Summary: summary, Description: text}
}

// None is an answer without a body.
type None struct{}

// Body is an answer with a body.
type Body[O any] struct{ Body O }

// Add registers an operation together with its rule. O is the body of its answer. With that the operation is answered
// over HTTP and is in the OpenAPI description. It is a tool of MCP only if [NewTool] makes one for [Table.Tools], and a
// command only if cmd/waymark has one (commands.go, listed in main.go). Tests compare the whole with
// cmd/waymark/testdata/surface.tsv, each tool with an example in docs/mcp.md, and each operation that needs a parameter
// or a body with one in server/examples.json.
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

// Raw registers an operation whose answer has more than a body, such as headers.
func Raw[I, O any](r *Table, ru Rule, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	r.Declare(ru, &op)
	r.Operations = append(r.Operations, Operation{op, reflect.TypeFor[I]()})
	if r.API == nil { // only the table is needed
		return
	}
	if ru.Stream {
		huma.Register(r.API, op, handler)
		return
	}
	huma.Register(r.API, op, func(ctx context.Context, in *I) (*O, error) {
		return Limited(ctx, r, ru, ExchangeFrom(ctx).Size, func() (*O, error) { return handler(ctx, in) })
	})
}

// ByID is a path parameter that identifies one thing.
type ByID struct {
	ID string `path:"id" doc:"The id, percent-encoded."`
}

// Stream registers an operation that answers with server-sent events. exists can refuse a request with a status before
// the stream begins; afterwards the status can no longer be chosen.
func Stream(r *Table, ru Rule, op huma.Operation, events map[string]any, exists func(ctx context.Context, id string) error,
	handler func(ctx context.Context, in *ByID, send sse.Sender)) {
	op.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		if err := exists(ctx.Context(), ctx.Param("id")); err != nil {
			c := humagin.Unwrap(ctx)
			Fail(c.Writer, c.Request, err)
			return
		}
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no") // proxies that buffer responses would delay events
		next(ctx)
	}}
	ru.Stream = true
	r.Declare(ru, &op)
	if r.API == nil {
		return
	}
	sse.Register(r.API, op, events, handler)
}

// Relay sends updates until the last one, the end of the request, or shutdown. event returns the data sent for an
// update.
func Relay[T any](ctx context.Context, draining <-chan struct{}, updates func(context.Context) iter.Seq[T], event func(T) (data any, last bool), send sse.Sender) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	id := 0
	for update := range updates(ctx) {
		id++
		if data, last := event(update); send(sse.Message{ID: id, Data: data}) != nil || last {
			return
		}
	}
}

// A Handler answers an operation on a workspace.
type Handler[I, O any] func(ctx context.Context, e *live.Engine, in *I) (O, error)

// ForWorkspace returns a handler with the engine of the caller's workspace. It creates the workspace if the rule permits it.
func ForWorkspace[I, O any](r *Table, ru Rule, handler Handler[I, O]) func(context.Context, *I) (O, error) {
	return func(ctx context.Context, in *I) (out O, err error) {
		open := r.Workspaces.Get
		if ru.CreatesWorkspace {
			open = r.Workspaces.Open
		}
		e, err := open(ctx, From(ctx).Workspace)
		if err != nil {
			return out, err
		}
		return handler(ctx, e, in)
	}
}

// AddForWorkspace is [Add] for an operation on the caller's workspace, whose engine the handler receives.
func AddForWorkspace[I, O any](r *Table, ru Rule, op huma.Operation, handler Handler[I, O]) {
	Add(r, ru, op, ForWorkspace(r, ru, handler))
}

// Schemas returns the schema registry of the API description, or an empty one if there is no API.
func (r *Table) Schemas() huma.Registry {
	if r.API == nil {
		return huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	}
	return r.API.OpenAPI().Components.Schemas
}

// TimeLimit returns how long a response of a route may take; streams have no limit.
func (r *Table) TimeLimit(ru Rule) time.Duration { return cmp.Or(ru.Timeout, r.Timeout) }

// Declare stores the rule of an operation and completes its description.
func (r *Table) Declare(ru Rule, op *huma.Operation) {
	ginPath := strings.NewReplacer("{", ":", "}", "").Replace(op.Path)
	r.Rules[op.Method+" "+ginPath] = ru
	op.MaxBodyBytes = max(r.MaxBody, ru.Body) + 1 // huma refuses the limit itself; limitBody enforces the real one
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

// ReadTimeout limits how long a body may take, and a request whose body is not read to its end.
const ReadTimeout = 15 * time.Second
