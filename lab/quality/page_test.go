package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest/evaluate"
)

func TestReadFloors(t *testing.T) {
	floors, err := readFloors(floorHeader + "\na\t-\tnext\tmrr\t0.5\t0.75\ta chain\nb\tc\tdag\tnode_f1\t0.25\t-\ta copy\n")
	require.NoError(t, err)
	assert.Equal(t, []floor{{"a", "-", "next", "mrr", 0.5, 0.75, "a chain"}, {"b", "c", "dag", "node_f1", 0.25, 0, "a copy"}}, floors)
	for text, says := range map[string]string{
		"set\tfloor\n":             "line 1: want the columns",
		floorHeader + "\na\t0.5\n": "line 2: 2 columns, want 7",
		floorHeader + "\na\t-\tnext\tmrr\thalf\t-\twhy\n":   "line 2: strconv.ParseFloat",
		floorHeader + "\na\t-\tnext\tmrr\t0.5\thigh\twhy\n": "line 2: strconv.ParseFloat",
	} {
		_, err := readFloors(text)
		assert.ErrorContains(t, err, says)
	}
}

// The table in docs can be read, and names only questions there are.
func TestTheFloorsOfTheDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "lab", "floors.tsv"))
	require.NoError(t, err)
	floors, err := readFloors(string(text))
	require.NoError(t, err)
	seen := map[[4]string]bool{}
	for _, f := range floors {
		assert.Contains(t, questions, f.question)
		assert.True(t, f.value > 0 && f.value < 1, f)
		key := [4]string{f.set, f.among, f.question, f.metric}
		assert.False(t, seen[key], key)
		seen[key] = true
		assert.True(t, f.aim == 0 || f.aim > f.value, f)
	}
}

func TestStanding(t *testing.T) {
	for _, tt := range []struct {
		value float64
		ci    evaluate.Interval
		want  string
	}{
		{0.6, evaluate.Interval{0.5, 0.7}, "reached"},
		{0.4999, evaluate.Interval{0.4, 0.49}, "reached"}, // .500 as shown
		{0.45, evaluate.Interval{0.4, 0.5}, "within chance"},
		{0.4, evaluate.Interval{0.3, 0.49}, "missed"},
	} {
		got := floor{value: 0.5}.standing(evaluate.Row{Value: tt.value, CI: tt.ci})
		assert.Equal(t, tt.want, got, "%v", tt)
	}
}

func TestPage(t *testing.T) {
	no := false
	r := &evaluate.Report{TrainEpisodes: 3, TestEpisodes: 2, Profile: "learned",
		Rows: []evaluate.Row{{Question: "next", Metric: "mrr", Tasks: 20, Value: 0.4, CI: evaluate.Interval{0.3, 0.45},
			Baseline: &evaluate.Compared{Name: "markov1", Value: 0.5}, Verdict: evaluate.Behind}},
		Confidence: map[string]*evaluate.Calibration{"next": {ECE: 0.1, Calibrated: &no, Band: evaluate.Interval{0.01, 0.02}, Claims: 7}},
	}
	seed := &evaluate.Report{LeaveOneOut: true, TestEpisodes: 2}
	floors := []floor{{"a", "-", "next", "mrr", 0.5, 0.6, "a chain"}, {"absent", "-", "next", "mrr", 0.5, 0, "nobody"}}
	var page bytes.Buffer
	writePage(&page, "learned", []sample{{"a", "-", r}, {"a", "many", seed}}, floors)
	lines := strings.Split(page.String(), "\n")
	for _, line := range []string{
		"| a | next tool | mrr | 0.400 | 0.300–0.450 | 0.500 | missed | 0.600 | 0.500 markov1 |",
		"Of 1 floors 0 are reached, 0 are missed by no more than chance, 1 are missed.",
		"- a, next tool, mrr: 0.400, floor 0.500, by more than chance: a chain.",
		"- a, next tool, mrr: 0.400, markov1 has 0.500, by more than chance.",
		"| a | next tool | 7 | 0.100 | 0.010–0.020 | **not calibrated** |",
		"`waymark evaluate --profile learned --dataset $DIR/a`: 3 train and 2 test episodes.",
		"| next tool | mrr | 0.400 | 0.300–0.450 | markov1 | 0.500 | behind | 0.500 | missed |",
		"## a among the tools of many",
		"`waymark evaluate --profile learned --dataset $DIR/a --distractors $DIR/many`: 2 episodes, each held out in turn.",
	} {
		assert.Contains(t, lines, line)
	}
}

func TestFindCases(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"many/tools.jsonl", "b/episodes.jsonl", "a/episodes.jsonl", "empty/README.md"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), nil, 0o600))
	}
	cases, err := findCases(dir, []floor{{set: "b", among: "many"}, {set: "b", among: "many"}, {set: "b", among: "absent"}, {set: "c", among: "many"}})
	require.NoError(t, err)
	assert.Equal(t, []sample{{set: "a", among: "-"}, {set: "b", among: "-"}, {set: "b", among: "many"}}, cases)
	_, err = findCases(t.TempDir(), nil)
	assert.ErrorContains(t, err, "no data set in")
}
