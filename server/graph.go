package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"waymark/gateway"
	"waymark/live"
	"waymark/server/internal/api"
	"waymark/suggest"
)

type graphQuery struct {
	Format string `query:"format" enum:"json,dot,graphml,mermaid" default:"json"`
	Around string `query:"around" maxLength:"1024" doc:"Only nodes within depth transitions of this id."`
	Depth  int    `query:"depth" minimum:"0" maximum:"16" default:"2"`
}

type graphAnswer struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

type diffQuery struct {
	Context []string `query:"context" maxItems:"64" doc:"Compare the answers for this context instead of those for sample requests: ids of the steps so far, in order."`
	Intent  string   `query:"intent" maxLength:"8192" doc:"The intent of this request."`

	From string `query:"from" default:"previous" maxLength:"128" doc:"current, previous, or a version: of a model in memory or of one of the two builds kept on disk."`
	To   string `query:"to" default:"current" maxLength:"128" doc:"current, previous, or a version: of a model in memory or of one of the two builds kept on disk."`
}

// stats are the statistics of the model, with the result of its last judged rebuild.
type stats struct {
	suggest.Stats
	Behind  *live.Behind     `json:"behind,omitempty" doc:"Parts of the model that are older than the log, with time and reason; absent if there are none."`
	Rebuild *live.Judgement  `json:"rebuild,omitempty" doc:"Result of the last rebuild that was evaluated; absent if there is none."`
	Servers []gateway.Server `json:"servers,omitempty" doc:"The defined MCP servers and their states."`
}

func (s *Server) graphRoutes(r *api.Table) {
	ru, long := api.Rule{Scope: api.ScopeRead}, api.Rule{Scope: api.ScopeRead, Long: true}
	content := map[string]*huma.MediaType{"application/json": {Schema: huma.SchemaFromType(r.Schemas(), reflect.TypeFor[suggest.Export]())}}
	for _, f := range graphFormats {
		content[f.mediaType] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
	}
	api.Raw(r, ru, huma.Operation{OperationID: "graph", Method: http.MethodGet, Path: "/v1/graph", Tags: []string{"Model"}, Summary: "The graph",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: content}}}, api.ForWorkspace(r, ru, graph))
	api.AddForWorkspace(r, long, huma.Operation{OperationID: "graph-diff", Method: http.MethodGet, Path: "/v1/graph/diff", Tags: []string{"Model"},
		Summary:     "Differences between two models",
		Description: "Among it the requests that they answer differently, and why: what follows the most used tools, and, for keys with the scope admin, the newest intents of the history."}, s.graphDiff)
	api.AddForWorkspace(r, ru, huma.Operation{OperationID: "stats", Method: http.MethodGet, Path: "/v1/stats", Tags: []string{"Model"},
		Summary: "Statistics of the model"}, s.stats)
}

func graph(_ context.Context, e *live.Engine, q *graphQuery) (*graphAnswer, error) {
	export, err := e.Model().Export(q.Around, q.Depth)
	if err != nil {
		return nil, api.InQuery(err)
	}
	out := &graphAnswer{ContentType: "application/json"}
	if f, ok := graphFormats[q.Format]; ok {
		var b bytes.Buffer
		f.write(&b, export)
		out.ContentType, out.Body = f.mediaType+"; charset=utf-8", b.Bytes()
		return out, nil
	}
	out.Body, err = api.Encode(export)
	return out, err
}

func (s *Server) graphDiff(ctx context.Context, e *live.Engine, q *diffQuery) (d suggest.DiffReport, err error) {
	from, err := modelNamed(ctx, e, "from", q.From)
	if err != nil {
		return d, err
	}
	to, err := modelNamed(ctx, e, "to", q.To)
	if err != nil {
		return d, err
	}
	requests := to.SampleRequests(api.From(ctx).May(api.ScopeAdmin)) // only callers who may export intents see them
	if len(q.Context) > 0 || q.Intent != "" {
		requests = []suggest.NextRequest{{Context: q.Context, Intent: q.Intent}}
	}
	return suggest.Diff(from, to, requests...), nil
}

// modelNamed finds a model, in memory or on disk.
func modelNamed(ctx context.Context, e *live.Engine, field, name string) (*suggest.Model, error) {
	m, err := e.ModelNamed(ctx, name)
	if errors.Is(err, live.ErrNoModel) {
		return nil, api.Problem(http.StatusNotFound, field+": "+err.Error())
	}
	return m, err
}

func (s *Server) stats(ctx context.Context, e *live.Engine, _ *struct{}) (stats, error) {
	out := stats{Stats: e.Model().Stats(), Behind: e.Behind(), Rebuild: e.Judgement()}
	if g, missing := s.gateway(ctx); missing == nil {
		out.Servers = g.Servers()
	}
	return out, nil
}
