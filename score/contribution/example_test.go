package contribution_test

import (
	"fmt"

	"waymark/score/contribution"
)

// The example of the rubric: a delta and the scores that a person gave it.
const microcode = "```delta\n" + `{
  "operation": "ADD",
  "section": "hypothesis_slate",
  "target_id": null,
  "payload": {
    "name": "Epigenetic microcode",
    "claim": "Cell fate is determined by inherited chromatin states that encode a 'microcode' layer between genes and behavior",
    "mechanism": "Histone marks persist through division and gate gene accessibility independent of position or lineage count",
    "anchors": ["inference"],
    "third_alternative": true
  },
  "rationale": "Applying ⊕ Cross-Domain: microcode architecture from computing as structural analogy. This creates a genuine third alternative to lineage-counting (H1) and gradient-reading (H2) by proposing that neither lineage nor position matters—only inherited chromatin state."
}
` + "```\n"

func ExampleScore() {
	r, err := contribution.Score(contribution.Request{
		Role: contribution.HypothesisGenerator,
		Text: microcode,
		Scores: contribution.Scores{
			"structural": 3, "citation": 3, "rationale": 3, "level_separation": 2, "third_alternative": 3, "paradox": 1,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := r.Deltas[0]
	fmt.Printf("%v/%v (%v%%) %s\n", *d.Composite, *d.Max, *d.Percent, *d.Grade) // 3 + 3 + 1.5 + 3 + 6 + .5
	// Output: 17/19 (89.47%) B
}

// Without scores the rules judge, and say what they leave to a person.
func ExampleScore_automatic() {
	r, err := contribution.Score(contribution.Request{Role: contribution.HypothesisGenerator, Text: microcode})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := r.Deltas[0]
	fmt.Printf("%v to %v of %v\n", *d.Composite, *d.Upper, *d.Max)
	for _, name := range []string{"structural", "citation", "rationale", "level_separation", "third_alternative"} {
		c := d.Criteria[name]
		fmt.Printf("%s %d of %d: %s\n", name, c.Score, c.Max, c.Saw)
		if c.NeedsHuman != "" {
			fmt.Println("  ", c.NeedsHuman)
		}
	}
	// Output:
	// 14.5 to 18 of 18
	// structural 3 of 3: all fields as the format wants them
	// citation 3 of 3: cites nothing, but is marked as inference or the like
	// rationale 3 of 3: names ⊕ Cross-Domain, says why, says what it tells apart
	// level_separation 2 of 3: speaks of levels, no phrase mixes them up
	//    are mechanism and specification cleanly typed?
	// third_alternative 2 of 3: claim and mechanism of its own
	//    is it orthogonal, so that it would invalidate the others?
}
