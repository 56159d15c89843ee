package contribution

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score"
)

func session(t *testing.T, s Session) SessionReport {
	t.Helper()
	r, err := ScoreSession(s)
	require.NoError(t, err)
	return r
}

// The five questions of the rubric, “Session-Level Aggregation”, on a session that can be redone by hand.
func TestSession(t *testing.T) {
	generator := Scores{"structural": score.Whole(3), "citation": score.Whole(3), "rationale": score.Whole(3), "level_separation": score.Whole(2), "third_alternative": score.Whole(3), "paradox": score.Whole(1)} // 17 of 19
	low := Scores{"structural": score.Whole(3), "citation": score.Whole(3), "rationale": score.Whole(3), "level_separation": score.Whole(0), "third_alternative": score.Whole(0), "paradox": score.Whole(0)}       // 7.5 of 19
	critic := Scores{"structural": score.Whole(3), "citation": score.Whole(3), "rationale": score.Whole(3), "scale_check": score.Whole(3), "quarantine": score.Whole(3), "real_third_alternative": score.Whole(3), "kill_justification": score.Whole(3)}
	r := session(t, Session{Contributions: []Request{
		{ID: "a", Role: HypothesisGenerator, Round: 1, Text: fenced(hypothesis) + fenced(hypothesis), Scores: low},
		{ID: "b", Role: HypothesisGenerator, Round: 2, Text: fenced(third), Scores: generator},
		{ID: "c", Role: adversarialCritic, Round: 2, Text: fenced(kill) + fenced(`{"operation"`), Scores: critic},
	}})
	assert.Equal(t, map[Role]int{HypothesisGenerator: 3, testDesigner: 0, adversarialCritic: 1}, r.Volume)
	assert.Equal(t, "10.67", r.Quality[HypothesisGenerator].String(), "(7.5 + 7.5 + 17) / 3")
	assert.Equal(t, "56.14", r.QualityPercent[HypothesisGenerator].String(), "(39.474 + 39.474 + 89.474) / 3")
	assert.Equal(t, "25.5", r.Quality[adversarialCritic].String())
	assert.Nil(t, r.Quality[testDesigner])
	assert.Equal(t, "3 contributions with 4 valid deltas; quality is improving, 3 items added and 1 killed.", r.Message)
	assert.Equal(t, map[Role]score.Decimal{HypothesisGenerator: score.Hundredths(5000)}, r.Progression.Change, "89.474 - 39.474")
	require.Len(t, r.Progression.Rounds, 2)
	assert.Equal(t, "39.47", r.Progression.Rounds[0].MeanPercent.String())
	assert.Equal(t, "94.74", r.Progression.Rounds[1].MeanPercent.String(), "(89.474 + 100) / 2")
	assert.Equal(t, 3, r.Convergence.Adds)
	assert.Equal(t, 1, r.Convergence.Kills)
	assert.False(t, r.Convergence.Converging)
	assert.Equal(t, Coverage{[]string{"Level-Split", "Cross-Domain"}, []string{"Paradox-Hunt"}, score.Hundredths(6667)}, r.Coverage[HypothesisGenerator])
	assert.Equal(t, []string{"Theory-Kill"}, r.Coverage[adversarialCritic].Used)
	assert.NotContains(t, r.Coverage, testDesigner)
	assert.Empty(t, r.Gates)
	assert.Equal(t, []string{"low_operator_coverage", "unverified_claim"}, names(r.Warnings))
	assert.Equal(t, []string{"a", "b", "c"}, []string{r.Contributions[0].ID, r.Contributions[1].ID, r.Contributions[2].ID})
	require.Len(t, r.Contributions[2].Gates, 1)
	assert.Equal(t, "delta_rejected", r.Contributions[2].Gates[0].Consequence)
}

// A set of hypotheses without a third alternative is incomplete, once for the session and for no message.
func TestIncompleteSet(t *testing.T) {
	s := Session{Contributions: []Request{{Role: HypothesisGenerator, Text: fenced(hypothesis)}, {Role: testDesigner, Text: fenced(test)}}}
	r := session(t, s)
	require.Len(t, r.Gates, 1)
	assert.Equal(t, "third_alternative_missing set_incomplete", r.Gates[0].Gate+" "+r.Gates[0].Consequence)
	for _, c := range r.Contributions {
		assert.Empty(t, c.Gates)
	}
	s.Contributions = append(s.Contributions, Request{Role: adversarialCritic, Text: fenced(third)})
	assert.Empty(t, session(t, s).Gates, "whoever brings it")
}

