package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"waymark/live"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
)

type ruleBody struct{ Body live.Rule }

type rulesAnswer struct {
	Body struct {
		Rules []live.Rule `json:"rules"`
	}
}

func ruleRoutes(r *route.Table) {
	read := route.Rule{Scope: request.ScopeRead}
	admin := route.Rule{Scope: request.ScopeAdmin, Audit: true}
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Catalog"}}
	}
	route.Ask(r, read, op("list-rules", http.MethodGet, "/v1/rules", "Rules of the operator", "Sorted by id."), listRules)
	route.Record(r, admin, op("add-rule", http.MethodPost, "/v1/rules", "Add a rule that answers follow",
		"A ban withholds a tool from every answer; a pin suggests it first; an alias has calls of another id count for it. Rules are kept in the log."), addRule)
	route.Record(r, admin, op("undo-rule", http.MethodDelete, "/v1/rules/{id}", "Undo a rule", "The former answers return."), undoRule)
}

func listRules(_ context.Context, e *live.Engine, _ *struct{}) (*rulesAnswer, error) {
	out := new(rulesAnswer)
	out.Body.Rules = e.Rules()
	return out, nil
}

type addRuleBody struct {
	Body live.Rule `doc:"The rule; its id is given by the server."`
}

func addRule(ctx context.Context, e *live.Engine, in *addRuleBody) (*ruleBody, error) {
	added, err := e.AddRule(ctx, in.Body)
	return &ruleBody{added}, err
}

func undoRule(ctx context.Context, e *live.Engine, q *deleteQuery) (*struct{}, error) {
	return deleteEntry(ctx, "rule", q, e.UndoRule)
}
