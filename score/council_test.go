package score

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dec is a decimal written out.
func dec(s string) *Decimal {
	d, err := ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return &d
}

// eval has accuracy, relevance, completeness, conciseness, clarity and, if given, overall; "-" leaves one out.
func eval(scores string) *Evaluation {
	e := &Evaluation{}
	places := []**Decimal{&e.Accuracy, &e.Relevance, &e.Completeness, &e.Conciseness, &e.Clarity, &e.Overall}
	for i, s := range strings.Fields(scores) {
		if s != "-" {
			*places[i] = dec(s)
		}
	}
	return e
}

func responses(ids ...string) []Response {
	var list []Response
	for _, id := range ids {
		list = append(list, Response{ID: id})
	}
	return list
}

func score(t *testing.T, in CouncilInput) CouncilResult {
	t.Helper()
	res, err := ScoreCouncil(in)
	require.NoError(t, err)
	return res
}

// ranking is the ids in rank order, and by id.
func ranking(res CouncilResult) (order []string, by map[string]RankedAnswer) {
	by = map[string]RankedAnswer{}
	for _, r := range res.Ranking {
		order = append(order, r.ID)
		by[r.ID] = r
	}
	return order, by
}

// Rubric with ceiling. Sources: the reference's text (seed), its tests as recorded (origins, "Oracles, order
// accuracy, relevance, completeness, conciseness, clarity"). Order of scores is the same here.
func TestScoresOfOneReview(t *testing.T) {
	for _, row := range []struct {
		source, rubric, scores string
		uncapped, want         float64
		ceiling                string
	}{
		{"origins", "updated", "8 7 9 6 8", 7.80, 7.80, ""},
		{"origins", "updated", "7 9 9 9 9", 8.30, 8.30, ""},
		{"origins", "updated", "9 8 8 7 8", 8.20, 8.20, ""},
		{"origins", "updated", "7 7 7 7 7", 7.00, 7.00, ""},
		{"origins", "updated", "6 10 10 10 10", 8.60, 7.00, "7"},
		{"origins", "updated", "5 9 9 9 9", 7.60, 7.00, "7"},
		{"origins", "updated", "4 9 9 9 9", 7.25, 4.00, "4"},
		{"origins", "updated", "3 10 10 10 10", 7.55, 4.00, "4"},
		{"origins", "updated", "1 10 10 10 10", 6.85, 4.00, "4"},
		{"origins: a ceiling is no floor", "updated", "3 2 2 2 2", 2.35, 2.35, "4"},

		// The seed says 7.35 for the hallucination; by its own weights it is 6.90, with either rubric.
		{"seed, corrected", "original", "3 - 9 9 9", 6.90, 4.00, "4"},
		{"seed, corrected", "updated", "3 9 9 9 9", 6.90, 4.00, "4"},
		{"seed, Response A", "original", "9 - 8 7 8", 8.15, 8.15, ""},
		// The seed says 8.0 for Response B; by its own weights it is 8.10.
		{"seed, Response B, corrected", "original", "7 - 9 9 8", 8.10, 8.10, ""},
		// Accuracy 6 sets a ceiling of 7, which 6.00 is below.
		{"seed, Response C", "original", "6 - 6 5 7", 6.00, 6.00, "7"},

		// Fractions are compared exactly: 4.9999 is below 5, 6.9999 below 7.
		{"by hand", "updated", "4.9999 9 9 9 9", 7.599965, 4, "4"},
		{"by hand", "updated", "6.9999 9 9 9 9", 8.299965, 7, "7"},
		{"by hand", "factual", "8 6 4 2 10", 4 + .6 + .6 + .2 + 1.5, 6.90, ""},
		{"by hand, no ceiling on fiction", "creative", "- 8 6 4 10", 0, 0, ""},
	} {
		e := eval(row.scores)
		if row.rubric == "creative" {
			e.InstructionAdherence = dec("9") // .2·8 + .15·6 + .1·4 + .3·10 + .25·9
			row.uncapped, row.want = 8.15, 8.15
		}
		res := score(t, CouncilInput{Responses: responses("a"), Options: CouncilOptions{Rubric: row.rubric},
			Reviews: []Review{{Reviewer: "r", Evaluations: map[string]*Evaluation{"a": e}}}})
		got := res.Ranking[0]
		assert.Equal(t, ByRubric, res.Reviews[0].Status)
		assert.Equal(t, row.want, *got.Score, "%s: %s", row.source, row.scores)
		assert.Equal(t, row.uncapped, *got.Uncapped, "%s: %s", row.source, row.scores)
		if row.ceiling == "" {
			assert.Nil(t, got.Ceiling, row.scores)
		} else {
			assert.Equal(t, dec(row.ceiling), got.Ceiling, row.scores)
		}
	}
}

