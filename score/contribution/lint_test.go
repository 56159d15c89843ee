package contribution

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const goodMarkdown = `---
session_id: "CELL-FATE-001"
created_at: "2025-12-29T19:00:00Z"
updated_at: "2025-12-29T20:30:00Z"
version: 1
contributors:
  - agent: "GreenDog"
    program: "a"
  - agent: "BlueLake"
status: "draft"
---

# Artifact

## 1. Research Thread

**RT**: Does the embryo use lineage or gradients?

**Context**: Some fates depend on position,
some do not.

**Why it matters**: It decides which screens inform.

**Anchors**: §161, §205

## 2. Hypothesis Slate

### H1: Lineage
**Claim**: Fate follows lineage.
**Mechanism**: Cells count divisions.
**Anchors**: §161

### H2: Gradient
**Claim**: Fate follows position.
**Mechanism**: Cells read gradients.
**Anchors**: [inference] from §205

### H3: Third Alternative
**Claim**: Chromatin carries fate.
**How this could be true**: Marks are inherited.
**Anchors**: §103

### ~~H4: Luck~~ [KILLED]
**Claim**: ~~Chance.~~
**Killed by**: GreenDog
**Reason**: T1

## 3. Predictions Table

| ID | Condition | H1 | H2 (gradient) | H3 |
|----|-----------|----|----|----|
| P1 | early transplant | unchanged | changed | indeterminate |
| P2 | late transplant | unchanged | unchanged | a \| b |
| P3 | division block | fails | normal | — |

## 4. Discriminative Tests

### T1: Transplant (Score: 10/12)
**Procedure**: Move a cell.
**Discriminates**: H1 vs H2
**Expected outcomes**:
- If H1: by lineage
- If H2: by position
**Potency check**: late transplant as a positive control (§50)
**Evidence-per-week score**:
- Likelihood ratio: 3 (>100:1)
- Cost: 2
- Speed: 2
- Ambiguity: 3

### T2: Division block (Score: 8/12)
**Procedure**: Block division.
**Expected outcomes**:
- H1: fails
- H2: proceeds
**Potency check**: DNA content, see §50
**Evidence-per-week score**: LR=2, Cost=3, Speed=2, Ambiguity=1

## 5. Assumption Ledger

### A1: Identity is stable
**Statement**: Cells keep their fate.
### A2: Gradients are stable
**Statement**: They last.
### A3: Scale/Physics Check
**Statement**: Diffusion is fast enough.
**Calculation**: τ = L²/D = 1000 s

## 6. Anomaly Register

None registered.

## 7. Adversarial Critique

### C1: Anachronistic
**Attack**: The dichotomy is old.
**Evidence that would confirm this**: trajectories
**Current status**: moderate
### C2: The real third alternative
**Attack**: Memory without counting.
**Why it might be right**: documented
**Current status**: serious
`

func good(t *testing.T) Artifact {
	t.Helper()
	a, err := ParseArtifact(goodMarkdown)
	require.NoError(t, err)
	return a
}

func TestMarkdownIsReadAsMeant(t *testing.T) {
	a := good(t)
	assert.Equal(t, Item{"session_id": "CELL-FATE-001", "created_at": "2025-12-29T19:00:00Z", "updated_at": "2025-12-29T20:30:00Z", "version": 1.0, "status": "draft",
		"contributors": []any{map[string]any{"agent": "GreenDog", "program": "a"}, map[string]any{"agent": "BlueLake"}}}, a.Metadata)
	s := a.Sections
	assert.Equal(t, Item{"id": "RT", "statement": "Does the embryo use lineage or gradients?", "context": "Some fates depend on position,\nsome do not.",
		"why_it_matters": "It decides which screens inform.", "anchors": []any{"§161", "§205"}}, s.ResearchThread)
	require.Len(t, s.HypothesisSlate, 4)
	assert.Equal(t, Item{"id": "H3", "name": "Third Alternative", "claim": "Chromatin carries fate.", "mechanism": "Marks are inherited.", "anchors": []any{"§103"}}, s.HypothesisSlate[2])
	assert.True(t, s.HypothesisSlate[3].killed())
	assert.Equal(t, "T1", s.HypothesisSlate[3]["kill_reason"])
	assert.Equal(t, Item{"id": "P2", "condition": "late transplant", "predictions": map[string]any{"H1": "unchanged", "H2": "unchanged", "H3": "a | b"}}, s.PredictionsTable[1])
	assert.Equal(t, map[string]any{"H1": "fails", "H2": "normal"}, s.PredictionsTable[2]["predictions"])
	assert.Equal(t, "Transplant", s.DiscriminativeTests[0]["name"])
	assert.Equal(t, map[string]any{"H1": "by lineage", "H2": "by position"}, s.DiscriminativeTests[0]["expected_outcomes"])
	for i, want := range []int{10, 8} {
		sum, _, complete := s.DiscriminativeTests[i].rating()
		assert.Equal(t, want, sum)
		assert.True(t, complete)
	}
	assert.Equal(t, true, s.AssumptionLedger[2]["scale_check"])
	assert.Equal(t, true, s.AdversarialCritique[1]["real_third_alternative"])
}

