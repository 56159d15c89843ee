package contribution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxText is the limit in the tag of Request.Text.
const maxText = 256 << 10

// fenced puts JSON into a delta block.
func fenced(json string) string { return "```delta\n" + json + "\n```\n" }

const (
	hypothesis = `{"operation": "ADD", "section": "hypothesis_slate", "target_id": null, "payload": {"name": "Lineage", "claim": "Cells count divisions", "mechanism": "A counter is inherited through division", "anchors": ["§161"]}, "rationale": "⊘ Level-Split: separates it from H2 because position plays no part"}`
	third      = `{"operation": "ADD", "section": "hypothesis_slate", "target_id": null, "payload": {"name": "Memory", "claim": "Chromatin carries fate", "mechanism": "Histone marks gate genes", "anchors": ["[inference]"], "third_alternative": true}, "rationale": "⊕ Cross-Domain: an alternative to H1 and H2, because it needs neither"}`
	test       = `{"operation": "ADD", "section": "discriminative_tests", "target_id": null, "payload": {"name": "Transplant", "procedure": "Move a cell early", "discriminates": "H1 vs H2", "expected_outcomes": {"H1": "fate unchanged", "H2": "fate changes"}, "potency_check": "Positive control with a known inducer; sensitivity checked by dose response; time course of 24 h", "feasibility": "moderate", "score": {"likelihood_ratio": 3, "cost": 2, "speed": 2, "ambiguity": 2}}, "rationale": "✂ Exclusion-Test: kills H1 or H2, because outcomes exclude each other"}`
	kill       = `{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H2", "payload": {"reason": "T1 showed that fate does not follow position (§205)"}, "rationale": "† Theory-Kill: the result of T1 contradicts the mechanism of H2"}`
	anomaly    = `{"operation": "ADD", "section": "anomaly_register", "target_id": null, "payload": {"name": "AB lineage", "observation": "fates follow position there", "conflicts_with": ["H1"], "status": "active", "resolution_plan": "after T1"}, "rationale": "ΔE Exception-Quarantine, because it would kill H1 too early"}`
	scale      = `{"operation": "ADD", "section": "assumption_ledger", "target_id": null, "payload": {"name": "Scale check: diffusion", "statement": "a gradient can form in time", "calculation": "D = 10 µm²/s, L = 100 µm, τ = L²/D = 1000 s", "load": "H2 falls if violated", "status": "verified", "scale_check": true}, "rationale": "⊞ Scale-Check: 1000 s is below a cell cycle of 60 min, which rules out no hypothesis, because H2 stays possible"}`
	critique   = `{"operation": "ADD", "section": "adversarial_critique", "target_id": null, "payload": {"name": "The real third alternative", "attack": "Chromatin states inherited through division carry fate by a mechanism of their own", "evidence": "would show marks that persist after a transplant", "current_status": "serious", "real_third_alternative": true}, "rationale": "⊕ Cross-Domain: an alternative to both, because neither is needed"}`
)

func parse(text string) (found deltas, dropped []Dropped) {
	for _, b := range blocks(text) {
		ds, drops := b.read()
		found, dropped = append(found, ds...), append(dropped, drops...)
	}
	return found, dropped
}

