package evidence_test

import (
	"context"
	"fmt"

	"waymark/score/evidence"
)

// greenhouse is the worked example of docs/scorers.md.
var greenhouse = evidence.Request{
	Question: "Why is the greenhouse cold at night?",
	Hypotheses: []evidence.Hypothesis{
		{ID: "h1", Text: "A vent stays open."},
		{ID: "h2", Text: "The heater is broken."},
		{ID: "h3", Text: "The glass is cracked."},
	},
	Rounds: []evidence.Round{
		{Snippets: []evidence.Snippet{
			{ID: "a", Text: "The roof vent was found open.", Source: "gardener"},
			{ID: "b", Text: "A broken heater was found in the shed.", Source: "inventory"},
		}},
		{Snippets: []evidence.Snippet{
			{ID: "c", Text: "The heater log contradicts a broken heater.", Source: "logger"},
			{ID: "d", Text: "An open vent lets heat escape at night.", Source: "handbook"},
		}},
		{},
	},
}

func ExampleTriangulate() {
	res, err := evidence.Triangulate(context.Background(), greenhouse, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, r := range res.Rounds {
		fmt.Printf("round %d: h1 %.3f, h2 %.3f, h3 %.3f, entropy %.3f nats, share %.3f, %s\n",
			i+1, r.Weights["h1"], r.Weights["h2"], r.Weights["h3"], r.EntropyNats, r.EntropyShare, r.Gate)
		for _, a := range r.Assignments {
			fmt.Printf("  %s speaks of %s: overlap %.3f, novelty %.3f, falsifies %t\n", a.Snippet, a.Hypothesis, a.Overlap, a.Novelty, a.Falsifies)
		}
	}
	fmt.Printf("confidence %.4f, abstain %t\n", res.Confidence, res.Abstain)
	// Output:
	// round 1: h1 0.367, h2 0.444, h3 0.189, entropy 1.043 nats, share 0.949, continue
	//   a speaks of h1: overlap 0.667, novelty 1.000, falsifies false
	//   b speaks of h2: overlap 1.000, novelty 0.857, falsifies false
	// round 2: h1 0.592, h2 0.223, h3 0.184, entropy 0.957 nats, share 0.871, continue
	//   c speaks of h2: overlap 1.000, novelty 0.667, falsifies true
	//   d speaks of h1: overlap 0.667, novelty 0.750, falsifies false
	// round 3: h1 0.592, h2 0.223, h3 0.184, entropy 0.957 nats, share 0.871, forced
	// confidence 0.7589, abstain false
}

func ExampleAddEvidence() {
	begun := evidence.Request{Question: greenhouse.Question, Hypotheses: greenhouse.Hypotheses}
	a, err := evidence.Triangulate(context.Background(), begun, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range a.NextQueries {
		fmt.Printf("%s: %s\n", q.Intent, q.Text)
	}
	_, a, err = evidence.AddEvidence(a.ID, begun, greenhouse.Rounds[0]) // the snippets that a search found
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Message)
	for _, q := range a.Rounds[0].NextQueries {
		fmt.Printf("%s: %s\n", q.Intent, q.Text)
	}
	// Output:
	// hypothesis_support_1: A vent stays open.
	// hypothesis_support_2: The heater is broken.
	// discriminative_top2: vent stays open vs heater broken greenhouse cold night
	// falsification_lead: no evidence that A vent stays open
	// h2 leads with a weight of 0.44 and a confidence of 0.73. After 1 round the gate says continue.
	// falsification_lead: The heater is not broken
	// hypothesis_support_1: The heater is broken.
	// hypothesis_support_2: A vent stays open.
	// discriminative_top2: heater broken vs vent stays open greenhouse cold night
}
