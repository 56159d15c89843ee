package scoring

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/live"
	"waymark/score"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
)

type scorerList struct {
	Body struct {
		Scorers []catalog.Capability `json:"scorers"`
	}
}

func (c *Service) scorerRoutes(r *route.Table) {
	route.Add(r, route.Rule{Scope: request.ScopeRead, Global: true}, huma.Operation{OperationID: "list-scorers", Method: http.MethodGet, Path: "/v1/scorers", Tags: []string{"Scorers"},
		Summary: "The scorers, as capabilities"},
		func(context.Context, *struct{}) (*scorerList, error) {
			var l scorerList
			l.Body.Scorers = score.Capabilities()
			return &l, nil
		})
	route.Record(r, route.Rule{Scope: request.ScopeAdmin, Creates: true}, huma.Operation{OperationID: "put-scorers", Method: http.MethodPut, Path: "/v1/scorers", Tags: []string{"Scorers"},
		Summary:     "Put all scorers into the catalog",
		Description: "So that search and suggestions know them before they are first used; the first run of each does the same for it."},
		func(ctx context.Context, engine *live.Engine, _ *struct{}) (*scorerList, error) {
			if err := putScorers(ctx, engine); err != nil {
				return nil, err
			}
			var l scorerList
			l.Body.Scorers = score.Capabilities()
			return &l, nil
		})
}
