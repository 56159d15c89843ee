package score

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const asked = "Here is my evaluation.\n\n```json\n" + `{
  "ranking": ["Response A", "Response B"],
  "evaluations": {
    "Response A": {"accuracy": 9, "relevance": 8, "completeness": 8, "conciseness": 7, "clarity": 8, "overall": 8.15, "notes": "Solid"},
    "Response B": {"accuracy": 7, "relevance": 8, "completeness": 9, "conciseness": 9, "clarity": 8, "overall": 8, "notes": ""}
  }
}` + "\n```\nThat is all."

func TestParseReply(t *testing.T) {
	a := eval("9 8 8 7 8 8.15")
	want := Reply{Review: Review{Ranking: []string{"Response A", "Response B"}, Evaluations: map[string]*Evaluation{"Response A": a, "Response B": eval("7 8 9 9 8 8")}}}
	assert.Equal(t, want, ParseReply(asked), "fenced, prose around")
	assert.Equal(t, want, ParseReply(strings.NewReplacer("```json", "", "```", "").Replace(asked)), "bare")
	assert.Equal(t, want, ParseReply(`{"ranking":["Response Z"]}`+asked), "the last object is the verdict")
	assert.Equal(t, want, ParseReply(`B says {"ranking":["B"],"evaluations":{"B":{"overall":10}}}`+asked), "a quoted answer")
	assert.Equal(t, want, ParseReply("I can't judge style, but here is the rest.\n"+asked), "a refusal undoes no review")
	assert.Equal(t, want, ParseReply(strings.Repeat(`\frac{1}{2} `, 1000)+asked), "formulas before it")
	assert.Equal(t, want, ParseReply(strings.ReplaceAll(asked, "8,", "\"8/10\",")), "strings for numbers")
	assert.Equal(t, want, ParseReply(strings.ReplaceAll(asked, "8,", "{\"score\": 8, \"reason\": \"x\"},")), "reasons beside scores")
	assert.Equal(t, want, ParseReply(strings.ReplaceAll(asked, `"accuracy"`, `"Accuracy"`)), "names in any case")
	assert.Equal(t, want, ParseReply(`{"result": `+asked[strings.Index(asked, "{"):strings.LastIndex(asked, "}")+1]+`}`), "wrapped once")
}

// Forms that judges use instead, and what is read of them.
func TestParseReplyInOtherForms(t *testing.T) {
	e := func(scores string) map[string]*Evaluation { return map[string]*Evaluation{"A": eval(scores)} }
	adheres := eval("- - - - -")
	adheres.InstructionAdherence = dec("9")
	refusal := eval("9")
	refusal.CorrectRefusal = true
	for raw, want := range map[string]Reply{
		`{"evaluations":{"A":8}}`:                                     {Review: Review{Evaluations: e("- - - - - 8")}},
		`{"evaluations":{"A":null}}`:                                  {Review: Review{Evaluations: map[string]*Evaluation{"A": nil}}},
		`{"evaluations":{"A":{"accuracy":null}}}`:                     {Review: Review{Evaluations: e("")}},
		`{"evaluations":{"A":{"Instruction Adherence":9}}}`:           {Review: Review{Evaluations: map[string]*Evaluation{"A": adheres}}},
		`{"evaluations":{"A":{"instructionAdherence":9}}}`:            {Review: Review{Evaluations: map[string]*Evaluation{"A": adheres}}},
		`{"evaluations":{"A":{"accuracy":9,"correct_refusal":true}}}`: {Review: Review{Evaluations: map[string]*Evaluation{"A": refusal}}},
		`{"evaluations":{"A":{"accuracy":8.33333}}}`:                  {Review: Review{Evaluations: e("8.3333")}},
		`{"ranking":["A","B"],"scores":{"A":8,"B":"6"}}`:              {Review: Review{Ranking: []string{"A", "B"}, Scores: map[string]Decimal{"A": *dec("8"), "B": *dec("6")}}},
		`{"abstain":true,"reason":"I wrote them"}`:                    {Abstains: true},
		"I'm sorry, but I cannot evaluate these responses.":           {Abstains: true},
		"I must abstain: two of them are mine.":                       {Abstains: true},
		"**ABSTAIN**":                                                 {Abstains: true},
		"I’m sorry, these are beyond me.":                             {Abstains: true},
		"I'm unable to rank these answers.":                           {Abstains: true},
		"I decline to review.":                                        {Abstains: true},
		"I would prefer not to judge my own answer.":                  {Abstains: true},
	} {
		assert.Equal(t, want, ParseReply(raw), raw)
	}
}

