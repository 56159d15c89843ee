package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score"
	"waymark/suggest"
)

const scored1 = `{"hypotheses":[{"id":"h1","scores":{"specificity":4,"novelty":3,"connection_validity":4,"feasibility":3,"grounding":2}}]}`

// current waits until everything recorded counts.
func (w web) current() *suggest.Model {
	w.t.Helper()
	e := defaultEngine(w.t, w.Server)
	require.NoError(w.t, e.Wait(w.t.Context(), e.Head().Seq))
	return e.Model()
}

// A judge that fails to parse costs its scorer reliability; a request that cannot be scored does not.
func TestFailingJudgesLoseReliability(t *testing.T) {
	said := fours
	w := newWeb(t, func(c *Config) {
		c.RecordScores = true
		c.Judges = oneJudge("small", replying(func(score.Question) string { return said }))
	})
	ask := func(i int) {
		parse[any](t, 200, w.ask("POST", "/v1/score/hypothesis", fmt.Sprintf(`{"hypotheses":[{"id":"h%d","statement":"claim %d"}],"judge":{}}`, i, i)))
	}
	reliability := func() float64 {
		found, err := w.current().Explain(suggest.ExplainRequest{
			ID: score.HypothesisID, Intent: "score and rank research hypotheses", Profile: suggest.ProfileSeed,
		})
		require.NoError(t, err)
		for _, term := range found.Terms {
			if term.Name == "reliability" {
				return term.Value
			}
		}
		t.Fatalf("%s is not found: %+v", score.HypothesisID, found)
		return 0
	}
	ask(0)
	_, err := defaultEngine(t, w.Server).Build(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, 1, reliability(), 1e-12, "one run says little")
	for i := range 7 {
		ask(i + 1)
	}
	assert.InDelta(t, 1.2, reliability(), 1e-12)
	head := defaultEngine(t, w.Server).Head().Seq
	for range 20 {
		parse[refused](t, 422, w.ask("POST", "/v1/score/hypothesis", `{"hypotheses":[{"id":"h","scores":{}}]}`))
	}
	assert.Equal(t, head, defaultEngine(t, w.Server).Head().Seq)
	said = "I would say four."
	for i := range 10 {
		ask(100 + i)
	}
	assert.InDelta(t, .1, reliability(), 1e-12)
}

// Every score is logged, also what was not scored, and what the log holds is no text.
func TestScoresAreLogged(t *testing.T) {
	w := newWeb(t, func(c *Config) {
		c.RecordScores = true
		c.Judges = oneJudge("small", replying(func(score.Question) string { return "I'm sorry, I can't." }))
	})
	const secret = "a claim that is nobody's business"
	for range 3 {
		parse[any](t, 200, w.ask("POST", "/v1/score/hypothesis", `{"hypotheses":[{"id":"h1","statement":"`+secret+`","scores":{"specificity":4,"novelty":3,"connection_validity":4,"feasibility":3,"grounding":2}},{"id":"h2","statement":"x"}],"judge":{}}`))
	}
	parse[any](t, 200, w.ask("POST", "/v1/score/council",
		`{"responses":[{"id":"A","text":"x"},{"id":"B","text":"y"}],"reviews":[{"reviewer":"r","ranking":["A","B"]}]}`))
	parse[any](t, 200, w.ask("POST", "/v1/score/custom",
		`{"source":"id: tastes\ndimensions: [{name: taste, weight: 1, scale: {min: 0, max: 5}}]","items":[{"id":"a","scores":{"taste":4}}]}`))
	type log struct {
		Scores []struct {
			Scorer  string
			Entries []struct {
				ID        string
				Scores    map[string]float64
				Composite *float64
				Outcome   string
			}
		}
		NextCursor string `json:"next_cursor"`
	}
	r := w.ask("GET", "/v1/scores", "")
	assert.NotContains(t, r.body, secret)
	all := parse[log](t, 200, r)
	require.Len(t, all.Scores, 5)
	first := all.Scores[0].Entries
	require.Len(t, first, 2)
	assert.Equal(t, 3.35, *first[0].Composite)
	assert.Equal(t, 2.0, first[0].Scores["grounding"])
	assert.Equal(t, "refused", first[1].Outcome)
	assert.Nil(t, first[1].Composite)
	page := parse[log](t, 200, w.ask("GET", "/v1/scores?scorer=scorer:hypothesis&limit=2", ""))
	assert.Len(t, page.Scores, 2)
	page = parse[log](t, 200, w.ask("GET", "/v1/scores?scorer=scorer:hypothesis&limit=2&cursor="+page.NextCursor, ""))
	assert.Len(t, page.Scores, 1)
	assert.Empty(t, page.NextCursor)
	assert.Equal(t, 422, w.ask("GET", "/v1/scores?cursor=x", "").status)
	assert.Contains(t, w.ask("GET", "/v1/scores?scorer=scorer:session", "").body, `"scores":[]`)

	// What is forgotten is forgotten here too.
	run := parse[struct {
		Scores []struct{ Run, Source string }
	}](t, 200, r).Scores[0]
	parse[any](t, 200, w.ask("POST", "/v1/forget", `{"episode":"`+run.Run+`"}`))
	assert.Len(t, parse[log](t, 200, w.ask("GET", "/v1/scores", "")).Scores, 4)
	parse[any](t, 200, w.ask("POST", "/v1/forget", `{"source":"`+run.Source+`"}`))
	assert.Empty(t, parse[log](t, 200, w.ask("GET", "/v1/scores", "")).Scores)
}
