package contribution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hypo, study, kills and the like are deltas with some words put in place.
func hypo(claim, mechanism, rationale string, more ...string) string {
	return fenced(fmt.Sprintf(`{"operation": "ADD", "section": "hypothesis_slate", "payload": {"name": "N", "claim": %q, "mechanism": %q, "anchors": ["[inference]"]%s}, "rationale": %q}`,
		claim, mechanism, strings.Join(append([]string{""}, more...), ", "), rationale))
}

func study(potency, outcomes, score string) string {
	return fenced(fmt.Sprintf(`{"operation": "ADD", "section": "discriminative_tests", "payload": {"name": "N", "procedure": "p", "discriminates": "H1 vs H2", "expected_outcomes": %s, "potency_check": %q, "feasibility": "f"%s}, "rationale": "r"}`,
		outcomes, potency, score))
}

func kills(reason, rationale string) string {
	return fenced(fmt.Sprintf(`{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H2", "payload": {"reason": %q}, "rationale": %q}`, reason, rationale))
}

func objection(attack, evidence string, marked bool) string {
	return fenced(fmt.Sprintf(`{"operation": "ADD", "section": "adversarial_critique", "payload": {"name": "N", "attack": %q, "evidence": %q, "current_status": "s", "real_third_alternative": %v}, "rationale": "r"}`, attack, evidence, marked))
}

const differing = `{"H1": "fate stays", "H2": "fate changes"}`

