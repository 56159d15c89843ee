// Package scoring carries out the scorers for HTTP, MCP and runs of DAGs, and records their runs.
package scoring

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/live"
	"waymark/run"
	"waymark/score"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
	"waymark/storage"
)

// Scoring may wait for a judge, which takes its time, and texts of whole sessions are long.
const (
	Timeout        = 10 * time.Minute
	judgingTimeout = Timeout - 15*time.Second // then what was judged is still answered
	maxBody        = 16 << 20
)

// Service carries out scorers and records their runs.
type Service struct {
	Store      storage.Store
	Workspaces *live.Workspaces
	Judges     score.Judges // models that scorers may ask
	Caller     run.Caller   // of the tools of other servers; nil: there are none
	Workspace  string       // which these servers belong to
	Record     bool         // runs are recorded as episodes
	Logger     *slog.Logger
	Now        func() time.Time
}

// A Scoring is one operation of package score on HTTP and MCP alike.
type Scoring struct {
	Name  string // of the rubric in the MCP tool score; empty: not among its rubrics
	Id    string // of the capability; empty: its runs are not recorded
	route func(r *route.Table, c *Service)
	Call  func(ctx context.Context, sc *score.Scorer, input json.RawMessage) (any, error)
	Scope request.Scopes // needed; 0: scopeRead
}

// All are all of them, in the order of the documentation.
var All = []Scoring{
	scoringOf("hypothesis", score.HypothesisID, "score-hypothesis", "/v1/score/hypothesis", "Score and rank hypotheses",
		"Five dimensions, 1 to 5. Without scores, and with judge, a model is asked; what it does not score is listed, never filled in.", (*score.Scorer).Hypothesis),
	scoringOf("council", score.CouncilID, "score-council", "/v1/score/council", "Rank answers by the reviews of their peers",
		"Scores are bounded by accuracy, then by the safety gate; the order that reviewers declare is compared and not used.", (*score.Scorer).Council),
	scoringOf("contribution", score.ContributionID, "score-contribution", "/v1/score/contribution", "Score a contribution to a research session",
		"Reads the deltas in a message. Given scores replace those found by rule; what a person has to check is marked.", (*score.Scorer).Contribution),
	scoringOf("session", score.SessionID, "score-session", "/v1/score/session", "Score a whole research session", "", (*score.Scorer).Session),
	scoringOf("custom", score.CustomID, "score-custom", "/v1/score/custom", "Score items by a rubric of one's own",
		"The rubric comes with the request, as a value (definition) or as YAML or JSON text (source).", (*score.Scorer).Custom),
	scoringOf("", score.HypothesisID, "rank-hypothesis", "/v1/rank/hypothesis", "Only the ranking of hypotheses", "", (*score.Scorer).RankHypotheses),
	triangulation(),
}

// triangulation is a task of a run; over HTTP a triangulation is kept (see begin), and MCP has a tool for it.
func triangulation() Scoring {
	x := scoringOf("", score.TriangulateID, "", "", "", "", (*score.Scorer).Triangulate)
	x.route, x.Scope = func(*route.Table, *Service) {}, request.ScopeWrite // a tool of another server may be called
	return x
}

// answer is the body of an answer.
type answer[A any] struct{ Body A }

// question is a body with the tools that were used before.
type question[B any] struct {
	After []string `query:"after,explode" maxItems:"64" doc:"Ids of the tools used so far, in order, whose output is scored: what the scorer follows is learned from it. Separated by commas, or repeated; an id that holds a comma stands in double quotes."`
	Body  B
}

// Resolve is called by huma before the handler.
func (q *question[B]) Resolve(huma.Context) []error {
	return route.SplitList("after", &q.After, 64)
}

// scoringOf makes a scoring of a function.
func scoringOf[In, Out any](name, id, operation, path, summary, description string, f func(*score.Scorer, context.Context, In) (Out, error)) Scoring {
	return Scoring{
		Name: name,
		Id:   id,
		route: func(r *route.Table, c *Service) {
			route.Add(r, route.Rule{Scope: request.ScopeRead, Timeout: Timeout, Body: maxBody, Creates: true},
				huma.Operation{OperationID: operation, Method: http.MethodPost, Path: path, Tags: []string{"Scorers"}, Summary: summary, Description: description},
				func(ctx context.Context, q *question[In]) (*answer[Out], error) {
					out, err := c.Run(ctx, request.From(ctx), id, q.After, func() (any, error) {
						ctx, cancel := context.WithTimeout(ctx, judgingTimeout)
						defer cancel()
						return f(c.Scorer(ctx, request.From(ctx)), ctx, q.Body)
					})
					if err != nil {
						return nil, err
					}
					return &answer[Out]{out.(Out)}, nil
				})
		},
		Call: func(ctx context.Context, sc *score.Scorer, input json.RawMessage) (any, error) {
			in, err := jsonio.DecodeArguments[In](input)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, judgingTimeout)
			defer cancel()
			return f(sc, ctx, in)
		},
	}
}

// Routes registers all operations of scorers.
func (c *Service) Routes(r *route.Table) {
	for _, x := range All {
		x.route(r, c)
	}
	c.triangulationRoutes(r)
	c.scorerRoutes(r)
	c.scoreLogRoutes(r)
}

// Scorer is the scorer for a caller.
func (c *Service) Scorer(ctx context.Context, a request.Access) *score.Scorer {
	return &score.Scorer{Judges: c.Judges, Replies: c.keptReplies(ctx, a.Workspace), Caller: c.callerFor(a)}
}

// callerFor calls tools of other servers for a caller; nil where its workspace has none.
func (c *Service) callerFor(a request.Access) run.Caller {
	if c.Caller == nil || a.Workspace != c.Workspace {
		return nil
	}
	return asCaller{c.Caller, a, c.Workspaces}
}

// Named is the scoring of a rubric by its name.
func Named(name string) (Scoring, bool) {
	i := slices.IndexFunc(All, func(x Scoring) bool { return x.Name == name && name != "" })
	if i < 0 {
		return Scoring{}, false
	}
	return All[i], true
}

// Names lists what scoringNamed knows.
func Names() []string {
	var names []string
	for _, x := range All {
		if x.Name != "" {
			names = append(names, x.Name)
		}
	}
	return names
}