// What language models do to JSON and fences. Sources: the parser of brenner_bot (delta-parser.ts) strips
// comments and trailing commas and takes ::: fences; the rest is from its pilot's complaints and our own.
func TestTolerance(t *testing.T) {
	const short = `{"operation": "EDIT", "section": "hypothesis_slate", "target_id": "H2", "payload": {"claim": "x"}, "rationale": "y"}`
	for name, tt := range map[string]struct {
		text string
		note string // part of the only note; "" for none
	}{
		"plain":                         {fenced(short), ""},
		"colons":                        {":::delta\n" + short + "\n:::", ""},
		"tildes":                        {"~~~delta\n" + short + "\n~~~", ""},
		"four backticks":                {"````delta\n" + short + "\n````", ""},
		"windows lines":                 {strings.ReplaceAll(fenced(short), "\n", "\r\n"), ""},
		"upper-case tag":                {"```DELTA\n" + short + "\n```", ""},
		"indented":                      {"  ```delta\n  " + short + "\n  ```", ""},
		"line comment":                  {fenced("// mine\n" + short), "text before the JSON"},
		"block comment":                 {fenced(strings.Replace(short, `{"op`, `{ /* why */ "op`, 1)), "comments"},
		"trailing comma":                {fenced(strings.Replace(short, `"y"}`, `"y",}`, 1)), "commas"},
		"trailing comma in a payload":   {fenced(strings.Replace(short, `"x"}`, `"x", }`, 1)), "commas"},
		"line break in a text":          {fenced(strings.Replace(short, `"y"`, "\"y\nz\"", 1)), "line breaks"},
		"prose before":                  {fenced("Here it is:\n" + short), "text before the JSON"},
		"prose after":                   {fenced(short + "\nThat is all."), "text after the JSON was not read"},
		"no-break space":                {fenced("\u00a0" + short), "text before the JSON"},
		"tagged json":                   {"```json\n" + short + "\n```", "not tagged delta"},
		"not closed":                    {"```delta\n" + short + "\n", "not closed"},
		"lower-case operation":          {fenced(strings.Replace(short, "EDIT", "edit", 1)), "was read as EDIT"},
		"section with a space":          {fenced(strings.Replace(short, "hypothesis_slate", "Hypothesis Slate", 1)), "was read as hypothesis_slate"},
		"lower-case target":             {fenced(strings.Replace(short, `"H2"`, `"h2"`, 1)), "was read as H2"},
		"who and when are no surprises": {fenced(strings.Replace(short, `{"op`, `{"agent": "a", "timestamp": "t", "delta_id": "d", "op`, 1)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			deltas, dropped := parse(tt.text)
			require.Len(t, deltas, 1)
			assert.Empty(t, dropped)
			d := deltas[0]
			assert.Empty(t, d.Errors)
			assert.Equal(t, Edit, d.Operation)
			assert.Equal(t, hypothesisSlate, d.Section)
			assert.Equal(t, "H2", *d.TargetID)
			assert.Equal(t, "x", d.payload["claim"])
			assert.NotEmpty(t, d.rationale)
			if tt.note == "" {
				assert.Empty(t, d.Notes)
				return
			}
			require.Len(t, d.Notes, 1)
			assert.Contains(t, d.Notes[0], tt.note)
		})
	}
}

// fate is what a delta is accused of: errors reject it, faults cost points, notes cost nothing.
type fate struct{ errors, gates, faults, notes []string }

func rejected(errors ...string) fate { return fate{errors: errors} }