func TestSessionWarnings(t *testing.T) {
	best, worst := all(true), all(false)
	add := func(round int, scores Scores, text string) Request {
		return Request{Role: HypothesisGenerator, Round: round, Text: text, Scores: without(scores, sortedKeys(without(all(true), "structural", "citation", "rationale", "level_separation", "third_alternative", "paradox"))...)}
	}
	ops := strings.Replace(third, "⊕ Cross-Domain", "⊘ ⊕ ◊", 1)
	for name, tt := range map[string]struct {
		list []Request
		want []string
	}{
		"sprawl, and not converging":      {[]Request{add(1, best, strings.Repeat(fenced(ops), 5)), {Role: adversarialCritic, Round: 1, Text: fenced(scale)}}, []string{"hypothesis_sprawl", "not_converging", "low_operator_coverage"}},
		"four hypotheses in two messages": {[]Request{add(1, best, strings.Repeat(fenced(ops), 2)), add(2, best, strings.Repeat(fenced(ops), 2))}, []string{"hypothesis_sprawl", "unverified_claim"}},
		"declining":                       {[]Request{add(1, best, fenced(ops)), add(2, worst, fenced(ops))}, []string{"declining_quality", "unverified_claim"}},
		"stable":                          {[]Request{add(1, best, fenced(ops)), add(2, best, fenced(ops))}, []string{"unverified_claim"}},
		"no operator":                     {[]Request{add(1, best, fenced(strings.Replace(ops, "⊘ ⊕ ◊", "", 1)))}, []string{"low_operator_coverage", "unverified_claim"}},
		"nothing valid":                   {[]Request{{Role: testDesigner, Text: fenced("{}")}}, []string{}},
		"nothing to warn of":              {[]Request{{Role: adversarialCritic, Round: 1, Text: fenced(scale)}, {Role: adversarialCritic, Round: 1, Text: fenced(kill)}}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, names(session(t, Session{Contributions: tt.list}).Warnings))
		})
	}
}

// One level of a criterion of weight 1 is 5.26 % of 19: a change of that much counts, one of 2.6 does not.
func TestProgression(t *testing.T) {
	at := func(round int, structural, rationale int) Request {
		return Request{Role: HypothesisGenerator, Round: round, Text: fenced(third), Scores: Scores{"structural": score.Whole(structural), "citation": score.Whole(2), "rationale": score.Whole(rationale), "level_separation": score.Whole(1), "third_alternative": score.Whole(1), "paradox": score.Whole(1)}}
	}
	for want, list := range map[string][]Request{
		"improving": {at(1, 1, 1), at(2, 2, 1)},
		"declining": {at(1, 2, 1), at(2, 1, 1)},
		"stable":    {at(1, 1, 1), at(2, 1, 2)},
		"unknown":   {at(1, 1, 1), at(1, 3, 3)},
	} {
		assert.Equal(t, want, session(t, Session{Contributions: list}).Progression.Trend)
	}
	// The middle of three rounds counts for neither half.
	assert.Equal(t, "stable", session(t, Session{Contributions: []Request{at(1, 1, 1), at(5, 3, 3), at(9, 1, 1)}}).Progression.Trend)
	// A role is compared with itself: that another one scores lower later on is no trend.
	critic := Request{Role: adversarialCritic, Round: 2, Text: fenced(critique), Scores: Scores{"structural": score.Whole(0), "citation": score.Whole(0), "rationale": score.Whole(0), "scale_check": score.Whole(0), "quarantine": score.Whole(0), "real_third_alternative": score.Whole(0)}}
	r := session(t, Session{Contributions: []Request{at(1, 3, 3), critic}})
	assert.Equal(t, "unknown", r.Progression.Trend)
	assert.Empty(t, r.Progression.Change)
	assert.NotContains(t, names(r.Warnings), "declining_quality")
	// The trend is the mean of the changes: generator 2 of 19 points up is 10.53 %, critic 3 of 21 up is 14.29 %.
	better := critic
	better.Round, better.Scores = 3, Scores{"structural": score.Whole(3), "citation": score.Whole(0), "rationale": score.Whole(0), "scale_check": score.Whole(0), "quarantine": score.Whole(0), "real_third_alternative": score.Whole(0)}
	r = session(t, Session{Contributions: []Request{at(1, 1, 1), critic, at(3, 3, 1), better}})
	assert.Equal(t, "improving", r.Progression.Trend)
	assert.Equal(t, map[Role]score.Decimal{HypothesisGenerator: score.Hundredths(1053), adversarialCritic: score.Hundredths(1429)}, r.Progression.Change)
	// 10.53 % up and 14.29 % down is a mean of -1.88 %: stable.
	better.Round, critic.Round = 1, 3
	r = session(t, Session{Contributions: []Request{at(1, 1, 1), better, at(3, 3, 1), critic}})
	assert.Equal(t, "stable", r.Progression.Trend)
	// Without rounds each message is one.
	list := []Request{at(0, 1, 1), at(0, 3, 3)}
	assert.Equal(t, "improving", session(t, Session{Contributions: list}).Progression.Trend)
	assert.Equal(t, 2, session(t, Session{Contributions: list}).Contributions[1].Round)
}

func TestSessionsThatAreRefused(t *testing.T) {
	ok := Request{Role: testDesigner, Text: fenced(test)}
	round := ok
	round.Round = 3
	bad := ok
	bad.Scores = Scores{"potency": score.Whole(9)}
	for want, s := range map[string]Session{
		"contributions: is required":                                                     {},
		"contributions: 1001 are more than 1000":                                         {Contributions: make([]Request, 1001)},
		"contributions[1].text: is required":                                             {Contributions: []Request{ok, {Role: testDesigner}}},
		"contributions[1].round: it is missing, though others have one":                  {Contributions: []Request{round, ok}},
		"contributions[1].scores.potency: 9 is off the scale of 0 to 3 in whole numbers": {Contributions: []Request{ok, bad}},
		"anchors.max: -2 is not between 0 and 1000000":                                   {Contributions: []Request{ok}, Anchors: &Anchors{Max: -2}},
	} {
		_, err := ScoreSession(s)
		assert.EqualError(t, err, want)
	}
}
