package main

import (
	"cmp"
	"encoding/json"
	"strings"

	"waymark/gateway"
	"waymark/server"
	"waymark/suggest"
)

// asText shows an answer in the words that MCP has for it. With --explain tables of all its fields follow.
func asText[Answer any](text func(a Answer, context []string, intent string) string) shows {
	return func(q *asked, body json.RawMessage) error {
		var answer Answer
		var of struct{ Model suggest.ModelInfo }
		if err := cmp.Or(decode(body, &answer), decode(body, &of)); err != nil {
			return err
		}
		where := q.elsewhere()
		if of.Model.Nodes == 0 {
			return q.nothingYet()
		}
		context, _ := q.fields["context"].([]string)
		request, _ := cmp.Or(q.fields["intent"], q.fields["query"]).(string)
		for line := range strings.SplitSeq(text(answer, context, request), "\n") {
			if strings.HasPrefix(line, server.Correction) {
				line += where
			}
			q.printf("%s\n", clean(line))
		}
		if q.fields["explain"] == true {
			q.printf("\n")
			return q.render(body, "")
		}
		return nil
	}
}

// nothingYet names the next step with an empty store, unless this process has started the servers that fill it.
func (a *app) nothingYet() error {
	defined, err := gateway.ReadDefinitions(a.data, a.workspace)
	next := "Begin with " + server.Beginning(a.elsewhere())
	switch {
	case len(defined.Servers) > 0 && a.connect:
		return err
	case len(defined.Servers) > 0:
		next = "Servers are added: " + a.startsServers()
	}
	a.printf("Nothing is recorded yet. %s.\n", next)
	return err
}

// showFormula prints the steps of a score: name = formula = numbers = value (note).
func (a *app) showFormula(body json.RawMessage) error {
	var e suggest.ExplainAnswer
	err := decode(body, &e)
	for _, s := range e.FormulaSteps {
		line := s.Name
		for _, part := range []string{s.Formula, s.Numbers, number(s.Value)} {
			if part != "" {
				line += " = " + part
			}
		}
		if s.Note != "" {
			line += " (" + s.Note + ")"
		}
		a.printf("%s\n", clean(line))
	}
	return err
}