// The levels of the seed, criterion by criterion: the lowest and the highest score that the rules leave
// open. Phrases in quotes are those of the seed's tables.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		criterion, name string
		role            Role
		text            string
		score, upper    int
	}{
		// 1. Structural correctness.
		{"structural", "perfect", HypothesisGenerator, fenced(hypothesis), 3, 3},
		{"structural", "an optional field left out", testDesigner, fenced(strings.Replace(test, `"feasibility"`, `"note"`, 1)), 2, 2},
		{"structural", "repaired", HypothesisGenerator, fenced(strings.TrimSuffix(hypothesis, "}") + ",}"), 2, 2},
		{"structural", "malformed payload", HypothesisGenerator, fenced(strings.Replace(hypothesis, `"mechanism"`, `"how"`, 1)), 1, 1},
		{"structural", "a test among hypotheses", HypothesisGenerator, fenced(strings.Replace(test, "discriminative_tests", "hypothesis_slate", 1)), 1, 1},
		{"structural", "a scale check needs no test", adversarialCritic, fenced(scale), 3, 3},

		// 2. Citation compliance; a transcript of 236 sections is known.
		{"citation", "anchored", HypothesisGenerator, fenced(hypothesis), 3, 3},
		{"citation", "inference without brackets", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "inference", 1)), 3, 3},
		{"citation", "inference from a section", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "[inference] from §42-45", 1)), 3, 3},
		{"citation", "sections with a quote", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "§42 (quote), §57", 1)), 3, 3},
		{"citation", "inferred from a section", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "§42 [inference]", 1)), 3, 3},
		{"citation", "verbatim, with a remark", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "§161 [verbatim] (on lineage, and logic)", 1)), 3, 3},
		{"citation", "two signs", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "§§42–45", 1)), 3, 3},
		{"citation", "external source", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "[external: Smith 2024]", 1)), 3, 3},
		{"citation", "external without a source", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "[external: ]", 1)), 1, 2},
		{"citation", "“Brenner said X” with no anchor", adversarialCritic, kills("wrong", "Brenner said so"), 0, 0},
		{"citation", "Brenner with an anchor", adversarialCritic, kills("wrong", "Brenner said so (§229)"), 3, 3},
		{"citation", "Brenner here, the anchor there", adversarialCritic, kills("as §229 has it", "Brenner said so"), 1, 2},
		{"citation", "the protocol's name is no claim", adversarialCritic, kills("wrong", "by the Brenner protocol"), 2, 3},
		{"citation", "fake anchor", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "§237", 1)), 0, 0},
		{"citation", "a range that ends outside", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "§230-240", 1)), 0, 0},
		{"citation", "no anchor", adversarialCritic, kills("wrong", "r"), 2, 3},
		{"citation", "no anchor, though wanted", HypothesisGenerator, fenced(strings.Replace(hypothesis, `["§161"]`, `[]`, 1)), 1, 2},
		{"citation", "another book", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "§3.2", 1)), 1, 2},
		{"citation", "page numbers", HypothesisGenerator, fenced(strings.Replace(hypothesis, "§161", "p. 5", 1)), 1, 2},

		// 3. Rationale quality.
		{"rationale", "complete", HypothesisGenerator, fenced(hypothesis), 3, 3},
		{"rationale", "missing", HypothesisGenerator, hypo("c", "m", ""), 0, 0},
		{"rationale", "“this is important”", HypothesisGenerator, hypo("c", "m", "this is important"), 1, 2},
		{"rationale", "why and what for, no operator", HypothesisGenerator, hypo("c", "m", "excludes H1 because marks persist"), 2, 2},
		{"rationale", "operator and why", HypothesisGenerator, hypo("c", "m", "⊕ Cross-Domain because it works in computing"), 2, 3},
		{"rationale", "operator alone", HypothesisGenerator, hypo("c", "m", "⊕"), 1, 3},
		{"rationale", "the payload once more", HypothesisGenerator, hypo("Cells count their divisions exactly", "m", "Cells count their divisions exactly"), 0, 1},

		// 4. Level separation.
		{"level_separation", "“The gene tells the cell to”", HypothesisGenerator, hypo("The gene tells the cell to divide", "m", "r"), 0, 1},
		{"level_separation", "“The organism decides to”", HypothesisGenerator, hypo("c", "The organism decides to grow", "r"), 0, 1},
		{"level_separation", "an animal chooses", HypothesisGenerator, hypo("the animal prefers light", "m", "r"), 0, 3},
		{"level_separation", "said to be wrong", HypothesisGenerator, hypo("it is wrong that the gene tells the cell what to do", "m", "r"), 1, 3},
		{"level_separation", "quoted", HypothesisGenerator, hypo("against the phrase “the gene tells the cell”", "m", "r"), 1, 3},
		{"level_separation", "denied here, said there", HypothesisGenerator, hypo("not that the gene tells the cell; the protein wants it", "m", "r"), 0, 1},
		{"level_separation", "denied in another clause", HypothesisGenerator, hypo("no lineage; the gene tells the cell", "m", "r"), 0, 1},
		{"level_separation", "won't and can't", HypothesisGenerator, hypo("the cell won't or can't divide", "m", "r"), 1, 3},
		{"level_separation", "levels named", HypothesisGenerator, hypo("c", "the program is kept apart from its interpreter", "r"), 2, 3},
		{"level_separation", "operator", HypothesisGenerator, hypo("c", "m", "⊘ applied"), 2, 3},
		{"level_separation", "nothing said", HypothesisGenerator, hypo("c", "m", "r"), 1, 3},
		{"level_separation", "no mechanism", HypothesisGenerator, hypo("c", "", "⊘"), 1, 1},

		// 5. Third alternative.
		{"third_alternative", "none", HypothesisGenerator, hypo("c", "m", "r"), 0, 0},
		{"third_alternative", "“both could be wrong”", HypothesisGenerator, hypo("Both could be wrong", "", "r", `"third_alternative": true`), 1, 1},
		{"third_alternative", "specific", HypothesisGenerator, fenced(third), 2, 3},
		{"third_alternative", "a blend", HypothesisGenerator, hypo("a hybrid of H1 and H2", "both are combined", "r", `"third_alternative": true`), 2, 3},
		{"third_alternative", "claim only", HypothesisGenerator, hypo("marks carry fate", "", "r", `"third_alternative": true`), 1, 2},
		{"third_alternative", "in another delta of the message", HypothesisGenerator, fenced(hypothesis) + fenced(third), 2, 3},
		{"third_alternative", "only mentioned", HypothesisGenerator, hypo("c", "m", "the third alternative comes later"), 1, 3},

		// 6. Paradox: “but” is none, not even in “distribution”.
		{"paradox", "but", HypothesisGenerator, hypo("a distribution, but yet", "m", "r"), 0, 1},
		{"paradox", "named", HypothesisGenerator, hypo("two facts seem incompatible", "m", "r"), 1, 2},
		{"paradox", "operator", HypothesisGenerator, hypo("c", "m", "◊ Paradox-Hunt"), 1, 2},
		{"paradox", "denied", HypothesisGenerator, hypo("there is no paradox", "m", "r"), 0, 1},

		// 7. Discriminative power.
		{"discriminative", "the same for all", testDesigner, study("x", `{"H1": "No effect.", "H2": "no  effect"}`, ""), 0, 0},
		{"discriminative", "one hypothesis", testDesigner, study("x", `{"H1": "no effect"}`, ""), 0, 0},
		{"discriminative", "different", testDesigner, study("x", differing, ""), 2, 3},
		{"discriminative", "indeterminate is no outcome", testDesigner, study("x", `{"H1": "fate stays", "H2": "indeterminate"}`, ""), 0, 0},
		{"discriminative", "2:1 by its own account", testDesigner, study("x", differing, `, "score": {"likelihood_ratio": 0, "cost": 1, "speed": 1, "ambiguity": 1}`), 1, 1},
		{"discriminative", "a row of predictions", testDesigner, fenced(`{"operation": "ADD", "section": "predictions_table", "payload": {"condition": "c", "predictions": ` + differing + `}, "rationale": "r"}`), 2, 3},
		{"discriminative", "no test", testDesigner, hypo("c", "m", "r"), 0, 3},

		// 8. Potency check.
		{"potency", "complete", testDesigner, fenced(test), 3, 3},
		{"potency", "control and sensitivity", testDesigner, study("positive control and detection limit", differing, ""), 2, 3},
		{"potency", "control", testDesigner, study("a positive control", differing, ""), 1, 3},
		{"potency", "something else", testDesigner, study("we look twice", differing, ""), 1, 3},
		{"potency", "a control that there is not", testDesigner, study("no positive control is possible", differing, ""), 1, 3},

		// 9. Object transposition.
		{"object_transposition", "none", testDesigner, study("x", differing, ""), 0, 1},
		{"object_transposition", "mentioned", testDesigner, study("in vitro too", differing, ""), 1, 2},

		// 10. Score calibration.
		{"calibration", "“all 3s”", testDesigner, study("x", differing, `, "score": {"likelihood_ratio": 3, "cost": 3, "speed": 3, "ambiguity": 3}`), 0, 0},
		{"calibration", "a part left out", testDesigner, study("x", differing, `, "score": {"likelihood_ratio": 1}`), 0, 0},
		{"calibration", "optimistic", testDesigner, study("x", differing, `, "score": {"likelihood_ratio": 3, "cost": 3, "speed": 2, "ambiguity": 2}`), 1, 2},
		{"calibration", "moderate", testDesigner, study("x", differing, `, "score": {"likelihood_ratio": 2, "cost": 1, "speed": 1, "ambiguity": 2}`), 1, 2},
		{"calibration", "outcomes do not differ", testDesigner, study("x", `{"H1": "a", "H2": "a"}`, `, "score": {"likelihood_ratio": 2, "cost": 1, "speed": 1, "ambiguity": 2}`), 0, 0},

		// 11. Scale check.
		{"scale_check", "none", adversarialCritic, fenced(anomaly), 0, 0},
		{"scale_check", "“should work”", adversarialCritic, objection("diffusion should work", "e", false), 0, 1},
		{"scale_check", "full", adversarialCritic, fenced(scale), 2, 3},
		{"scale_check", "no units", adversarialCritic, fenced(strings.Replace(scale, "D = 10 µm²/s, L = 100 µm, τ = L²/D = 1000 s", "10 / 100 = 0.1", 1)), 2, 2},
		{"scale_check", "in words", adversarialCritic, fenced(strings.Replace(scale, "D = 10 µm²/s, L = 100 µm, τ = L²/D = 1000 s", "diffusion is fast", 1)), 1, 2},
		{"scale_check", "elsewhere in the message", adversarialCritic, fenced(anomaly) + fenced(scale), 2, 3},

		// 12. Anomaly quarantine.
		{"quarantine", "none", adversarialCritic, kills("x", "y"), 0, 1},
		{"quarantine", "mentioned", adversarialCritic, kills("an anomaly", "y"), 0, 1},
		{"quarantine", "no plan", adversarialCritic, fenced(strings.Replace(anomaly, `"resolution_plan"`, `"plan"`, 1)), 1, 2},
		{"quarantine", "with a plan", adversarialCritic, fenced(anomaly), 2, 3},
		{"quarantine", "with Occam's broom", adversarialCritic, fenced(strings.Replace(anomaly, "after T1", "after T1; in the appendix until then, not swept under", 1)), 3, 3},

		// 13. Kill justification.
		{"kill_justification", "“This seems unlikely”", adversarialCritic, kills("This seems unlikely", "r"), 0, 0},
		{"kill_justification", "“We don't need this anymore”", adversarialCritic, kills("We don't need this anymore", "r"), 0, 0},
		{"kill_justification", "“This is getting complicated”", adversarialCritic, kills("This is getting complicated", "r"), 0, 0},
		{"kill_justification", "no evidence", adversarialCritic, kills("x", "r"), 0, 1},
		{"kill_justification", "one piece", adversarialCritic, kills("the data contradict it", "r"), 1, 3},
		{"kill_justification", "several", adversarialCritic, fenced(kill), 2, 3},
		{"kill_justification", "the target is no evidence", adversarialCritic, kills("H2 it is", "r"), 0, 1},

		// 14. Real third alternative.
		{"real_third_alternative", "“we don't know”", adversarialCritic, objection("we don't know", "e", false), 0, 1},
		{"real_third_alternative", "“something else could be going on”", adversarialCritic, objection("something else could be going on", "x", true), 1, 1},
		{"real_third_alternative", "concrete", adversarialCritic, fenced(critique), 2, 3},
		{"real_third_alternative", "marked alone", adversarialCritic, objection("x", "y", true), 1, 2},
	} {
		t.Run(tt.criterion+"/"+tt.name, func(t *testing.T) {
			r := scored(t, Request{Role: tt.role, Text: tt.text, Anchors: &Anchors{Max: 236}, Context: map[string]bool{"paradox": true, "object_transposition": true}})
			require.NotEmpty(t, r.Deltas, "%v", r.Dropped)
			d := r.Deltas[0]
			require.True(t, d.Valid, "%v", d.Errors)
			c, ok := d.Criteria[tt.criterion]
			require.True(t, ok)
			assert.Equal(t, [2]int{tt.score, tt.upper}, [2]int{c.Score, c.Upper}, "saw %q, asks %q", c.Saw, c.NeedsHuman)
			assert.Equal(t, "automatic", c.Source)
			assert.Equal(t, c.Score < c.Upper, c.NeedsHuman != "")
		})
	}
}

// Without a transcript anchors count as unchecked, and the answer says so.
func TestAnchorsThatCannotBeLookedUp(t *testing.T) {
	c := scored(t, Request{Role: HypothesisGenerator, Text: fenced(hypothesis)}).Deltas[0].Criteria["citation"]
	assert.Equal(t, 2, c.Score)
	assert.Equal(t, 3, c.Upper)
	assert.Contains(t, c.NeedsHuman, "not looked up")
}
