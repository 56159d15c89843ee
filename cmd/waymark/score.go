package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/internal/bounded"
	"waymark/internal/codec"
)

// scoreKinds are the scorers with a rubric of the program.
var scoreKinds = []string{"hypothesis", "council", "contribution", "session"}

func (a *app) scoreCommand() *cobra.Command {
	return a.of(operation{
		id: "score", use: "score hypothesis|council|contribution|session|FILE.yaml INPUT|-", flags: "after",
		long: `Scores what INPUT holds (a file, or - for standard input, as JSON) by a rubric: one that comes with the
program, or one in a file of your own (YAML or JSON). Totals, verdicts and ranks follow from the scores
of the dimensions; totals that come with them are compared and never used.`,
		example: `  waymark score hypothesis hypotheses.json
  waymark score review.yaml items.json --json`,
		more: a.judgeFlags,
		prepare: func(_ *cobra.Command, args []string, q *asked) error {
			input, err := a.jsonInput(args[1])
			if err != nil {
				return err
			}
			if a.judge.BaseURL != "" {
				input = withJudge(input)
			}
			q.fields["scorer"], q.input = args[0], args[1]
			if !slices.Contains(scoreKinds, args[0]) {
				q.fields["scorer"] = "custom"
				input, err = a.withRubric(args[0], input)
			}
			q.body = input
			return err
		},
	})
}

// named is what an input is called in an error.
func named(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// withJudge asks for a judge where one is configured and the input has things without scores, or answers without
// reviews, and says nothing of a judge itself. Other input stays as it is; the server checks it.
func withJudge(input json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields["judge"] != nil {
		return input
	}
	unscored := (fields["responses"] != nil || fields["question"] != nil) && fields["reviews"] == nil
	for _, list := range []string{"hypotheses", "items"} {
		var things []map[string]json.RawMessage
		if json.Unmarshal(fields[list], &things) == nil {
			unscored = unscored || slices.ContainsFunc(things, func(t map[string]json.RawMessage) bool { return t["scores"] == nil })
		}
	}
	if !unscored {
		return input
	}
	fields["judge"] = json.RawMessage("{}")
	out, err := json.Marshal(fields)
	if err != nil {
		return input
	}
	return out
}

// withRubric puts the text of a rubric file into the input.
func (a *app) withRubric(file string, input json.RawMessage) (json.RawMessage, error) {
	source, err := a.readFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usagef("%s is neither a rubric (%s) nor a file", file, strings.Join(scoreKinds, ", "))
	}
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return nil, rejected{errors.New("the input is no JSON object")}
	}
	if fields["source"], err = json.Marshal(string(source)); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// jsonInput reads a file, or standard input, that the server will check.
func (a *app) jsonInput(name string) (json.RawMessage, error) {
	in, name, err := a.openInput(name, bounded.Document)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return jsonValue(in, name)
}

// jsonValue reads one JSON value.
func jsonValue(in io.Reader, name string) (json.RawMessage, error) {
	text, err := io.ReadAll(in)
	if err == nil {
		if err = codec.CheckFile(text); err != nil {
			err = rejected{fmt.Errorf("%s is no JSON: %w", name, err)}
		}
	}
	return text, err
}
