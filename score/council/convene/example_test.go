package convene_test

import (
	"context"
	"encoding/json"
	"fmt"

	"waymark/score/council"
	"waymark/score/council/convene"
	"waymark/score/judge"
)

// reviewer gives every answer the same scores; a judge.Client asks a model instead.
type reviewer struct{ accuracy int }

func (r reviewer) Ask(_ context.Context, q judge.Question) judge.Answer {
	evaluation := map[string]int{"accuracy": r.accuracy, "relevance": 9, "completeness": 9, "conciseness": 9, "clarity": 9}
	reply, _ := json.Marshal(map[string]any{"evaluations": map[string]any{"A": evaluation}, "ranking": []string{"A"}})
	return judge.Answer{Outcome: judge.Answered, JSON: reply, Reply: string(reply)}
}

func ExampleCouncil_Review() {
	c := convene.Council{Reviewers: []convene.Member{{Name: "strict", Asker: reviewer{4}}, {Name: "mild", Asker: reviewer{8}}}}
	m, err := c.Review(context.Background(), "When did the wall fall?", []council.Response{{ID: "x", Text: "In 1989."}})
	if err != nil {
		panic(err)
	}
	for _, r := range m.Result.Reviews {
		fmt.Println(r.Reviewer, r.Status)
	}
	x := m.Result.Ranking[0] // (4.00 + 8.65) / 2: the strict review is bounded by its own accuracy
	fmt.Printf("%s %.3f, uncapped %.3f\n", x.ID, *x.Score, *x.Uncapped)
	// Output:
	// strict rubric
	// mild rubric
	// x 6.325, uncapped 7.950
}
