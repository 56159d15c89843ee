package scoring

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/score"
	"waymark/score/evidence"
	"waymark/server/internal/api"
	"waymark/storage"
)

// kept is a stored triangulation: its request with the rounds so far, from which everything else is derived, and the
// sources that began it and added to it. Its id is the hash of its first request, so the same request begins the same
// triangulation anew.
type kept struct {
	evidence.Request
	Sources []string  `json:"sources,omitempty"`
	Time    time.Time `json:"time,omitzero"` // when it began
}

type (
	triangulationQuestion struct {
		Followed
		Body evidence.Request
	}
	triangulationEvidence struct {
		api.ByID
		Body evidence.Round
	}
)

func (c *Service) triangulationRoutes(r *api.Table) {
	ru := api.Rule{Scope: api.ScopeWrite, Body: maxBody}
	begins := ru
	begins.CreatesWorkspace, begins.Timeout = true, Timeout
	api.Add(r, begins, huma.Operation{OperationID: "triangulate", Method: http.MethodPost, Path: "/v1/triangulations", Tags: []string{"Scorers"},
		Summary: "Weigh hypotheses by evidence",
		Description: "Weighs the hypotheses of the request by the snippets of its rounds. Without hypotheses a judge proposes them, and searches in documents, or by a tool of a connected server, bring the snippets round by round until the gate stops. " +
			"The answer is kept, so that evidence can be added round by round. The id is a hash of the request: the same request begins the same triangulation anew."}, c.begin)
	r.Tools = append(r.Tools, api.NewTool(api.Tool{Rule: begins, Name: "triangulate", Title: "Weigh hypotheses by evidence", OpenWorld: true,
		Description: "Weigh competing answers to a question by snippets of text, round by round. Each answer says which answer leads, how sure that is, whether to stop, and what to search next. " +
			"Call it again with all rounds so far and one more."}, c.begin, nil))
	api.Add(r, ru, huma.Operation{OperationID: "add-evidence", Method: http.MethodPost, Path: "/v1/triangulations/{id}/evidence", Tags: []string{"Scorers"},
		Summary: "Add a round of evidence"}, c.addEvidence)
	api.Add(r, api.Rule{Scope: api.ScopeRead}, huma.Operation{OperationID: "get-triangulation", Method: http.MethodGet, Path: "/v1/triangulations/{id}", Tags: []string{"Scorers"},
		Summary: "State of a triangulation"}, c.getTriangulation)
	api.Add(r, api.Rule{Scope: api.ScopeWrite}, huma.Operation{OperationID: "delete-triangulation", Method: http.MethodDelete, Path: "/v1/triangulations/{id}", Tags: []string{"Scorers"},
		Summary: "Delete a triangulation", DefaultStatus: http.StatusNoContent}, c.deleteTriangulation)
}

// Arguments returns the arguments of the tool triangulate.
func (q *triangulationQuestion) Arguments() any {
	return &struct {
		Context *[]string `json:"context,omitempty" maxItems:"64" doc:"Ids of the tools used so far whose output is weighed, in order."`
		*evidence.Request
	}{&q.After, &q.Body}
}

func (c *Service) begin(ctx context.Context, q *triangulationQuestion) (evidence.Answer, error) {
	return c.Triangulate(ctx, api.From(ctx), q.After, q.Body)
}

// Triangulate evaluates a triangulation, stores it, and records the run as a step after the tools in after.
func (c *Service) Triangulate(ctx context.Context, a api.Access, after []string, in evidence.Request) (evidence.Answer, error) {
	out, err := c.recorded(ctx, a, score.TriangulateID, after, func() (any, error) { return c.triangulate(ctx, a, in) })
	if err != nil {
		return evidence.Answer{}, err
	}
	return out.(evidence.Answer), nil
}

// triangulate evaluates and stores a triangulation; the caller records its run.
func (c *Service) triangulate(ctx context.Context, a api.Access, in evidence.Request) (evidence.Answer, error) {
	timed, cancel := context.WithTimeout(ctx, judgingTimeout)
	defer cancel()
	out, err := evidence.Triangulate(timed, in, c.scorer(ctx, a).Asker, c.callerFor(a))
	if err != nil || out.ID == "" {
		return out, err
	}
	state := in
	if out.Inquiry != nil && out.Inquiry.Request != nil {
		state = *out.Inquiry.Request
	}
	row := kept{c.shown(state), []string{a.Source}, c.Now().UTC()}
	return out, c.triangulations(a.Workspace).Set(ctx, out.ID, row, nil)
}

// shown returns a request as it is stored, with secrets masked. The id is still that of the original request.
func (c *Service) shown(r evidence.Request) evidence.Request {
	r.Question, r.Hypotheses, r.Rounds = c.Workspaces.Shown(r.Question), slices.Clone(r.Hypotheses), slices.Clone(r.Rounds)
	for i := range r.Hypotheses {
		h := &r.Hypotheses[i]
		h.Text, h.Rationale, h.KeyFact = c.Workspaces.Shown(h.Text), c.Workspaces.Shown(h.Rationale), c.Workspaces.Shown(h.KeyFact)
	}
	for i := range r.Rounds {
		r.Rounds[i] = c.shownRound(r.Rounds[i])
	}
	return r
}

func (c *Service) shownRound(r evidence.Round) evidence.Round {
	r.Snippets = slices.Clone(r.Snippets)
	for i := range r.Snippets {
		s := &r.Snippets[i]
		s.Text, s.Source = c.Workspaces.Shown(s.Text), c.Workspaces.Shown(s.Source)
	}
	return r
}

func (c *Service) triangulations(workspace string) api.Rows[kept] {
	return api.Rows[kept]{Table: c.Store.Table(workspace), Prefix: "triangulations/"}
}

// triangulation reads a stored triangulation.
func (c *Service) triangulation(ctx context.Context, id string) (api.Rows[kept], api.Row[kept], error) {
	all := c.triangulations(api.From(ctx).Workspace)
	row, err := all.Get(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		err = api.Problem(http.StatusNotFound, fmt.Sprintf("there is no triangulation %q", id))
	}
	return all, row, err
}

// addEvidence adds a round. A concurrent addition is a conflict, after which the caller has to add the round again.
func (c *Service) addEvidence(ctx context.Context, q *triangulationEvidence) (a evidence.Answer, err error) {
	all, row, err := c.triangulation(ctx, q.ID)
	if err != nil {
		return a, err
	}
	state := row.Value
	if state.Request, a, err = evidence.AddEvidence(q.ID, state.Request, c.shownRound(q.Body)); err != nil {
		return a, err
	}
	if source := api.From(ctx).Source; !slices.Contains(state.Sources, source) {
		state.Sources = append(state.Sources, source)
	}
	return a, all.Set(ctx, q.ID, state, &row.Version)
}

func (c *Service) getTriangulation(ctx context.Context, q *api.ByID) (a evidence.Answer, err error) {
	_, row, err := c.triangulation(ctx, q.ID)
	if err != nil {
		return a, err
	}
	a, err = evidence.Triangulate(ctx, row.Value.Request, nil, nil)
	a.ID = q.ID // the id is the hash of the first request
	return a, err
}

func (c *Service) deleteTriangulation(ctx context.Context, q *api.ByID) (none api.None, err error) {
	all, row, err := c.triangulation(ctx, q.ID)
	if err == nil {
		err = all.Delete(ctx, all.Prefix+row.ID)
	}
	return none, err
}
