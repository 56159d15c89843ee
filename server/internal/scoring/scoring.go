// Package scoring runs the scorers for HTTP, MCP and runs of DAGs, and records their runs.
package scoring

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/live"
	"waymark/run"
	"waymark/score"
	"waymark/score/contribution"
	"waymark/score/evidence"
	"waymark/server/internal/api"
	"waymark/storage"
)

// A scorer may wait for a judge, and texts of whole sessions are long.
const (
	Timeout        = 10 * time.Minute
	judgingTimeout = Timeout - 15*time.Second // leaves time to return what was judged so far
	maxBody        = 16 << 20
)

// Service runs scorers and records their runs.
type Service struct {
	Store      *storage.Store
	Workspaces *live.Workspaces
	Judges     score.Judges // models that scorers may call
	Caller     run.Caller   // calls upstream tools; nil without servers
	Workspace  string       // the workspace that owns these servers
	Record     bool         // runs are recorded as episodes
	Logger     *slog.Logger
	Now        func() time.Time
}

// A Scorer is one scorer on every surface: HTTP, the MCP tool score, and nodes of DAGs.
type Scorer struct {
	Name    string // in routes and in the MCP tool score
	ID      string // of its capability
	in, out reflect.Type
	call    func(ctx context.Context, c *Service, a api.Access, input json.RawMessage) (any, error)
}

// scorer makes a Scorer of a function.
func scorer[In, Out any](id string, f func(context.Context, *Service, api.Access, In) (Out, error)) Scorer {
	_, name, _ := strings.Cut(id, ":")
	return Scorer{name, id, reflect.TypeFor[In](), reflect.TypeFor[Out](), func(ctx context.Context, c *Service, a api.Access, input json.RawMessage) (any, error) {
		var in In
		if err := api.DecodeArguments(input, &in); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, judgingTimeout)
		defer cancel()
		return f(ctx, c, a, in)
	}}
}

// judged makes a Scorer of a method that may ask a judge.
func judged[In, Out any](id string, f func(*score.Scorer, context.Context, In) (Out, error)) Scorer {
	return scorer(id, func(ctx context.Context, c *Service, a api.Access, in In) (Out, error) {
		return f(c.scorer(ctx, a), ctx, in)
	})
}

// computed makes a Scorer of a function of its input alone.
func computed[In, Out any](id string, f func(In) (Out, error)) Scorer {
	return scorer(id, func(_ context.Context, _ *Service, _ api.Access, in In) (Out, error) { return f(in) })
}

// scorers are all scorers; triangulate has its own routes and tool.
var scorers = []Scorer{
	judged(score.HypothesisID, (*score.Scorer).Hypothesis),
	judged(score.CouncilID, (*score.Scorer).Council),
	computed(score.ContributionID, contribution.Score),
	computed(score.SessionID, contribution.ScoreSession),
	judged(score.CustomID, (*score.Scorer).Custom),
	scorer(score.TriangulateID, func(ctx context.Context, c *Service, a api.Access, in evidence.Request) (evidence.Answer, error) {
		return c.triangulate(ctx, a, in)
	}),
}

// Named returns the scorer with that name or capability id.
func Named(name string) (Scorer, error) {
	var names []string
	for _, s := range scorers {
		named := s.ID != score.TriangulateID // triangulate has a tool of its own
		if named && s.Name == name || s.ID == name {
			return s, nil
		}
		if named {
			names = append(names, s.Name)
		}
	}
	return Scorer{}, fmt.Errorf("rubric: %q is unknown; there are %s", name, strings.Join(names, ", "))
}

// IsScorer reports whether a capability is a scorer of this process.
func IsScorer(id string) bool {
	return slices.ContainsFunc(scorers, func(s Scorer) bool { return s.ID == id })
}

// Run scores an input for a caller and records the run as a step after the tools in after.
func (c *Service) Run(ctx context.Context, a api.Access, s Scorer, after []string, input json.RawMessage) (any, error) {
	return c.recorded(ctx, a, s.ID, after, func() (any, error) {
		out, err := s.call(ctx, c, a, input)
		if err == nil && ctx.Err() != nil { // judges were cancelled, so the result is incomplete
			return nil, ctx.Err()
		}
		return out, err
	})
}