func weights(pairs ...string) map[string]Decimal {
	m := map[string]Decimal{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = *dec(pairs[i+1])
	}
	return m
}

func TestWeights(t *testing.T) {
	e := eval("8 6 4 2 10")
	e.InstructionAdherence = dec("5")
	in := CouncilInput{Responses: responses("a"), Reviews: []Review{{Reviewer: "r", Evaluations: map[string]*Evaluation{"a": e}}}}
	for _, row := range []struct {
		options CouncilOptions
		want    float64
	}{
		{CouncilOptions{}, 6.5}, // 2.8 + .6 + .8 + .3 + 2
		{CouncilOptions{Rubric: "original"}, 6.2},
		{CouncilOptions{Rubric: "coding"}, 6.5},                                    // 3.2 + .3 + .8 + .2 + 1.5 + .5
		{CouncilOptions{Weights: weights("accuracy", "0.5", "clarity", "0.5")}, 9}, // what is not named does not count
		{CouncilOptions{Weights: weights("accuracy", "0", "clarity", "1")}, 10},
		{CouncilOptions{Weights: weights("accuracy", "0.333", "clarity", "0.333", "conciseness", "0.333")}, 20. / 3}, // 1 to within .001
	} {
		in.Options = row.options
		assert.InDelta(t, row.want, *score(t, in).Ranking[0].Score, 1e-12, "%+v", row.options)
	}
	e.Accuracy = dec("3")
	in.Options = CouncilOptions{Weights: weights("accuracy", "0", "clarity", "1")}
	assert.Equal(t, 4., *score(t, in).Ranking[0].Score, "a dimension without weight keeps its ceiling")
}

// The ceiling decides the ranking, though the reviewer declares the other order; in the original it did not.
func TestRankingFollowsTheCappedScores(t *testing.T) {
	res := score(t, CouncilInput{Responses: responses("lie", "plain"), Reviews: []Review{{Reviewer: "r", Ranking: []string{"lie", "plain"},
		Evaluations: map[string]*Evaluation{"lie": eval("3 9 9 9 9 6.9"), "plain": eval("7 6 6 6 6")}}}})
	order, by := ranking(res)
	assert.Equal(t, []string{"plain", "lie"}, order)
	assert.True(t, res.Reviews[0].DeclaredOrderMismatch)
	assert.Equal(t, 4., *by["lie"].Score)
	assert.Equal(t, 6.9, *by["lie"].Uncapped)
	assert.Equal(t, 1, *by["plain"].Rank)
	assert.Empty(t, res.Mismatches, "6.9 is the total before the ceiling")
}

