package score

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score/council"
	"waymark/score/judge"
)

// replying is a judge without an endpoint: it answers from what a model would say.
type replying func(q judge.Question) string

func (f replying) Ask(_ context.Context, q judge.Question) judge.Answer {
	a := judge.Read(f(q), q)
	a.Model, a.Attempts = "m", 1
	return a
}

// fenced is an answer as reviewers see it, with its label.
var fenced = regexp.MustCompile(`(?s)<data [0-9a-f]+ label="answer ([A-Z])">(.*?)</data`)

// member answers in its own words and finds answers with the word "sound" right and others wrong.
func member(answer string) replying {
	return func(q judge.Question) string {
		seen := fenced.FindAllStringSubmatch(q.User, -1)
		if seen == nil {
			text, _ := json.Marshal(map[string]string{"answer": answer})
			return string(text)
		}
		evaluations := map[string]any{}
		for _, m := range seen {
			accuracy := 3
			if strings.Contains(m[2], "sound") {
				accuracy = 9
			}
			evaluations[m[1]] = map[string]any{"accuracy": accuracy, "relevance": 9, "completeness": 9, "conciseness": 9, "clarity": 9,
				"correct_refusal": false, "notes": "n"}
		}
		reply := map[string]any{"evaluations": evaluations, "ranking": []string{}, "abstain": false}
		text, _ := json.Marshal(reply)
		return string(text)
	}
}

func TestCouncilOfModels(t *testing.T) {
	why := council.CouncilInput{Question: "Why?"}
	s := &Scorer{Judges: Judges{Names: []string{"a", "b", "c"}, Askers: map[string]judge.Asker{
		"a": member("a sound answer"), "b": member("a guess"), "c": member("another guess")}}}
	answer, err := s.Council(t.Context(), CouncilRequest{CouncilInput: why, Judge: &CouncilJudge{}})
	require.NoError(t, err)
	require.Len(t, answer.Ranking, 3)
	assert.Equal(t, "a", answer.Ranking[0].ID)
	assert.InDelta(t, 9, *answer.Ranking[0].Score, 1e-9)
	assert.InDelta(t, 4, *answer.Ranking[1].Score, 1e-9, "bounded by accuracy")
	assert.Len(t, answer.Judgements, 6, "three answers, three reviews")

	again, err := s.Council(t.Context(), CouncilRequest{CouncilInput: *answer.Convened})
	require.NoError(t, err)
	assert.Equal(t, answer.Ranking, again.Ranking, "anybody can compute it again")

	given, err := s.Council(t.Context(), CouncilRequest{CouncilInput: council.CouncilInput{Question: "Why?", Responses: []council.Response{{ID: "x", Text: "a guess"}, {ID: "y", Text: "sound"}}},
		Judge: &CouncilJudge{Models: []string{"b"}}})
	require.NoError(t, err)
	assert.Equal(t, "y", given.Ranking[0].ID)

	for _, tt := range []struct {
		req  CouncilRequest
		want string
	}{
		{CouncilRequest{CouncilInput: why, Judge: &CouncilJudge{Models: []string{"a", "z"}}}, `judge.models[1]: "z" is not configured`},
		{CouncilRequest{CouncilInput: why, Judge: &CouncilJudge{Reviewers: []string{"z"}}}, `judge.reviewers[0]: "z" is not configured`},
		{CouncilRequest{Judge: &CouncilJudge{}}, "question: is required"},
		{CouncilRequest{CouncilInput: council.CouncilInput{Question: "Why?", Reviews: []council.Review{{}}}, Judge: &CouncilJudge{}}, "reviews: are given"},
		{CouncilRequest{CouncilInput: why}, "responses: is required"},
	} {
		_, err := s.Council(t.Context(), tt.req)
		assert.ErrorContains(t, err, tt.want)
	}
	_, err = new(Scorer).Council(t.Context(), CouncilRequest{CouncilInput: why, Judge: &CouncilJudge{}})
	assert.ErrorIs(t, err, ErrNoJudge)
	one := &Scorer{Judges: OneJudge("a", member("alone"))}
	_, err = one.Council(t.Context(), CouncilRequest{CouncilInput: why, Judge: &CouncilJudge{}})
	assert.ErrorIs(t, err, ErrJudge, "nobody reviews itself")
}