// Every line of the format's table of errors, what its implementations disagree on, and what is valid though odd.
func TestFates(t *testing.T) {
	holds := func(t *testing.T, want, got []string) {
		require.Len(t, got, len(want), "%v", got)
		for i := range want {
			assert.Contains(t, got[i], want[i])
		}
	}
	for name, tt := range map[string]struct {
		json string
		want fate
	}{
		"nothing":                {`{}`, rejected("operation is missing", "section is missing", "payload is missing")},
		"operation":              {`{"operation": "DROP", "section": "hypothesis_slate", "payload": {"x": 1}}`, rejected(`unknown operation "DROP": want one of ADD, EDIT, KILL`)},
		"operation is a number":  {`{"operation": 1, "section": "hypothesis_slate", "payload": {"x": 1}}`, rejected(`unknown operation "1"`)},
		"section":                {`{"operation": "EDIT", "target_id": "H1", "section": "ideas", "payload": {"claim": "x"}}`, rejected(`unknown section "ideas": want one of`)},
		"no payload":             {`{"operation": "EDIT", "target_id": "H1", "section": "hypothesis_slate"}`, rejected("payload is missing")},
		"payload is a text":      {`{"operation": "EDIT", "target_id": "H1", "section": "hypothesis_slate", "payload": "x"}`, rejected("payload is not an object")},
		"ADD with a target":      {strings.Replace(hypothesis, `"target_id": null`, `"target_id": "H9"`, 1), rejected("ADD takes no target_id")},
		"EDIT without a target":  {`{"operation": "EDIT", "section": "hypothesis_slate", "payload": {"claim": "x"}}`, rejected("EDIT needs a target_id")},
		"ADD of nothing":         {`{"operation": "ADD", "section": "hypothesis_slate", "payload": {}}`, rejected("payload is empty")},
		"target of another kind": {strings.Replace(kill, `"H2"`, `"T2"`, 1), rejected("is not an id of hypothesis_slate")},
		"target is a number":     {strings.Replace(kill, `"H2"`, `2`, 1), rejected(`target_id "2" is not an id of hypothesis_slate`)},
		"KILL without a target":  {strings.Replace(kill, `"H2"`, `null`, 1), rejected("KILL needs a target_id")},
		"KILL without a reason":  {strings.Replace(kill, `"reason"`, `"because"`, 1), rejected("KILL needs payload.reason")},
		"KILL without rationale": {strings.Replace(kill, `"rationale"`, `"note"`, 1), fate{errors: []string{"KILL needs a rationale"}, gates: []string{"kill_without_rationale"}}},
		"blank rationale":        {`{"operation": "KILL", "section": "hypothesis_slate", "target_id": "H1", "payload": {"reason": "x"}, "rationale": " "}`, fate{errors: []string{"KILL needs a rationale"}, gates: []string{"kill_without_rationale"}}},
		"ADD a thread":           {`{"operation": "ADD", "section": "research_thread", "payload": {"context": "x"}}`, rejected("only edited")},
		"KILL the thread":        {`{"operation": "KILL", "section": "research_thread", "target_id": "RT", "payload": {"reason": "x"}, "rationale": "y"}`, rejected("only edited")},
		"another thread":         {`{"operation": "EDIT", "section": "research_thread", "target_id": "RT2", "payload": {"context": "x"}}`, rejected("is not an id of research_thread")},
		"no potency check":       {strings.Replace(test, `"potency_check"`, `"check"`, 1), fate{errors: []string{"a test needs a potency_check"}, gates: []string{"missing_potency_check"}}},
		"potency check TBD":      {`{"operation": "EDIT", "section": "discriminative_tests", "target_id": "T1", "payload": {"potency_check": "TBD."}}`, fate{errors: []string{"a test needs a potency_check"}, gates: []string{"missing_potency_check"}}},

		"thread without a target":      {`{"operation": "EDIT", "section": "research_thread", "payload": {"context": "x"}, "rationale": "y"}`, fate{}},
		"thread with its target":       {`{"operation": "EDIT", "section": "research_thread", "target_id": "RT", "payload": {"context": "x"}, "rationale": "y"}`, fate{}},
		"an edit of a test's cost":     {`{"operation": "EDIT", "section": "discriminative_tests", "target_id": "T1", "payload": {"feasibility": "x"}, "rationale": "y"}`, fate{}},
		"a prediction of a hypothesis": {`{"operation": "EDIT", "section": "predictions_table", "target_id": "P1.H2", "payload": {"condition": "x"}, "rationale": "y"}`, fate{}},
		"no claim":                     {strings.Replace(hypothesis, `"claim"`, `"Claim"`, 1), fate{faults: []string{"payload.claim is missing"}}},
		"claim is a number":            {strings.Replace(hypothesis, `"Cells count divisions"`, `7`, 1), fate{faults: []string{"payload.claim is not a text"}}},
		"anchors is a text":            {strings.Replace(hypothesis, `["§161"]`, `"§161"`, 1), fate{faults: []string{"payload.anchors is not a list of texts"}}},
		"score beyond 3":               {strings.Replace(test, `"cost": 2`, `"cost": 4`, 1), fate{faults: []string{"payload.score is not an object with likelihood_ratio"}}},
		"score left out":               {strings.Replace(test, `"score"`, `"rating"`, 1), fate{notes: []string{"payload.score is missing"}}},
		"no rationale":                 {strings.Replace(hypothesis, `"rationale"`, `"delta_id"`, 1), fate{notes: []string{"rationale is missing"}}},
	} {
		t.Run(name, func(t *testing.T) {
			deltas, dropped := parse(fenced(tt.json))
			assert.Empty(t, dropped)
			require.Len(t, deltas, 1)
			holds(t, tt.want.errors, deltas[0].Errors)
			assert.Equal(t, tt.want.gates, deltas[0].gates)
			if tt.want.errors == nil {
				holds(t, tt.want.faults, deltas[0].faults)
				holds(t, tt.want.notes, deltas[0].Notes)
			}
		})
	}
}

