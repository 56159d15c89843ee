package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"waymark/live"
	"waymark/server/internal/api"
	"waymark/suggest"
)

// The bodies of requests.
type (
	nextBody struct {
		suggest.NextRequest
		atSeq
		brief bool // the answer does not describe the model
	}
	dagBody struct {
		suggest.DAGRequest
		atSeq
		brief bool // the answer has no paths and alternatives, and does not describe the model
	}
	searchBody struct {
		suggest.SearchRequest
		atSeq
	}
	explainBody struct {
		suggest.ExplainRequest
		atSeq
	}
	atSeq struct {
		MinSeq uint64 `json:"min_seq,omitempty" mcp:"-" doc:"Wait up to one second until the model counts this event."`
	}
)

// Brief sets the defaults of MCP: no explanation, and without one no description of the model.
func (b *nextBody) Brief() {
	b.Explain = cmp.Or(b.Explain, new(bool))
	b.brief = !*b.Explain
}

// Brief sets the defaults of MCP: no explanation, and without one neither paths nor alternatives nor the model.
func (b *dagBody) Brief() {
	b.Explain = cmp.Or(b.Explain, new(bool))
	b.brief = !*b.Explain
}

// Brief sets the defaults of MCP: no explanation, 5 results.
func (b *searchBody) Brief() { b.Explain, b.Limit = cmp.Or(b.Explain, new(bool)), cmp.Or(b.Limit, 5) }

func (s *Server) suggestionRoutes(r *api.Table) {
	ru, long := api.Rule{Scope: api.ScopeRead, ToolSet: true}, api.Rule{Scope: api.ScopeRead, Long: true, ToolSet: true}
	api.AddForWorkspace(r, ru, api.Op("Suggestions", "next", http.MethodPost, "/v1/next", "Next tools", "Ranks tools and capabilities after a context, for an intent, or, with neither, to explore."), next)
	api.AddForWorkspace(r, long, api.Op("Suggestions", "dag", http.MethodPost, "/v1/dag", "A DAG of tools for an intent", ""), dag)
	api.AddForWorkspace(r, ru, api.Op("Suggestions", "search", http.MethodPost, "/v1/search", "Tools and capabilities by words", ""), search)
	api.AddForWorkspace(r, api.Rule{Scope: api.ScopeRead}, api.Op("Suggestions", "explain", http.MethodPost, "/v1/explain", "Explain why an id is or is not suggested", "Every term and every filter; for an absent id, the reason."), explain)
	r.Tools = append(r.Tools,
		api.NewTool(api.Tool{Rule: ru, Rounded: true, Name: "suggest_next", Title: "Suggest the next tool", Screen: "next",
			Description: "After one or more tools have run, say which usually comes next, learned from recorded work. " +
				"Each suggestion has a confidence, the terms of its score and a reason."}, api.ForWorkspace(r, ru, next),
			func(q *question[nextBody], a suggest.NextAnswer) string {
				return NextText(a, q.Body.Context, q.Body.Intent)
			}),
		api.NewTool(api.Tool{Rule: long, Rounded: true, Name: "suggest_dag", Title: "Suggest a plan", Screen: "plan",
			Description: "Plan a task: which tools, in which order, and which output feeds which input, as a graph without cycles."}, api.ForWorkspace(r, long, dag),
			func(q *question[dagBody], a suggest.DAGAnswer) string { return DAGText(a, nil, q.Body.Intent) }),
		api.NewTool(api.Tool{Rule: ru, Rounded: true, Name: "find_tool", Title: "Find a tool",
			Description: "Find tools and capabilities by what they do. Give a few words, or an exact id or name. " +
				"The text has the arguments of each result, so it can be called at once."}, api.ForWorkspace(r, ru, find), func(_ *question[searchBody], a foundAnswer) string { return a.text }))
}

func next(ctx context.Context, e *live.Engine, q *question[nextBody]) (a suggest.NextAnswer, err error) {
	if err := waitCounted(ctx, e, q.Body.MinSeq); err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Intent)
	a, err = e.Next(e.Model(), api.From(ctx).Tools, q.Body.NextRequest)
	if q.Body.brief {
		a.Model = suggest.ModelInfo{}
	}
	return a, err
}

func dag(ctx context.Context, e *live.Engine, q *question[dagBody]) (a suggest.DAGAnswer, err error) {
	if strings.TrimSpace(q.Body.Intent) == "" && len(q.Body.Context) == 0 {
		return a, &suggest.RequestError{Kind: suggest.Invalid, Field: "intent", Detail: "is empty, and so is the context"}
	}
	if err := waitCounted(ctx, e, q.Body.MinSeq); err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Intent)
	a, err = e.Plan(e.Model(), api.From(ctx).Tools, q.Body.DAGRequest)
	if q.Body.brief {
		a.Paths, a.Alternatives, a.Model = []suggest.Path{}, []suggest.Alternative{}, suggest.ModelInfo{}
	}
	return a, err
}

func search(ctx context.Context, e *live.Engine, q *question[searchBody]) (a suggest.SearchAnswer, err error) {
	if err := waitCounted(ctx, e, q.Body.MinSeq); err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Query)
	return e.Search(e.Model(), api.From(ctx).Tools, q.Body.SearchRequest)
}

func explain(ctx context.Context, e *live.Engine, q *question[explainBody]) (a suggest.ExplainAnswer, err error) {
	if err := waitCounted(ctx, e, q.Body.MinSeq); err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Intent)
	return e.Explain(e.Model(), q.Body.ExplainRequest)
}

// waitForSeq limits how long a request waits for the model to count an event.
const waitForSeq = time.Second

// waitCounted waits up to waitForSeq until the model counts an event, and returns [live.ErrNotYet] if it does not.
func waitCounted(ctx context.Context, e *live.Engine, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, waitForSeq)
	defer cancel()
	err := e.Wait(ctx, seq)
	if errors.Is(err, context.DeadlineExceeded) {
		err = live.ErrNotYet
	}
	return err
}
