package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// scoreKinds are the scorers with a built-in rubric.
var scoreKinds = []string{"hypothesis", "council", "contribution", "session"}

func (a *app) scoreCommand() *cobra.Command {
	return a.of(operation{
		id: "score", use: "score hypothesis|council|contribution|session|FILE.yaml INPUT|-", flags: "after",
		long: `Scores INPUT (a JSON file, or - for standard input) by a rubric: a built-in one, or a custom one in a YAML or JSON file.
Totals, verdicts and ranks are computed from the scores of the dimensions. Reported totals are only compared.`,
		example: `  waymark score hypothesis hypotheses.json
  waymark score review.yaml items.json --json`,
		more: a.judgeFlags,
		prepare: func(_ *cobra.Command, args []string, q *asked) error {
			input, err := a.jsonInput(args[1])
			if err != nil {
				return err
			}
			var fields map[string]json.RawMessage
			object := json.Unmarshal(input, &fields) == nil && fields != nil // else the server reports the fault
			q.fields["scorer"], q.input, q.body = args[0], args[1], input
			if object && a.judge.BaseURL != "" && fields["judge"] == nil && unscored(fields) {
				fields["judge"], q.body = json.RawMessage("{}"), fields
			}
			if slices.Contains(scoreKinds, args[0]) {
				return nil
			}
			source, err := a.readFile(args[0])
			if errors.Is(err, os.ErrNotExist) {
				return usagef("%s is neither a rubric (%s) nor a file", args[0], strings.Join(scoreKinds, ", "))
			}
			if q.fields["scorer"] = "custom"; object && err == nil {
				fields["source"], err = json.Marshal(string(source))
				q.body = fields
			}
			return err
		},
	})
}

// unscored reports whether an input has items without scores, or answers without reviews, which a judge may supply.
func unscored(fields map[string]json.RawMessage) bool {
	for _, list := range []string{"hypotheses", "items"} {
		var things []map[string]json.RawMessage
		if json.Unmarshal(fields[list], &things) == nil && slices.ContainsFunc(things, func(t map[string]json.RawMessage) bool { return t["scores"] == nil }) {
			return true
		}
	}
	return (fields["responses"] != nil || fields["question"] != nil) && fields["reviews"] == nil
}