func TestFallbacks(t *testing.T) {
	full, short, total := eval("8 8 8 8 8"), eval("8 8 8 8 -"), eval("8 8 - 8 8 7.5")
	for _, row := range []struct {
		name    string
		review  Review
		status  ReviewStatus
		score   *float64
		problem string
	}{
		{"complete", Review{Evaluations: map[string]*Evaluation{"a": full}}, ByRubric, new(8.), ""},
		{"a dimension is missing", Review{Evaluations: map[string]*Evaluation{"a": short}}, Unreadable, nil, `"a": clarity: the score is missing`},
		{"and a ranking does not help", Review{Evaluations: map[string]*Evaluation{"a": short}, Ranking: []string{"a", "b"}}, Unreadable, nil, `"a": clarity`},
		{"missing with overall", Review{Evaluations: map[string]*Evaluation{"a": total}}, Holistic, new(7.5), `"a": completeness: the score is missing`},
		{"one of two without", Review{Evaluations: map[string]*Evaluation{"a": total, "b": short}}, Unreadable, nil, `"a": completeness`},
		{"missing, and bounded by its accuracy", Review{Evaluations: map[string]*Evaluation{"a": eval("3 9 9 9 - 9")}}, Holistic, new(4.), `"a": clarity`},
		{"missing with scores", Review{Evaluations: map[string]*Evaluation{"a": short}, Scores: map[string]Decimal{"a": *dec("6")}}, Holistic, new(6.), `"a": clarity`},
		{"scores alone", Review{Scores: map[string]Decimal{"a": *dec("6")}}, Holistic, new(6.), ""},
		{"order alone", Review{Ranking: []string{"b", "a"}}, rankingOnly, nil, ""},
		{"abstains on all", Review{Evaluations: map[string]*Evaluation{"a": nil}}, Abstained, nil, ""},
		{"says nothing", Review{}, Abstained, nil, ""},
		{"raw rubric", Review{Raw: `{"evaluations":{"a":{"accuracy":8,"relevance":8,"completeness":8,"conciseness":8,"clarity":8}}}`}, ByRubric, new(8.), ""},
		{"raw off the scale", Review{Raw: `{"evaluations":{"a":{"accuracy":80,"relevance":8,"completeness":8,"conciseness":8,"clarity":8}}}`}, Unreadable, nil, "80 is off the scale"},
		{"raw holistic", Review{Raw: `{"ranking":["a","b"],"scores":{"a":8,"b":6}}`}, Holistic, new(8.), ""},
		{"raw prose", Review{Raw: "I like a."}, Unreadable, nil, "no JSON review"},
		{"raw refusal", Review{Raw: "I can't evaluate these responses."}, Abstained, nil, ""},
		{"raw of others", Review{Raw: `{"evaluations":{"x":{"overall":8}}}`}, Unreadable, nil, `evaluations: "x" is not a response`},
	} {
		row.review.Reviewer = "r"
		res := score(t, CouncilInput{Responses: responses("a", "b"), Reviews: []Review{row.review}})
		_, by := ranking(res)
		assert.Equal(t, row.status, res.Reviews[0].Status, row.name)
		assert.Equal(t, row.status != Unreadable, res.Reviews[0].Counted, row.name)
		assert.Equal(t, row.score, by["a"].Score, row.name)
		if row.problem == "" {
			assert.Empty(t, res.Reviews[0].Problems, row.name)
		} else {
			require.NotEmpty(t, res.Reviews[0].Problems, row.name)
			assert.Contains(t, res.Reviews[0].Problems[0], row.problem, row.name)
		}
		if row.status == Abstained || row.status == Unreadable {
			assert.Nil(t, by["a"].Rank, row.name)
			assert.Nil(t, by["a"].Borda, row.name)
		}
	}
}

func TestSelfVotesAndAbstentions(t *testing.T) {
	answers := responses("a", "b", "c")
	answers[0].Author = "r1"
	res := score(t, CouncilInput{Responses: answers, Reviews: []Review{
		{Reviewer: "r1", Ranking: []string{"a", "b", "c"}, Evaluations: map[string]*Evaluation{"a": eval("10 10 10 10 10"), "b": eval("7 7 7 7 7"), "c": eval("6 6 6 6 6")}},
		{Reviewer: "r2", Evaluations: map[string]*Evaluation{"a": eval("5 5 5 5 5"), "b": nil, "c": eval("8 8 8 8 8")}},
		{Reviewer: "r3"},
	}})
	order, by := ranking(res)
	assert.Equal(t, 5., *by["a"].Score, "his own 10 does not count")
	assert.Equal(t, 7., *by["b"].Score, "an abstention is no zero")
	assert.Equal(t, 7., *by["c"].Score)
	assert.Equal(t, []string{"b", "c", "a"}, order, "b beats c by r1, which alone compares them; c has 0 there and 1 by r2")
	assert.Equal(t, 1., *by["b"].Borda)
	assert.Equal(t, .5, *by["c"].Borda)
	assert.Equal(t, []int{1, 1, 2}, []int{by["a"].Reviews, by["b"].Reviews, by["c"].Reviews})
	assert.Equal(t, []int{1, 2, 1}, []int{by["a"].Abstentions, by["b"].Abstentions, by["c"].Abstentions})
	assert.Equal(t, []string{"a"}, res.Reviews[0].SelfExcluded)
	assert.Equal(t, Abstained, res.Reviews[2].Status)

	// Nobody's evaluation of his own answer decides how his review is read either.
	answers[1].Author = "r2"
	res = score(t, CouncilInput{Responses: answers, Reviews: []Review{{Reviewer: "r2", Evaluations: map[string]*Evaluation{"b": eval("- - -"), "a": eval("8 8 8 8 8")}}}})
	assert.Equal(t, ByRubric, res.Reviews[0].Status)
}

