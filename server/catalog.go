package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/live"
	"waymark/server/internal/api"
	"waymark/suggest"
)

type toolPage struct {
	Tools      []catalog.Tool `json:"tools"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

type capabilityListQuery struct {
	api.PageQuery
	Tag []string `query:"tag,explode" maxItems:"16" doc:"Only capabilities with all of these tags. Repeat the parameter for each tag."`
}

type capabilityPage struct {
	Capabilities []catalog.Capability `json:"capabilities"`
	NextCursor   string               `json:"next_cursor,omitempty"`
}

type toolList struct {
	Tools []catalog.Tool `json:"tools"`
}

type capabilityList struct {
	Capabilities []catalog.Capability `json:"capabilities"`
}

func (s *Server) catalogRoutes(r *api.Table) {
	read, write := api.Rule{Scope: api.ScopeRead}, api.Rule{Scope: api.ScopeWrite}
	creates := api.Rule{Scope: api.ScopeWrite, CreatesWorkspace: true}
	schemas := r.Schemas()
	bulk := func(path string, list, elements reflect.Type) {
		api.DocumentBody(r, path, http.MethodPut, map[string]*huma.Schema{"application/json": {OneOf: []*huma.Schema{
			schemas.Schema(list, true, ""), schemas.Schema(elements, true, "")}}})
	}

	api.AddForWorkspace(r, creates, api.Op("Catalog", "put-tools", http.MethodPut, "/v1/tools", "Add or replace tools", "A list, bare or as {\"tools\": […]}. Tools that are new, that the checks flag, or whose contract changes, are quarantined until approved, unless the key has the scope admin."),
		put("tools", func(list toolList) []catalog.Tool { return list.Tools }, (*live.Engine).PutTools))
	bulk("/v1/tools", reflect.TypeFor[toolList](), reflect.TypeFor[[]catalog.Tool]())
	api.AddForWorkspace(r, read, api.Op("Catalog", "list-tools", http.MethodGet, "/v1/tools", "List tools", "Sorted by id."), s.listTools)
	api.AddForWorkspace(r, read, api.Op("Catalog", "get-tool", http.MethodGet, "/v1/tools/{id}", "One tool", ""),
		get(catalog.KindTool, (*suggest.Model).Tool, shownTool))
	r.Tools = append(r.Tools, api.NewTool(api.Tool{Rule: read, Name: "describe_tool", Title: "Describe tools",
		Description: "Give everything known about tools or capabilities by id: description, schemas, annotations, and for capabilities the tools they use."},
		api.ForWorkspace(r, read, describeEntries), func(_ *question[describeBody], a describedAnswer) string { return a.text }))
	api.AddForWorkspace(r, write, api.Op("Catalog", "delete-tool", http.MethodDelete, "/v1/tools/{id}", "Remove a tool", "Its history stays."),
		remove(catalog.KindTool))

	api.AddForWorkspace(r, creates, api.Op("Catalog", "put-capabilities", http.MethodPut, "/v1/capabilities", "Add or replace capabilities", "A list, bare or as {\"capabilities\": […]}. Those that are new or changed are quarantined until approved, unless the key has the scope admin."),
		put("capabilities", func(list capabilityList) []catalog.Capability { return list.Capabilities }, (*live.Engine).PutCapabilities))
	bulk("/v1/capabilities", reflect.TypeFor[capabilityList](), reflect.TypeFor[[]catalog.Capability]())
	api.AddForWorkspace(r, read, api.Op("Catalog", "list-capabilities", http.MethodGet, "/v1/capabilities", "List capabilities", "Sorted by id."), s.listCapabilities)
	api.AddForWorkspace(r, read, api.Op("Catalog", "get-capability", http.MethodGet, "/v1/capabilities/{id}", "One capability", ""),
		get(catalog.KindCapability, (*suggest.Model).Capability, shownCapability))
	api.AddForWorkspace(r, write, api.Op("Catalog", "delete-capability", http.MethodDelete, "/v1/capabilities/{id}", "Remove a capability", "Its history stays."),
		remove(catalog.KindCapability))
}

// put returns a handler that submits the entries of a body.
func put[T, L any](place string, of func(L) []T,
	submit func(*live.Engine, context.Context, []T, live.Trust) (live.PutResult, error)) api.Handler[api.RawInput, live.PutResult] {
	return func(ctx context.Context, e *live.Engine, in *api.RawInput) (res live.PutResult, err error) {
		list, err := entries(in, place, of)
		if err != nil {
			return res, err
		}
		return putResult(submit(e, ctx, list, api.From(ctx).Trust()))
	}
}

// entries decodes a list that is the body itself or the member place of the body.
func entries[T, L any](in *api.RawInput, place string, of func(L) []T) ([]T, error) {
	data, err := api.JsonBody(in.Request)
	if err != nil {
		return nil, err
	}
	if data[0] == '[' {
		return api.Decode[[]T](data)
	}
	list, err := api.Decode[L](data)
	if err != nil {
		return nil, err
	}
	if all := of(list); all != nil {
		return all, nil
	}
	return nil, api.WrongField(place, "is required")
}

// putResult returns the result of a put; if no entry was accepted, it returns an error for the whole request.
func putResult(res live.PutResult, err error) (live.PutResult, error) {
	if err == nil && len(res.Rejected) > 0 && res.Added+res.Updated+res.Unchanged == 0 {
		p := api.Problem(http.StatusUnprocessableEntity, fmt.Sprintf("none of %d entries can be taken: %s", len(res.Rejected), res.Rejected[0].Error))
		for _, rej := range res.Rejected[:min(len(res.Rejected), 100)] {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Location: fmt.Sprintf("body[%d]", rej.Line-1), Message: rej.Error})
		}
		return res, p
	}
	return res, err
}

// quarantined returns the reason why the caller may not read the texts of an entry. Such texts could instruct a model,
// so only callers who may approve the entry can read them.
func quarantined(ctx context.Context, e *live.Engine, id string) (reason string, is bool) {
	held, is := e.Withheld(id)
	if !is || held.Absent != suggest.AbsentQuarantined || api.From(ctx).Approves() {
		return "", false
	}
	return "quarantined: " + held.Detail, true
}

// shownTool returns a tool as the caller may read it: without its texts if it is quarantined.
func shownTool(ctx context.Context, e *live.Engine, t catalog.Tool) catalog.Tool {
	if reason, is := quarantined(ctx, e, t.ID); is {
		t = catalog.Tool{ID: t.ID, Server: t.Server, Description: reason}
	}
	return t
}

// shownCapability is shownTool for a capability.
func shownCapability(ctx context.Context, e *live.Engine, c catalog.Capability) catalog.Capability {
	if reason, is := quarantined(ctx, e, c.ID); is {
		c = catalog.Capability{ID: c.ID, Tools: []string{}, Description: reason}
	}
	return c
}

// showAll replaces each entry by the version that the caller may read.
func showAll[T any](ctx context.Context, e *live.Engine, list []T, show func(context.Context, *live.Engine, T) T) {
	for i := range list {
		list[i] = show(ctx, e, list[i])
	}
}

func (s *Server) listTools(ctx context.Context, e *live.Engine, q *api.PageQuery) (toolPage, error) {
	tools, cursor, err := api.Page(slices.Values(e.Model().Tools()), *q, true, func(t catalog.Tool) string { return t.ID }, func(catalog.Tool) bool { return true })
	showAll(ctx, e, tools, shownTool)
	return toolPage{tools, cursor}, err
}

func (s *Server) listCapabilities(ctx context.Context, e *live.Engine, q *capabilityListQuery) (capabilityPage, error) {
	caps, cursor, err := api.Page(slices.Values(e.Model().Capabilities()), q.PageQuery, true, func(c catalog.Capability) string { return c.ID },
		func(c catalog.Capability) bool {
			return !slices.ContainsFunc(q.Tag, func(tag string) bool { return !slices.Contains(c.Tags, tag) })
		})
	showAll(ctx, e, caps, shownCapability)
	return capabilityPage{caps, cursor}, err
}

// get returns a handler that finds an entry by its exact id or, if there is none, by the id that a spelling resolves
// to.
func get[T any](kind catalog.Kind, find func(*suggest.Model, string) (T, bool),
	show func(context.Context, *live.Engine, T) T) api.Handler[api.ByID, T] {
	return func(ctx context.Context, e *live.Engine, q *api.ByID) (T, error) {
		m := e.Model()
		v, ok := find(m, q.ID)
		if ok {
			return show(ctx, e, v), nil
		}
		id, err := m.Resolve(q.ID)
		v, ok = find(m, id)
		if !ok && !errors.As(err, new(*catalog.AmbiguousError)) {
			err = api.Problem(http.StatusNotFound, m.UnknownID(q.ID, kind, true).Message)
		}
		return show(ctx, e, v), err
	}
}

// remove accepts exact ids only: a spelling could resolve to another tool tomorrow.
func remove(kind catalog.Kind) api.Handler[api.ByID, api.None] {
	return func(ctx context.Context, e *live.Engine, q *api.ByID) (none api.None, err error) {
		known, err := e.Remove(ctx, kind, q.ID, api.From(ctx).Trust())
		return none, api.OrMissing(known, err, string(kind), q.ID)
	}
}