// A good artifact breaks no rule, as Markdown and as JSON.
func TestAGoodArtifact(t *testing.T) {
	r, err := LintText(goodMarkdown, nil)
	require.NoError(t, err)
	assert.True(t, r.Valid)
	assert.Empty(t, r.Violations)
	assert.Equal(t, "CELL-FATE-001", r.Artifact)
	data, err := json.Marshal(good(t))
	require.NoError(t, err)
	r, err = LintText(string(data), nil)
	require.NoError(t, err)
	assert.Empty(t, r.Violations)
}

// Every rule of brenner_bot's linter (artifact-merge.ts, lintArtifact), each by one change to a good artifact.
// Its EP-P01 looked at thread and hypotheses alone; ours looks everywhere.
func TestLintRules(t *testing.T) {
	meta := func(name string, v any) func(*Artifact) { return func(a *Artifact) { a.Metadata[name] = v } }
	item := func(s Section, i int, name string, v any) func(*Artifact) {
		return func(a *Artifact) { (*a.list(s))[i][name] = v }
	}
	thread := func(name string, v any) func(*Artifact) {
		return func(a *Artifact) { a.Sections.ResearchThread[name] = v }
	}
	cut := func(s Section, n int) func(*Artifact) {
		return func(a *Artifact) { *a.list(s) = (*a.list(s))[:n] }
	}
	for _, tt := range []struct {
		name   string
		change func(*Artifact)
		want   string // ids of the rules
		item   string
	}{
		{"no session", meta("session_id", " "), "EM-002", ""},
		{"created when", meta("created_at", "yesterday"), "EM-003", ""},
		{"updated when", meta("updated_at", nil), "EM-003b", ""},
		{"status", meta("status", "open"), "EM-004", ""},
		{"nobody", meta("contributors", []any{}), "WM-001", ""},
		{"updated before created", meta("updated_at", "2025-12-29T21:00:00+03:00"), "WM-002", ""},
		{"version", meta("version", 1.5), "IM-002", ""},
		{"no statement", thread("statement", ""), "ER-001", "RT"},
		{"no context", thread("context", ""), "ER-002", "RT"},
		{"no anchors of the thread", thread("anchors", []any{}), "WR-001", "RT"},
		{"no thread", func(a *Artifact) { a.Sections.ResearchThread = nil }, "ER-001 ER-002 WR-001", "RT"},
		{"two hypotheses", item(hypothesisSlate, 0, "killed", true), "EH-001 WP-001", ""},
		{"seven hypotheses", func(a *Artifact) {
			for _, id := range []string{"H5", "H6", "H7", "H8"} {
				it := cloned(a.Sections.HypothesisSlate[0])
				it["id"] = id
				a.Sections.HypothesisSlate = append(a.Sections.HypothesisSlate, it)
			}
		}, "EH-002", ""},
		{"no third alternative", item(hypothesisSlate, 2, "name", "Memory"), "EH-003", ""},
		{"third alternative by mark", func(a *Artifact) {
			a.Sections.HypothesisSlate[2]["name"], a.Sections.HypothesisSlate[2]["third_alternative"] = "Memory", true
		}, "", ""},
		{"third alternative killed", func(a *Artifact) {
			a.Sections.HypothesisSlate[2]["killed"], a.Sections.HypothesisSlate[3]["killed"] = true, false
			a.Sections.HypothesisSlate[3]["anchors"] = []any{"§1"}
		}, "EH-003 WP-001", ""},
		{"no claim", item(hypothesisSlate, 1, "claim", ""), "EH-004", "H2"},
		{"no anchors", item(hypothesisSlate, 1, "anchors", []any{}), "WH-001", "H2"},
		{"inference alone", item(hypothesisSlate, 1, "anchors", []any{"inference"}), "WP-P02", "H2"},
		{"inference of nothing", item(hypothesisSlate, 1, "anchors", []any{"[inference]"}), "WP-P02", "H2"},
		{"two predictions", cut(predictionsTable, 2), "EP-001", ""},
		{"no difference", item(predictionsTable, 0, "predictions", map[string]any{"H1": "Same.", "H2": "same", "H4": "other"}), "WP-001", "P1"},
		{"nothing predicted", item(predictionsTable, 0, "predictions", nil), "WP-001", "P1"},
		{"one test", cut(discriminativeTests, 1), "ET-001", ""},
		{"no procedure", item(discriminativeTests, 0, "procedure", nil), "ET-002", "T1"},
		{"no outcomes", item(discriminativeTests, 0, "expected_outcomes", map[string]any{}), "ET-003", "T1"},
		{"no potency check", item(discriminativeTests, 0, "potency_check", "none"), "WT-001", "T1"},
		{"potency check without §50", item(discriminativeTests, 1, "potency_check", "DNA content (§150)"), "IP-P02", "T2"},
		{"wrong order", item(discriminativeTests, 0, "score", map[string]any{"cost": 3.0}), "WT-002", ""},
		{"no score", item(discriminativeTests, 1, "score", nil), "WT-003", "T2"},
		{"two assumptions", func(a *Artifact) { a.Sections.AssumptionLedger[0]["killed"] = true }, "EA-001", ""},
		{"no scale check", item(assumptionLedger, 2, "scale_check", false), "EA-002", ""},
		{"no statement of an assumption", item(assumptionLedger, 1, "statement", ""), "EA-003", "A2"},
		{"no calculation", item(assumptionLedger, 2, "calculation", ""), "WA-003", "A3"},
		{"one critique", func(a *Artifact) { a.Sections.AdversarialCritique[0]["killed"] = true }, "EC-001", ""},
		{"no attack", item(adversarialCritique, 0, "attack", ""), "EC-002", "C1"},
		{"no real third alternative", item(adversarialCritique, 1, "real_third_alternative", false), "WC-001", ""},
		{"no evidence", item(adversarialCritique, 0, "evidence", ""), "WC-002", "C1"},
		{"no status of a critique", item(adversarialCritique, 0, "current_status", ""), "IC-001", "C1"},
		{"§237", item(hypothesisSlate, 0, "anchors", []any{"§237"}), "EP-P01", "H1"},
		{"§0 of the thread", thread("anchors", []any{"§0"}), "EP-P01", "RT"},
		{"§1-999999999 in a critique", item(adversarialCritique, 0, "attack", "see §1-999999999"), "EP-P01", "C1"},
		{"references are no list", item(hypothesisSlate, 0, "references", "RS-1"), "ER-REF-001", "H1"},
		{"a reference is no object", item(hypothesisSlate, 0, "references", []any{"RS-1"}), "ER-REF-002", "H1"},
		{"no session of a reference", item(hypothesisSlate, 0, "references", []any{map[string]any{"item": "H1", "relation": "extends"}}), "ER-REF-003", "H1"},
		{"no item of a reference", item(hypothesisSlate, 0, "references", []any{map[string]any{"session": "RS-1", "relation": "extends"}}), "ER-REF-004", "H1"},
		{"a relation of its own", item(hypothesisSlate, 0, "references", []any{map[string]any{"session": "RS-1", "item": "H1", "relation": "likes"}}), "ER-REF-005", "H1"},
		{"a good reference", item(hypothesisSlate, 0, "references", []any{map[string]any{"session": "RS-1", "item": "H1", "relation": "replicates"}}), "", ""},
		{"a strange id", item(anomalyRegister, 0, "id", "Y1"), "ES-003", "Y1"},
		{"an id twice", item(assumptionLedger, 1, "id", "A1"), "ES-004", "A1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := good(t)
			a.Sections.AnomalyRegister = []Item{{"id": "X1", "name": "n", "observation": "o"}}
			tt.change(&a)
			r, err := Lint(a, nil)
			require.NoError(t, err)
			var ids []string
			errors := 0
			for _, v := range r.Violations {
				ids = append(ids, v.ID)
				assert.NotEmpty(t, v.Message)
				assert.NotEmpty(t, v.Fix)
				if v.Severity == severityError {
					errors++
				}
				if tt.item != "" {
					assert.Equal(t, tt.item, v.Item)
				}
			}
			assert.Equal(t, tt.want, strings.Join(ids, " "))
			assert.Equal(t, errors, r.Summary.Errors)
			assert.Equal(t, errors == 0, r.Valid, "warnings are allowed")
		})
	}
}

