package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
	"waymark/storage"
	"waymark/suggest/evaluate"
)

// The command line evaluates the own history, which takes minutes; the workspace keeps the last report, so that the page
// can show it.

const evaluationRow = "evaluation"

type keptEvaluation struct {
	At     time.Time       `json:"at" doc:"When the report was stored."`
	Report evaluate.Report `json:"report" doc:"As waymark evaluate --json prints it."`
}

func (s *Server) evaluationRoutes(r *route.Table) {
	route.Add(r, route.Rule{Scope: request.ScopeRead}, huma.Operation{OperationID: "get-evaluation", Method: http.MethodGet, Path: "/v1/evaluation", Tags: []string{"Model"}, Summary: "The last evaluation on the own history",
		Description: "404 until `waymark evaluate --store` has stored one.", Errors: []int{http.StatusNotFound}}, s.getEvaluation)
	route.Add(r, route.Rule{Scope: request.ScopeWrite}, huma.Operation{OperationID: "store-evaluation", Method: http.MethodPut, Path: "/v1/evaluation", Tags: []string{"Model"}, Summary: "Store an evaluation on the own history",
		Description: "In the place of the last one. The body is what waymark evaluate --json prints."}, s.putEvaluation)
}

func (s *Server) getEvaluation(ctx context.Context, _ *struct{}) (out keptEvaluation, err error) {
	value, _, err := s.cfg.Store.Table(request.From(ctx).Workspace).Get(ctx, evaluationRow)
	if errors.Is(err, storage.ErrNotFound) {
		return out, problem.New(http.StatusNotFound, "no evaluation is stored; `waymark evaluate --store` stores one")
	}
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(value, &out)
}

func (s *Server) putEvaluation(ctx context.Context, q *question[evaluate.Report]) (out keptEvaluation, err error) {
	kept := keptEvaluation{s.cfg.Now().UTC(), q.Body}
	value, err := json.Marshal(kept)
	if err != nil {
		return out, err
	}
	return kept, s.cfg.Store.Table(request.From(ctx).Workspace).Put(ctx, evaluationRow, value)
}