// Replies that broke the original parser (origins, "Crash cases"), and their like: no panic, no guess.
func TestParseReplyThatBrokeOthers(t *testing.T) {
	for raw, problem := range map[string]string{
		"```json\nnull\n```":                                               "no JSON review", // #657
		"```json\n[]\n```":                                                 "no JSON review",
		`{"evaluations":"text"}`:                                           "evaluations: neither",
		`{"evaluations":{"A":"eight"}}`:                                    `"A": overall: "eight" is not a decimal number`, // #354
		`{"evaluations":{"A":{"accuracy":"high"}}}`:                        `"A": accuracy: "high" is not a decimal number`,
		`{"evaluations":{"A":{"accuracy":[9]}}}`:                           `"A": accuracy: `,
		`{"evaluations":{"A":{"accuracy":true}}}`:                          `"A": accuracy: `,
		`{"evaluations":{"A":{"accuracy":0}}}`:                             `"A": accuracy: 0 is off the scale of 1 to 10`,
		`{"evaluations":{"A":{"accuracy":1e400}}}`:                         `"A": accuracy: "1e400" is not a decimal number`,
		`{"evaluations":{"A":{"accuracy":"NaN"}}}`:                         `"A": accuracy: "NaN" is not a decimal number`,
		`{"ranking":7}`:                                                    "ranking: neither",
		`{"ranking":[7]}`:                                                  "ranking[0] is not a label",
		`{"scores":[8]}`:                                                   "scores: neither",
		`{"evaluations":{"A":{"accuracy":9},"A":{"accuracy":1}}}`:          "no JSON review", // whom to believe?
		`{"evaluations":{"A":{"accuracy":9`:                                "no JSON review",
		"Response A is better than Response B, and Response A is shorter.": "no JSON review", // a mention is no vote
		"I like Response A.\nI cannot find a fault in Response B.":         "no JSON review", // praise is no refusal (#355)
		`{"findings":[{"severity":"low"}]}`:                                "the JSON is not a review",
		"":                                                                 "no JSON review",
		"\xff{\"ranking\":\xfe":                                            "no JSON review",
		strings.Repeat("{", 10_000):                                        "no JSON review",
		strings.Repeat(`{"evaluations":`, 5_000):                           "no JSON review",
	} {
		r := ParseReply(raw)
		require.NotEmpty(t, r.Problems, raw)
		assert.Contains(t, r.Problems[0], problem, raw)
		for _, e := range r.Evaluations {
			assert.True(t, e == nil || e.Accuracy == nil && e.Overall == nil, raw)
		}
	}

	// #561: the brace walk took findings[0] for the verdict.
	r := ParseReply(`{"findings":[{"ranking":["B"]}],"ranking":["A"]}`)
	assert.Equal(t, []string{"A"}, r.Ranking)
}

// Two evaluations of one answer in a reply are none: which one is meant? In an order the first place counts.
func TestRepliesThatNameAnAnswerTwice(t *testing.T) {
	full := func(n string) string {
		return `{"accuracy":` + n + `,"relevance":8,"completeness":8,"conciseness":8,"clarity":8}`
	}
	res := score(t, CouncilInput{Responses: responses("A", "B"), Reviews: []Review{{Reviewer: "r",
		Raw: `{"ranking":["B","Response A","A"],"evaluations":{"A":` + full("9") + `,"Response A":` + full("1") + `,"B":` + full("8") + `}}`}}})
	order, by := ranking(res)
	assert.Equal(t, []string{"B", "A"}, order)
	assert.Nil(t, by["A"].Score)
	assert.Equal(t, 8., *by["B"].Score)
	assert.Equal(t, []string{`ranking: "Response A" and "A" are the same response`, `evaluations: "A" and "Response A" are the same response`}, res.Reviews[0].Problems)
}

// Whatever the reply, it is read without panic, twice the same, with scores on the scale; and a council
// takes it.
func FuzzParseReply(f *testing.F) {
	f.Add(asked)
	f.Add(`{"ranking":"A > B","scores":{"A":"8/10"},"abstain":false}`)
	f.Add(`{"evaluations":[{"response":"A","scores":{"accuracy":"9"},"overall":{"score":1}}]}`)
	f.Add(`{"A":{"accuracy":9},"B":null}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if len(raw) > maxText {
			return
		}
		r := ParseReply(raw)
		assert.Equal(t, r, ParseReply(raw))
		assert.LessOrEqual(t, len(r.Problems), maxProblems)
		r.Reviewer = "r"
		assert.NoError(t, Check(r.Review))
		if !utf8.ValidString(raw) {
			return
		}
		res, err := ScoreCouncil(CouncilInput{Responses: responses("A", "B"), Reviews: []Review{{Reviewer: "r", Raw: raw}}})
		require.NoError(t, err)
		switch res.Reviews[0].Status {
		case Abstained, Unreadable:
			assert.Nil(t, res.Ranking[0].Rank)
		case rankingOnly:
			assert.Nil(t, res.Ranking[0].Score)
			assert.NotNil(t, res.Ranking[0].Borda)
		default:
			require.NotNil(t, res.Ranking[0].Score)
			assert.GreaterOrEqual(t, *res.Ranking[0].Score, 1.)
			assert.LessOrEqual(t, *res.Ranking[0].Score, *res.Ranking[0].Uncapped)
		}
	})
}
