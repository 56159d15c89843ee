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
	}
	dagBody struct {
		suggest.DAGRequest
		atSeq
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

// Brief sets the defaults of MCP: no explanation.
func (b *nextBody) Brief() { b.Explain = cmp.Or(b.Explain, new(bool)) }

// Brief sets the defaults of MCP: no explanation.
func (b *dagBody) Brief() { b.Explain = cmp.Or(b.Explain, new(bool)) }

// Brief sets the defaults of MCP: no explanation, 5 results.
func (b *searchBody) Brief() { b.Explain, b.Limit = cmp.Or(b.Explain, new(bool)), cmp.Or(b.Limit, 5) }

type question[B any] struct{ Body B }

func (s *Server) suggestionRoutes(r *api.Table) {
	ru, long := api.Rule{Scope: api.ScopeRead, ToolSet: true}, api.Rule{Scope: api.ScopeRead, Long: true, ToolSet: true}
	api.Add(r, ru, api.Op("Suggestions", "next", http.MethodPost, "/v1/next", "Next tools", "Ranks tools and capabilities after a context, for an intent, or, with neither, to explore."), s.next)
	api.Add(r, long, api.Op("Suggestions", "dag", http.MethodPost, "/v1/dag", "A DAG of tools for an intent", ""), s.dag)
	api.Add(r, ru, api.Op("Suggestions", "search", http.MethodPost, "/v1/search", "Tools and capabilities by words", ""), s.search)
	api.Add(r, api.Rule{Scope: api.ScopeRead}, api.Op("Suggestions", "explain", http.MethodPost, "/v1/explain", "Explain why an id is or is not suggested", "Every term and every filter; for an absent id, the reason."), s.explain)
	r.Tools = append(r.Tools,
		api.NewTool(api.Tool{Rule: ru, Rounded: true, Name: "suggest_next", Title: "Suggest the next tool", Screen: "next",
			Description: "After one or more tools have run, say which usually comes next, learned from recorded work. " +
				"Each suggestion has a confidence, the terms of its score and a reason."},
			func(ctx context.Context, q *question[nextBody]) (suggest.NextAnswer, string, error) {
				a, err := s.next(ctx, q)
				return a, NextText(a, q.Body.Context, q.Body.Intent), err
			}),
		api.NewTool(api.Tool{Rule: long, Rounded: true, Name: "suggest_dag", Title: "Suggest a plan", Screen: "plan",
			Description: "Plan a task: which tools, in which order, and which output feeds which input, as a graph without cycles."},
			func(ctx context.Context, q *question[dagBody]) (suggest.DAGAnswer, string, error) {
				a, err := s.dag(ctx, q)
				if !*q.Body.Explain {
					a.Paths, a.Alternatives = []suggest.Path{}, []suggest.Alternative{}
				}
				return a, DAGText(a, nil, q.Body.Intent), err
			}),
		api.NewTool(api.Tool{Rule: ru, Rounded: true, Name: "find_tool", Title: "Find a tool",
			Description: "Find tools and capabilities by what they do. Give a few words, or an exact id or name. " +
				"The text has the arguments of each result, so it can be called at once."}, s.find))
}

func (s *Server) next(ctx context.Context, q *question[nextBody]) (a suggest.NextAnswer, err error) {
	e, m, err := s.modelAt(ctx, q.Body.MinSeq)
	if err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Intent)
	return e.Next(m, api.From(ctx).Tools, q.Body.NextRequest)
}

func (s *Server) dag(ctx context.Context, q *question[dagBody]) (a suggest.DAGAnswer, err error) {
	if strings.TrimSpace(q.Body.Intent) == "" && len(q.Body.Context) == 0 {
		return a, &suggest.RequestError{Kind: suggest.Invalid, Field: "intent", Detail: "is empty, and so is the context"}
	}
	e, m, err := s.modelAt(ctx, q.Body.MinSeq)
	if err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Intent)
	return e.Plan(m, api.From(ctx).Tools, q.Body.DAGRequest)
}

func (s *Server) search(ctx context.Context, q *question[searchBody]) (a suggest.SearchAnswer, err error) {
	e, m, err := s.modelAt(ctx, q.Body.MinSeq)
	if err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Query)
	return e.Search(m, api.From(ctx).Tools, q.Body.SearchRequest)
}

func (s *Server) explain(ctx context.Context, q *question[explainBody]) (a suggest.ExplainAnswer, err error) {
	e, m, err := s.modelAt(ctx, q.Body.MinSeq)
	if err != nil {
		return a, err
	}
	q.Body.Vector = e.Vector(ctx, q.Body.Intent)
	return e.Explain(m, q.Body.ExplainRequest)
}

// modelAt returns the current model after it counts event seq.
func (s *Server) modelAt(ctx context.Context, seq uint64) (*live.Engine, *suggest.Model, error) {
	e, err := s.engine(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := waitCounted(ctx, e, seq); err != nil {
		return nil, nil, err
	}
	return e, e.Model(), nil
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