// The original parser drops all of these without a word, which was the first complaint of its pilot.
func TestNothingIsDroppedSilently(t *testing.T) {
	for name, tt := range map[string]struct {
		text, reason string
		rejected     bool
	}{
		"no fence":               {"I propose " + hypothesis, "outside of a delta block", false},
		"no fence, broken":       {`{"operation": "ADD", "section": `, "outside of a delta block", false},
		"a heading":              {"### DELTA: ADD hypothesis_slate\n**Claim**: x", "outside of a delta block", false},
		"another language":       {"```python\nd = " + hypothesis + "\n```", "outside of a delta block", false},
		"tagged json, broken":    {"```json\n" + hypothesis[:100] + "\n```", "invalid JSON: line 3", false},
		"empty":                  {"```delta\n\n```", "no JSON object", true},
		"prose in a block":       {"```delta\nADD a hypothesis\n```", "no JSON object", true},
		"a number":               {"```delta\n[42]\n```", "no JSON object", true},
		"cut off":                {"```delta\n" + hypothesis[:150], "unexpected EOF", true},
		"a name twice":           {fenced(strings.Replace(hypothesis, `"section"`, `"operation"`, 1)), `duplicate object member name`, true},
		"a comment that goes on": {fenced(`{ /* "operation": "ADD"}`), "invalid character '/'", true},
		"a number too large":     {fenced(`{"operation": 1e999}`), "a value cannot be represented", true},
		"single quotes":          {fenced(`{'operation': "ADD"}`), "invalid character", true},
		"a missing comma":        {fenced(`{"operation": "ADD" "section": "x"}`), "expecting ',' or '}'", true},
	} {
		t.Run(name, func(t *testing.T) {
			deltas, dropped := parse(tt.text)
			assert.Empty(t, deltas)
			require.Len(t, dropped, 1)
			assert.Contains(t, dropped[0].Reason, tt.reason)
			assert.Equal(t, tt.rejected, dropped[0].rejected)
			assert.Positive(t, dropped[0].Line)
			assert.LessOrEqual(t, len([]rune(dropped[0].Excerpt)), 161)
			if name != "empty" {
				assert.NotEmpty(t, dropped[0].Excerpt)
			}
		})
	}
}

// One broken delta does not take the others along, and other code is nobody's business.
func TestBlocksAreReadOneByOne(t *testing.T) {
	text := "# Delta Contribution\n\n" + fenced(hypothesis) + "\nand\n\n" + fenced(`{"operation": `) + fenced(third) +
		"```json\n{\"some\": \"other JSON\"}\n```\n```go\nfunc main() {}\n```\n" + fenced("["+kill+",\n"+anomaly+"]") + fenced(scale+"\n"+critique)
	deltas, dropped := parse(text)
	require.Len(t, deltas, 6)
	require.Len(t, dropped, 1)
	assert.Equal(t, 10, dropped[0].Line)
	var lines []int
	for _, d := range deltas {
		assert.Empty(t, d.Errors)
		assert.Empty(t, d.Notes)
		lines = append(lines, d.Line)
	}
	assert.Equal(t, []int{4, 13, 22, 23, 26, 27}, lines)
}

// A longer fence quotes a shorter one; what is quoted is no delta of this message, but it is reported.
func TestFences(t *testing.T) {
	deltas, dropped := parse("````markdown\n" + fenced(hypothesis) + "````\n" + fenced(kill))
	require.Len(t, deltas, 1)
	assert.Equal(t, Kill, deltas[0].Operation)
	assert.Len(t, dropped, 1)

	// A closing fence was forgotten: the next block is one of its own.
	deltas, dropped = parse("```delta\n" + hypothesis + "\n" + fenced(kill))
	require.Len(t, deltas, 2)
	assert.Empty(t, dropped)
	assert.Equal(t, []string{"the block is not closed"}, deltas[0].Notes)
	assert.Empty(t, deltas[1].Notes)
}

// Messages made to cost much are read in time linear in their length.
func TestMessagesMadeToCostMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	const long = maxText / 4
	for _, text := range []string{
		strings.Repeat("```delta\n", long/9),
		strings.Repeat("{", long),
		"```delta\n" + strings.Repeat("[", long),
		"```delta\n" + strings.Repeat(`{"a":`, long/5),
		"```delta\n" + strings.Repeat("'", long),
		"```delta\n{\"a\": \"" + strings.Repeat(`\u`, long/2),
		strings.Repeat(`operation: "ADD {`, long/17),
		"```delta\n{\"operation\": \"EDIT\", \"section\": \"hypothesis_slate\", \"target_id\": \"H1\", \"payload\": {\"anchors\": [\"" + strings.Repeat("§1-999999999 ", 4_000) + "\"]}}\n```",
	} {
		r, err := Score(Request{Role: HypothesisGenerator, Text: text})
		if err != nil {
			assert.EqualError(t, err, "text: it has more than 1000 deltas")
			continue
		}
		assert.LessOrEqual(t, len(fmt.Sprint(r)), 4*long, "an answer does not blow up what was sent")
	}
}
