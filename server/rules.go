package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/contract"
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
	route.Ask(r, route.Rule{Scope: request.ScopeRead, Long: true}, op("list-renamed-tools", http.MethodGet, "/v1/renamed-tools", "Tools that may have another id now",
		"Pairs of a tool that was used and one that was not used yet, by the likeness of names, texts and arguments; old:* and new:* where a server was renamed. Rules of the kind alias join their histories."), renamedTools)
	route.Record(r, admin, op("undo-rule", http.MethodDelete, "/v1/rules/{id}", "Undo a rule", "The former answers return."), undoRule)
}

func listRules(_ context.Context, e *live.Engine, _ *struct{}) (*rulesAnswer, error) {
	out := new(rulesAnswer)
	out.Body.Rules = e.Rules()
	return out, nil
}

type addRuleBody struct {
	Known bool      `query:"known" doc:"Refuse an alias that no catalog and no episode has, most likely a misspelt one."`
	Body  live.Rule `doc:"The rule; its id is given by the server."`
}

func addRule(ctx context.Context, e *live.Engine, in *addRuleBody) (*ruleBody, error) {
	add := e.AddRule
	if in.Known {
		add = e.Rename
	}
	added, err := add(ctx, in.Body)
	return &ruleBody{added}, err
}

type renamedAnswer struct {
	Body struct {
		Renamed []contract.Renamed `json:"renamed"`
	}
}

// renamedTools compares the tools that were used with those of the catalog that were not.
func renamedTools(_ context.Context, e *live.Engine, _ *struct{}) (*renamedAnswer, error) {
	m := e.Model()
	var used, unused []catalog.Tool
	offered := map[string]bool{}
	for _, t := range m.Tools() {
		offered[t.ID] = true
		if m.Uses(t.ID) == 0 {
			unused = append(unused, t)
		} else {
			used = append(used, t)
		}
	}
	for n, id := range m.IDs {
		if !offered[id] && m.Canonical[n] == int32(n) && m.Kind(int32(n)) == catalog.KindTool && m.Uses(id) > 0 {
			used = append(used, catalog.Tool{ID: id})
		}
	}
	pairs := slices.DeleteFunc(contract.Successors(used, unused), func(p contract.Renamed) bool {
		return offered[p.From] && p.Score < 1 // both are offered: two tools, unless they are equal
	})
	out := new(renamedAnswer)
	out.Body.Renamed = contract.WholeServers(pairs)
	return out, nil
}

func undoRule(ctx context.Context, e *live.Engine, q *deleteQuery) (*struct{}, error) {
	return deleteEntry(ctx, "rule", q, e.UndoRule)
}
