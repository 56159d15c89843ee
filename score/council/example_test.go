package council_test

import (
	"encoding/json"
	"fmt"

	"waymark/score/council"
)

// A fluent falsehood beside a plain truth: by weights alone the falsehood would be close, by its ceiling it
// is not, wherever the reviewer puts it.
func ExampleScoreCouncil() {
	var in council.CouncilInput
	err := json.Unmarshal([]byte(`{
		"question": "When did the wall fall?",
		"responses": [{"id": "fluent", "text": "It fell in 1991, …"}, {"id": "plain", "text": "On 9 November 1989."}],
		"reviews": [{"reviewer": "r1", "ranking": ["fluent", "plain"], "evaluations": {
			"fluent": {"accuracy": 3, "relevance": 9, "completeness": 9, "conciseness": 9, "clarity": 9},
			"plain":  {"accuracy": 10, "relevance": 9, "completeness": 4, "conciseness": 10, "clarity": 8}}}]}`), &in)
	if err != nil {
		panic(err)
	}
	res, err := council.ScoreCouncil(in)
	if err != nil {
		panic(err)
	}
	for _, r := range res.Ranking {
		fmt.Printf("%d %-6s %.2f, uncapped %.2f\n", *r.Rank, r.ID, *r.Score, *r.Uncapped)
	}
	fmt.Println("declared otherwise:", res.Reviews[0].DeclaredOrderMismatch)
	// Output:
	// 1 plain  8.30, uncapped 8.30
	// 2 fluent 4.00, uncapped 6.90
	// declared otherwise: true
}

func ExampleParseReply() {
	r := council.ParseReply("Both are fine.\n```json\n{\"evaluations\": {\"Response A\": {\"accuracy\": \"8/10\", \"clarity\": 11}}}\n```")
	fmt.Println(*r.Evaluations["Response A"].Accuracy, r.Evaluations["Response A"].Clarity)
	fmt.Println(r.Problems[0])
	// Output:
	// 8 <nil>
	// "Response A": clarity: 11 is off the scale of 1 to 10
}
