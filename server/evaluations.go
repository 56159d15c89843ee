package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"

	"github.com/danielgtaylor/huma/v2"

	"waymark/server/internal/api"
	"waymark/suggest/evaluate"
)

func (s *Server) evaluationRoutes(r *api.Table) {
	api.Add(r, api.Rule{Scope: api.ScopeRead}, huma.Operation{OperationID: "get-evaluation", Method: http.MethodGet, Path: "/v1/evaluation", Tags: []string{"Model"}, Summary: "The last evaluation on the workspace's history",
		Description: "404 until `waymark evaluate` has left a report in the data directory of this server.", Errors: []int{http.StatusNotFound}}, s.getEvaluation)
}

func (s *Server) getEvaluation(ctx context.Context, _ *struct{}) (out evaluate.Kept, err error) {
	text, err := os.ReadFile(evaluate.KeptFile(s.cfg.Data, api.From(ctx).Workspace))
	if errors.Is(err, fs.ErrNotExist) {
		return out, api.Problem(http.StatusNotFound, "there is no evaluation; `waymark evaluate` makes one")
	}
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}
