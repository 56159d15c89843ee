package server

import (
	"context"
	"net/http"

	"waymark/live"
	"waymark/server/internal/api"
)

type ruleList struct {
	Rules []live.Rule `json:"rules"`
}

func ruleRoutes(r *api.Table) {
	read := api.Rule{Scope: api.ScopeRead}
	admin := api.Rule{Scope: api.ScopeAdmin}
	api.AddForWorkspace(r, read, api.Op("Catalog", "list-rules", http.MethodGet, "/v1/rules", "Rules of the operator", "Sorted by id."),
		func(_ context.Context, e *live.Engine, _ *struct{}) (ruleList, error) {
			return ruleList{e.Rules()}, nil
		})
	api.AddForWorkspace(r, admin, api.Op("Catalog", "add-rule", http.MethodPost, "/v1/rules", "Add a rule",
		"A ban withholds a tool from every answer; a pin suggests it first; an alias has calls of another id count for it. Rules are kept in the log."), addRule)
	api.AddForWorkspace(r, admin, api.Op("Catalog", "undo-rule", http.MethodDelete, "/v1/rules/{id}", "Undo a rule", "The former answers return."), undoRule)
}

type addRuleBody struct {
	Body live.Rule `doc:"The rule; the server sets its id."`
}

func addRule(ctx context.Context, e *live.Engine, in *addRuleBody) (live.Rule, error) {
	return e.AddRule(ctx, in.Body)
}

func undoRule(ctx context.Context, e *live.Engine, q *api.ByID) (none api.None, err error) {
	known, err := e.UndoRule(ctx, q.ID)
	return none, api.OrMissing(known, err, "rule", q.ID)
}