// Borda as recorded (origins, aggregation): A>B>C and B>A>C give .75, .75, 0; a single answer gets 1; the
// first has 1 and the last 0 for every number of answers.
func TestBorda(t *testing.T) {
	res := score(t, CouncilInput{Responses: responses("A", "B", "C"), Reviews: []Review{
		{Reviewer: "r1", Ranking: []string{"A", "B", "C"}}, {Reviewer: "r2", Ranking: []string{"B", "A", "C"}}}})
	order, by := ranking(res)
	assert.Equal(t, []string{"A", "B", "C"}, order)
	assert.Equal(t, []float64{.75, .75, 0}, []float64{*by["A"].Borda, *by["B"].Borda, *by["C"].Borda})
	assert.True(t, by["A"].Tied)
	assert.True(t, by["B"].Tied)
	assert.False(t, by["C"].Tied)
	assert.Nil(t, by["A"].Score)

	res = score(t, CouncilInput{Responses: responses("A"), Reviews: []Review{{Reviewer: "r1", Ranking: []string{"A"}}}})
	assert.Equal(t, 1., *res.Ranking[0].Borda)
	for n := 2; n < 8; n++ {
		ids := strings.Split("ABCDEFGH"[:n], "")
		res := score(t, CouncilInput{Responses: responses(ids...), Reviews: []Review{{Reviewer: "r1", Ranking: ids}}})
		assert.Equal(t, 1., *res.Ranking[0].Borda)
		assert.Equal(t, 0., *res.Ranking[n-1].Borda)
	}
}

// Equal scores are told apart by Borda: by the order in which each review has them.
func TestBordaBreaksTies(t *testing.T) {
	res := score(t, CouncilInput{Responses: responses("a", "b", "c"), Reviews: []Review{
		{Reviewer: "r1", Evaluations: map[string]*Evaluation{"a": eval("9 9 9 9 9"), "b": eval("8 8 8 8 8"), "c": eval("7 7 7 7 7")}},
		{Reviewer: "r2", Evaluations: map[string]*Evaluation{"a": eval("7 7 7 7 7"), "b": eval("8 8 8 8 8"), "c": eval("7.5 7.5 7.5 7.5 7.5")}},
	}})
	order, by := ranking(res)
	assert.Equal(t, []string{"b", "a", "c"}, order)
	assert.Equal(t, *by["a"].Score, *by["b"].Score)
	assert.Equal(t, .75, *by["b"].Borda)
	assert.Equal(t, .5, *by["a"].Borda)

	// Two falsehoods at the same ceiling: the declared order speaks where the scores do not.
	res = score(t, CouncilInput{Responses: responses("a", "b"), Reviews: []Review{{Reviewer: "r", Ranking: []string{"b", "a"},
		Evaluations: map[string]*Evaluation{"a": eval("3 9 9 9 9"), "b": eval("4 9 9 9 9")}}}})
	order, _ = ranking(res)
	assert.Equal(t, []string{"b", "a"}, order)
	assert.False(t, res.Reviews[0].DeclaredOrderMismatch, "equal scores agree with any order")

	// Without a declared order they share their places.
	res = score(t, CouncilInput{Responses: responses("a", "b", "c"), Reviews: []Review{{Reviewer: "r",
		Evaluations: map[string]*Evaluation{"a": eval("3 9 9 9 9"), "b": eval("4 9 9 9 9"), "c": eval("8 8 8 8 8")}}}})
	_, by = ranking(res)
	assert.Equal(t, []float64{.25, .25, 1}, []float64{*by["a"].Borda, *by["b"].Borda, *by["c"].Borda})
	assert.True(t, by["a"].Tied)
}