// scorer returns the scorer of package score for a caller.
func (c *Service) scorer(ctx context.Context, a api.Access) *score.Scorer {
	return &score.Scorer{Judges: c.Judges, Replies: c.keptReplies(ctx, a.Workspace)}
}

// callerFor returns a caller of upstream tools on behalf of a; nil if its workspace has none.
func (c *Service) callerFor(a api.Access) run.Caller {
	if c.Caller == nil || a.Workspace != c.Workspace {
		return nil
	}
	return asCaller{c.Caller, a, c.Workspaces}
}

// Routes registers all operations of scorers.
func (c *Service) Routes(r *api.Table) {
	score := func(ctx context.Context, q *question) (none output, err error) {
		s, err := Named(q.Scorer)
		if err != nil {
			return none, api.Problem(http.StatusNotFound, err.Error())
		}
		out, err := c.Run(ctx, api.From(ctx), s, q.After, q.Body.RawMessage)
		return output{out}, err
	}
	ru := api.Rule{Scope: api.ScopeWrite, Timeout: Timeout, Body: maxBody, CreatesWorkspace: true}
	api.Add(r, ru, huma.Operation{OperationID: "score", Method: http.MethodPost, Path: "/v1/score/{scorer}", Tags: []string{"Scorers"}, SkipValidateBody: true,
		Summary: "Score by a rubric",
		Description: "Scores and ranks hypotheses, the answers of a council by the reviews of their peers, contributions to a research session, a whole session, or items by a rubric of the request (custom). " +
			"The body is the input of the scorer. With judge, a model is asked for missing scores; an item that it does not score is listed, never filled in."}, score)
	r.Tools = append(r.Tools, api.NewTool(api.Tool{Rule: ru, Name: "score", Title: "Score by a rubric", OpenWorld: true, // a model may judge
		Description: "Score and rank things by a rubric: research hypotheses, competing answers with the reviews of their peers (council), contributions to a research session, or anything by a rubric of your own (custom). " +
			"Totals, verdicts and ranks are computed from the scores of the dimensions. Without scores, input.judge asks a model for them."}, score, nil))
	c.triangulationRoutes(r)
	c.scorerRoutes(r)
	c.scoreLogRoutes(r)
}

type (
	// question is an input with the tools that were used before.
	question struct {
		Scorer string `path:"scorer" enum:"hypothesis,council,contribution,session,custom"`
		Followed
		Body input
	}

	// Followed are the tools used before a scorer.
	Followed struct {
		After []string `query:"after,explode" maxItems:"64" doc:"Ids of the tools used so far, in order, whose output is scored. The history learns from them that the scorer follows these tools. Repeat the parameter for each id."`
	}

	// input and output stand for the types of all scorers.
	input  struct{ json.RawMessage }
	output struct{ any }
)

// Arguments returns the arguments of the tool score.
func (q *question) Arguments() any {
	return &struct {
		Rubric  *string     `json:"rubric" nullable:"false" doc:"Name of a scorer: hypothesis, council, contribution, session, or custom for a rubric of your own"`
		Context *[]string   `json:"context,omitempty" maxItems:"64" doc:"Ids of the tools used so far whose output is scored, in order."`
		Input   *api.Object `json:"input" doc:"The input of the scorer, as in the HTTP API: for hypothesis {hypotheses: [{id, scores}]}, for council {responses, reviews}, for contribution {role, text}, for custom {definition, items: [{id, scores}]}"`
	}{&q.Scorer, &q.After, (*api.Object)(&q.Body)}
}

// MarshalJSON implements [json.Marshaler].
func (o output) MarshalJSON() ([]byte, error) { return api.Encode(o.any) }

// Schema implements [huma.SchemaProvider].
func (input) Schema(r huma.Registry) *huma.Schema {
	return anyOf(r, func(s Scorer) reflect.Type { return s.in })
}

// Schema implements [huma.SchemaProvider].
func (output) Schema(r huma.Registry) *huma.Schema {
	return anyOf(r, func(s Scorer) reflect.Type { return s.out })
}

func anyOf(r huma.Registry, of func(Scorer) reflect.Type) *huma.Schema {
	schema := &huma.Schema{}
	var seen []reflect.Type
	for _, s := range scorers {
		if t := of(s); s.ID != score.TriangulateID && !slices.Contains(seen, t) {
			seen = append(seen, t)
			schema.AnyOf = append(schema.AnyOf, r.Schema(t, true, s.Name))
		}
	}
	return schema
}
