package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"waymark/live"
	"waymark/suggest"
)

// words returns a code of the API with spaces for underscores.
func words(code string) string { return strings.ReplaceAll(code, "_", " ") }

// hint prints a last line after an answer: how to begin if nothing is recorded, else the command that keeps the first
// result out of the next answer.
func hint[Answer interface{ Foremost() string }](a *app, q *asked, body json.RawMessage) error {
	var answer Answer
	var of struct{ Model suggest.ModelInfo }
	if err := errors.Join(json.Unmarshal(body, &answer), json.Unmarshal(body, &of)); err != nil || a.json {
		return err
	}
	request, _ := cmp.Or(q.fields["intent"], q.fields["query"]).(string)
	last := ""
	if next, ok := any(answer).(suggest.NextAnswer); ok {
		context, _ := q.fields["context"].([]string)
		last = next.LastKnown(context)
	}
	switch where := a.elsewhere(); {
	case of.Model.Nodes == 0:
		a.printf("\nnothing is recorded yet; begin with waymark import sample%[1]s, waymark import ~/.claude/projects%[1]s, or waymark gateway add mcp.json%[1]s and waymark serve --connect%[1]s\n", where)
	case answer.Foremost() != "" && len(request) <= live.MaxRuleIntent:
		a.printf("\nwrong? %s%s\n", clean(live.Correction(shellWord, answer.Foremost(), last, strings.Join(strings.Fields(request), " "))), where)
	}
	return nil
}

// showFormula prints the steps of a score: name = formula = numbers = value (note).
func (a *app) showFormula(e suggest.ExplainAnswer) {
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
	for _, u := range e.UnknownIDs {
		a.printf("%s\n", clean(u.Message))
	}
}