func TestLintOfADocument(t *testing.T) {
	lint := func(text string) (ids []string, lines map[string]int) {
		r, err := LintText(text, nil)
		require.NoError(t, err)
		lines = map[string]int{}
		for _, v := range r.Violations {
			ids = append(ids, v.ID)
			lines[v.ID] = v.Line
		}
		return ids, lines
	}
	ids, lines := lint(strings.Replace(goodMarkdown, "**Claim**: Fate follows position.\n", "", 1))
	assert.Equal(t, []string{"EH-004"}, ids)
	assert.Equal(t, 1+strings.Count(goodMarkdown[:strings.Index(goodMarkdown, "### H2")], "\n"), lines["EH-004"])

	ids, _ = lint(strings.Replace(goodMarkdown, "None registered.", "", 1))
	assert.Equal(t, []string{"EX-002"}, ids)
	ids, _ = lint(strings.Replace(goodMarkdown, "## 6. Anomaly Register", "## 6. Oddities", 1))
	assert.Equal(t, []string{"ES-001"}, ids)
	ids, _ = lint(goodMarkdown[strings.Index(goodMarkdown, "# Artifact"):])
	assert.Equal(t, []string{"EM-001", "EM-002", "EM-003", "EM-003b", "EM-004", "WM-001", "IM-002"}, ids)
	a, b := strings.Index(goodMarkdown, "## 5."), strings.Index(goodMarkdown, "## 6.")
	ids, _ = lint(goodMarkdown[:a] + goodMarkdown[b:] + "\n" + goodMarkdown[a:b])
	assert.Equal(t, []string{"ES-002"}, ids)
}

func TestArtifactsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "artifact: it is neither JSON nor a Markdown document",
		"# Notes\n\nnothing":                   "artifact: it is neither JSON nor a Markdown document",
		`{"metadata": `:                        "artifact: the JSON value ends early",
		`{"sections": {"ideas": []}}`:          `artifact: /sections/ideas: unknown field "ideas"`,
		`{"sections": {}} {}`:                  "artifact: data after the end of the JSON value",
		"\xff":                                 "artifact: is not valid UTF-8",
		strings.Repeat(" ", maxArtifactText+1): "artifact: 4194305 bytes are more than 4194304",
	} {
		_, err := LintText(text, nil)
		require.Error(t, err)
		assert.Contains(t, err.Error(), want)
	}
	_, err := Lint(Artifact{Sections: Parts{AnomalyRegister: make([]Item, maxItems+1)}}, nil)
	assert.EqualError(t, err, "artifact: 10001 are more than 10000")
	_, err = Lint(Artifact{}, &Anchors{Max: -1})
	assert.Error(t, err)
}

// A shorter transcript, and records that can be looked up.
func TestLintWithAnchors(t *testing.T) {
	a := good(t)
	a.Sections.HypothesisSlate[0]["anchors"] = []any{"EV-001#E1", "EV-001#E2"}
	r, err := Lint(a, &Anchors{Max: 200, Evidence: []string{"EV-001#E1"}})
	require.NoError(t, err)
	got := map[string]string{}
	for _, v := range r.Violations {
		got[v.Item] = v.ID
	}
	assert.Equal(t, map[string]string{"RT": "EP-P01", "H1": "EP-P01", "H2": "EP-P01"}, got)
}

// The front matter is YAML: lists of objects in either style, quotes, and times, which stay text.
func TestFrontMatterIsYAML(t *testing.T) {
	a, err := ParseArtifact("---\nsession_id: 'RS-1'\ncreated_at: 2026-01-31T09:00:00Z\nversion: 3\ncontributors: [{agent: x}, {agent: \"y\"}]\n---\n## Research Thread\n")
	require.NoError(t, err)
	assert.Equal(t, Item{"session_id": "RS-1", "created_at": "2026-01-31T09:00:00Z", "version": 3.0,
		"contributors": []any{map[string]any{"agent": "x"}, map[string]any{"agent": "y"}}}, a.Metadata)
	r, err := LintText("---\nsession_id: [\n---\n## Research Thread\n", nil)
	require.NoError(t, err)
	assert.Equal(t, "EM-001", r.Violations[slices.IndexFunc(r.Violations, func(v Violation) bool { return v.Line == 1 })].ID)
}
