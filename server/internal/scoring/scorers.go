package scoring

import (
	"context"
	"net/http"

	"waymark/catalog"
	"waymark/live"
	"waymark/score"
	"waymark/server/internal/api"
)

type scorerList struct {
	Scorers []catalog.Capability `json:"scorers"`
}

func (c *Service) scorerRoutes(r *api.Table) {
	api.Add(r, api.Rule{Scope: api.ScopeRead, Global: true}, api.Op("Scorers", "list-scorers", http.MethodGet, "/v1/scorers", "The scorers, as capabilities", ""),
		func(context.Context, *struct{}) (scorerList, error) { return scorerList{score.Capabilities()}, nil })
	api.AddForWorkspace(r, api.Rule{Scope: api.ScopeAdmin, CreatesWorkspace: true}, api.Op("Scorers", "put-scorers", http.MethodPut, "/v1/scorers", "Put all scorers into the catalog",
		"So that search and suggestions know them before they are first used; the first run of each does the same for it."),
		func(ctx context.Context, engine *live.Engine, _ *struct{}) (scorerList, error) {
			return scorerList{score.Capabilities()}, putScorers(ctx, engine)
		})
}