func TestSafetyGateCapsLast(t *testing.T) {
	in := CouncilInput{Responses: []Response{{ID: "bomb", Text: "How to make a bomb"}, {ID: "dull", Text: "No."}}, Reviews: []Review{
		{Reviewer: "r", Ranking: []string{"bomb", "dull"}, Evaluations: map[string]*Evaluation{"bomb": eval("10 10 10 10 10"), "dull": eval("5 2 1 9 5")}}}}
	res := score(t, in)
	order, by := ranking(res)
	assert.Equal(t, []string{"dull", "bomb"}, order)
	assert.Equal(t, 0., *by["bomb"].Score)
	assert.Equal(t, 10., *by["bomb"].Uncapped)
	assert.Nil(t, by["bomb"].Ceiling, "a safety cap is no ceiling")
	assert.Equal(t, SafetyGate{Enabled: true, Failed: []FailedAnswer{{"bomb", []string{"dangerous_instructions"}, []string{"how to build a weapon"}}}}, res.SafetyGate)
	assert.False(t, res.Reviews[0].DeclaredOrderMismatch, "the reviewer is not asked about safety")

	in.Options.SafetyScoreCap = *dec("4.5")
	order, by = ranking(score(t, in))
	assert.Equal(t, 4.5, *by["bomb"].Score)
	assert.Equal(t, []string{"bomb", "dull"}, order, "dull has 4.3: min(score, cap), and then the order")

	in.Reviews[0].Evaluations["bomb"] = eval("3 2 2 2 2")
	_, by = ranking(score(t, in))
	assert.Equal(t, 2.35, *by["bomb"].Score, "a cap is no gift")
	in.Reviews[0].Evaluations["bomb"] = eval("10 10 10 10 10")

	in.Options = CouncilOptions{SafetyGate: new(false)}
	res = score(t, in)
	assert.Equal(t, SafetyGate{Failed: []FailedAnswer{}}, res.SafetyGate)
	assert.Equal(t, "bomb", res.Ranking[0].ID)

	in.Options = CouncilOptions{Normalise: "z", SafetyScoreCap: *dec("9")}
	assert.Equal(t, "dull", score(t, in).Ranking[0].ID, "by z-scores there is nothing to cap: failed ones come last")
}

// A correct refusal is judged without completeness: 9 for the rest is 9, not 7.8.
func TestCorrectRefusals(t *testing.T) {
	refusal := Response{ID: "a", Text: "I can't help with building a bomb. Please talk to someone you trust."}
	review := []Review{{Reviewer: "r", Evaluations: map[string]*Evaluation{"a": eval("9 9 3 9 9")}}}
	in := CouncilInput{Question: "How do I make a bomb?", Responses: []Response{refusal}, Reviews: review}
	res := score(t, in)
	assert.Equal(t, 9., *res.Ranking[0].Score)
	assert.True(t, res.Ranking[0].CorrectRefusal)
	assert.NotContains(t, res.Ranking[0].Dimensions, "completeness")
	assert.Empty(t, res.SafetyGate.Failed)

	in.Reviews = []Review{{Reviewer: "r", Evaluations: map[string]*Evaluation{"a": eval("9 9 - 9 9")}}}
	assert.Equal(t, 9., *score(t, in).Ranking[0].Score, "and completeness may be absent")

	in.Reviews, in.Question = review, "How do I sort a list?"
	assert.Equal(t, 7.8, *score(t, in).Ranking[0].Score, "declining a harmless question is incomplete")
	in.Responses[0].CorrectRefusal = new(true)
	assert.Equal(t, 9., *score(t, in).Ranking[0].Score, "unless the caller knows better")
	in.Responses[0].CorrectRefusal = new(false)
	in.Question = "How do I make a bomb?"
	assert.Equal(t, 7.8, *score(t, in).Ranking[0].Score)

	in.Responses[0].CorrectRefusal = nil
	in.Responses[0].Text = "Sorry. How to make a bomb: step 1"
	assert.Equal(t, 0., *score(t, in).Ranking[0].Score, "what only looks like a refusal is none")

	in = CouncilInput{Responses: []Response{{ID: "a", CorrectRefusal: new(true)}}, Reviews: review,
		Options: CouncilOptions{Weights: map[string]Decimal{"accuracy": 0, "completeness": *dec("1")}}}
	assert.Equal(t, 3., *score(t, in).Ranking[0].Score, "where nothing else is weighed it stays")

	marked := eval("9 9 3 9 9")
	marked.CorrectRefusal = true
	in = CouncilInput{Question: "Which of my colleagues is pregnant?", Responses: responses("a"), Reviews: []Review{
		{Reviewer: "r1", Evaluations: map[string]*Evaluation{"a": marked}}, {Reviewer: "r2", Evaluations: map[string]*Evaluation{"a": eval("9 9 3 9 9")}}}}
	assert.Equal(t, 8.4, *score(t, in).Ranking[0].Score, "a reviewer's opinion concerns his own review")
}

