package main

import (
	"cmp"
	"encoding/json"
	"strings"

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
			q.printf("Nothing is recorded yet. Begin with waymark import sample%[1]s, waymark import ~/.claude/projects%[1]s, or waymark gateway add mcp.json%[1]s and waymark serve --connect%[1]s.\n", where)
			return nil
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
