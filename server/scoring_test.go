package server

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score"
)

func TestScoringRefuses(t *testing.T) {
	w := newWeb(t)
	for _, tt := range []struct{ path, body, location, detail string }{
		{"/v1/score/hypothesis", `{"hypotheses":[{"id":"h","scores":{"specificity":4}}]}`, "body.hypotheses[0].scores.novelty", "the score is missing"},
		{"/v1/score/hypothesis", `{"hypotheses":[{"id":"h","scores":{"specificity":4.00001}}]}`, "", "more than 4 decimal places"},
		{"/v1/score/hypothesis", `{"hypotheses":[{"id":"h","statement":"x"}],"judge":{}}`, "", "no judge is configured"},
		{"/v1/score/council", `{"responses":[{"id":"A"}],"reviews":[{"reviewer":"r","evaluations":{"A":{"charm":1}}}]}`, "body.reviews[0].evaluations.A.charm", "unknown field"},
		{"/v1/score/contribution", `{"role":"poet","text":""}`, "body.role", ""},
		{"/v1/score/custom", `{"items":[]}`, "body.definition", "is required"},
		{"/v1/triangulations", `{"question":"Why?","hypotheses":[]}`, "body.hypotheses", "none is given"},
	} {
		p := parse[refused](t, 422, w.ask("POST", tt.path, tt.body))
		assert.Contains(t, p.Detail+fmt.Sprint(p.Errors), tt.detail, tt.body)
		if tt.location != "" {
			require.NotEmpty(t, p.Errors, tt.body)
			assert.Equal(t, tt.location, p.Errors[0].Location, tt.body)
		}
	}
	requireProblem(t, 422, "ends early", w.ask("POST", "/v1/score/hypothesis", `{"hypotheses":[`))
	client := overMemory(t, w.Server, nil)
	for _, tt := range []struct{ arguments, want string }{
		{`{"rubric":"hypothesis"}`, "input"},
		{`{"rubric":{"id":"x"},"input":{"items":[]}}`, "rubric: a JSON object does not fit here, want a string"},
		{`{"rubric":"hypothesis","input":{"hypotheses":[{"id":"h","scores":{}}]}}`, "hypotheses[0].scores.specificity: the score is missing"},
	} {
		r := call(t, client, "score", json.RawMessage(tt.arguments))
		assert.True(t, r.IsError, tt.arguments)
		assert.Contains(t, textOf(t, r), tt.want)
	}
}

// replying is a judge without an endpoint: it answers from what a model would say.
type replying func(q score.Question) string

func (f replying) Ask(_ context.Context, q score.Question) score.Judgement {
	a := q.Read(f(q))
	a.Model, a.Attempts = "small", 1
	return a
}

// oneJudge is a single model.
func oneJudge(name string, a score.Asker) score.Judges {
	return score.Judges{Names: []string{name}, Askers: map[string]score.Asker{name: a}}
}

const fours = `{"specificity":{"explanation":"a","score":4},"novelty":{"explanation":"b","score":"4"},"connection_validity":{"explanation":"c","score":4},"feasibility":{"explanation":"d","score":4},"grounding":{"explanation":"e","score":4}}`