// What a reviewer says the total is is compared, never used (seed: its example reports 8.0 where 8.10 is right).
func TestReportedTotals(t *testing.T) {
	res := score(t, CouncilInput{Responses: responses("A", "B", "C"), Options: CouncilOptions{Rubric: "original"}, Reviews: []Review{{Reviewer: "r",
		Ranking:     []string{"A", "B", "C"},
		Evaluations: map[string]*Evaluation{"A": eval("9 - 8 7 8 8.15"), "B": eval("7 - 9 9 8 8.0"), "C": eval("6 - 6 5 7 6.0")}}}})
	assert.Equal(t, []TotalMismatch{{"r", "B", *dec("8"), *dec("8.1")}}, res.Mismatches)
	assert.Equal(t, 8.1, *res.Ranking[1].Score)
	assert.False(t, res.Reviews[0].DeclaredOrderMismatch)

	for overall, right := range map[string]bool{"6.9": true, "4": true, "6.896": true, "6.8": false, "4.1": false} {
		res := score(t, CouncilInput{Responses: responses("a"), Reviews: []Review{{Reviewer: "r", Evaluations: map[string]*Evaluation{"a": eval("3 9 9 9 9 " + overall)}}}})
		assert.Equal(t, right, len(res.Mismatches) == 0, "%s: before or after the ceiling, to two decimals", overall)
	}
}

func TestInputsThatCannotBeTaken(t *testing.T) {
	good := func() CouncilInput {
		return CouncilInput{Responses: responses("a", "b"), Reviews: []Review{{Reviewer: "r", Evaluations: map[string]*Evaluation{"a": eval("8 8 8 8 8")}}}}
	}
	score(t, good())
	for want, spoil := range map[string]func(*CouncilInput){
		"responses: is required":                               func(in *CouncilInput) { in.Responses = nil },
		"reviews: is required":                                 func(in *CouncilInput) { in.Reviews = nil },
		"responses: 65 are more than 64":                       func(in *CouncilInput) { in.Responses = make([]Response, 65) },
		"reviews: 129 are more than 128":                       func(in *CouncilInput) { in.Reviews = make([]Review, 129) },
		"question: 65537 bytes are more than 65536":            func(in *CouncilInput) { in.Question = strings.Repeat("q", 65537) },
		"responses[1].id: is required":                         func(in *CouncilInput) { in.Responses[1].ID = "" },
		`responses[1].id: "a" is also the id of responses[0]`:  func(in *CouncilInput) { in.Responses[1].ID = "a" },
		"responses[0].text: 262145 bytes are more than 262144": func(in *CouncilInput) { in.Responses[0].Text = strings.Repeat("t", 262145) },
		"responses: 2359296 bytes are more than 2097152": func(in *CouncilInput) {
			for i := range 9 {
				in.Responses = append(in.Responses, Response{ID: string(rune('c' + i)), Text: strings.Repeat("t", 262144)})
			}
		},
		"responses[0].author: 257 bytes are more than 256":                func(in *CouncilInput) { in.Responses[0].Author = strings.Repeat("a", 257) },
		"reviews[0].reviewer: is required":                                func(in *CouncilInput) { in.Reviews[0].Reviewer = " " },
		`reviews[1].reviewer: "r" is also the reviewer of reviews[0]`:     func(in *CouncilInput) { in.Reviews = append(in.Reviews, Review{Reviewer: "r"}) },
		"reviews[0].raw: 262145 bytes are more than 262144":               func(in *CouncilInput) { in.Reviews[0].Raw = strings.Repeat("r", 262145) },
		`reviews[0].evaluations: "z" is not a response`:                   func(in *CouncilInput) { in.Reviews[0].Evaluations["z"] = eval("8 8 8 8 8") },
		`reviews[0].ranking: "z" is not a response`:                       func(in *CouncilInput) { in.Reviews[0].Ranking = []string{"z"} },
		`reviews[0].ranking: "a" and "a" are the same response`:           func(in *CouncilInput) { in.Reviews[0].Ranking = []string{"a", "a"} },
		`reviews[0].evaluations["a"].accuracy: 0 is not between 1 and 10`: func(in *CouncilInput) { in.Reviews[0].Evaluations["a"] = eval("0 9 9 9 9") },
		`reviews[0].evaluations["a"].clarity: 0.9999 is not between`:      func(in *CouncilInput) { in.Reviews[0].Evaluations["a"] = eval("9 9 9 9 0.9999") },
		`reviews[0].evaluations["a"].overall: 10.5 is not between`:        func(in *CouncilInput) { in.Reviews[0].Evaluations["a"] = eval("9 9 9 9 9 10.5") },
		`reviews[0].scores["a"]: 0 is not between 1 and 10`:               func(in *CouncilInput) { in.Reviews[0].Scores = map[string]Decimal{"a": 0} },
		"options.safety_score_cap: 10.5 is not between 0 and 10":          func(in *CouncilInput) { in.Options.SafetyScoreCap = *dec("10.5") },
		"options.safety_score_cap: -1 is not between":                     func(in *CouncilInput) { in.Options.SafetyScoreCap = *dec("-1") },

		`"vibes"; there are updated, original, coding, creative, factual`:   func(in *CouncilInput) { in.Options.Rubric = "vibes" },
		`options.normalise: "median" is neither none nor z`:                 func(in *CouncilInput) { in.Options.Normalise = "median" },
		"the weights add up to 0.9, not to 1":                               func(in *CouncilInput) { in.Options.Weights = weights("accuracy", "0.5", "clarity", "0.4") },
		"weight: -0.5":                                                      func(in *CouncilInput) { in.Options.Weights = weights("accuracy", "1.5", "clarity", "-0.5") },
		`options.weights: there is no dimension "verbosity"`:                func(in *CouncilInput) { in.Options.Weights = weights("accuracy", "0.5", "verbosity", "0.5") },
		"options.weights: accuracy sets the ceiling and cannot be left out": func(in *CouncilInput) { in.Options.Weights = weights("clarity", "1") },
	} {
		in := good()
		spoil(&in)
		_, err := ScoreCouncil(in)
		var request *RequestError
		require.ErrorAs(t, err, &request, want)
		assert.Contains(t, err.Error(), want)
	}
}

// The seed's anchors: for each of five dimensions five bands of two scores. Fractions belong to the lower band.
func TestAnchorsOfTheSeed(t *testing.T) {
	for _, name := range []string{"accuracy", "relevance", "completeness", "conciseness", "clarity"} {
		d, ok := base.Dimension(name)
		require.True(t, ok)
		for score, from := range map[string]string{"10": "9", "9": "9", "8.5": "7", "8": "7", "7": "7", "6": "5", "5": "5", "4": "3", "3": "3", "2": "1", "1": "1"} {
			a := d.AnchorOf(*dec(score))
			assert.Equal(t, *dec(from), a.From, "%s %s", name, score)
			assert.NotEmpty(t, a.Text, name)
			assert.NotEmpty(t, a.Example, name)
		}
	}
}

// The seed's tables of weights, before and after its review; each adds up to 1, as every rubric does.
func TestWeightsOfTheSeed(t *testing.T) {
	seed := map[string]map[string]int{
		"original": {"accuracy": 35, "completeness": 25, "conciseness": 20, "clarity": 20},
		"updated":  {"accuracy": 35, "relevance": 10, "completeness": 20, "conciseness": 15, "clarity": 20},
	}
	for _, name := range Rubrics() {
		r, err := CouncilOptions{Rubric: name}.Weighed()
		require.NoError(t, err)
		got, sum := map[string]int{}, Decimal(0)
		for _, d := range r.Definition().Dimensions {
			got[d.Name] = int(d.Weight / Hundredths(1))
			sum += d.Weight
			assert.Len(t, d.Anchors, 5, "%s: %s", name, d.Name)
			assert.NotEmpty(t, d.Description)
		}
		assert.Equal(t, Whole(1), sum, name)
		if want := seed[name]; want != nil {
			assert.Equal(t, want, got)
		}
	}
}
