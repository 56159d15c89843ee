package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/lab/labelled"
	"waymark/suggest/evaluate"
)

// quickSets finish in a second or two under the race detector. WAYMARK_ALL_SETS=1 takes every set.
var quickSets = []string{"tmdb", "livemcp", "tau_bench", "toolathlon"}

// publicSets lists the folders of the data sets by name.
func publicSets(t testing.TB) map[string]string {
	root := os.Getenv("WAYMARK_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(root, "datasets", "*", "tools.jsonl"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no data sets in %s; WAYMARK_SHARED says where they are", filepath.Join(root, "datasets"))
	}
	sets := map[string]string{}
	for _, f := range files {
		sets[filepath.Base(filepath.Dir(f))] = filepath.Dir(f)
	}
	return sets
}

// load reads a data set, with the tools of other folders as distractors.
func load(t testing.TB, folder string, distractors ...string) *evaluate.Data {
	t.Helper()
	set, err := labelled.Read(t.Context(), folder)
	require.NoError(t, err)
	require.Zero(t, set.Report.Dropped.Total(), "%s", set.Report)
	d := &evaluate.Data{Name: set.Name, Tools: set.Tools, Capabilities: set.Capabilities}
	have := map[string]bool{}
	for _, tool := range d.Tools {
		have[tool.ID] = true
	}
	for _, e := range set.Episodes {
		require.True(t, e.Next && e.Intent, "%s has parts of its own", set.Name)
		d.Examples = append(d.Examples, evaluate.Example{Episode: e.Episode, Split: e.Split})
	}
	for _, other := range distractors {
		more, err := labelled.Read(t.Context(), other)
		require.NoError(t, err)
		for _, tool := range more.Tools {
			if !have[tool.ID] {
				d.Tools = append(d.Tools, tool)
			}
		}
	}
	return d
}

// published is one table of a data set's page: what baselines reach, by method and metric.
type published struct {
	variant string // what the page says above the table
	rows    map[string]map[string]float64
}

var (
	tableRow = regexp.MustCompile(`^\| ([a-z0-9+]+) \| (.*) \|$`)
	kept     = map[string]string{"popularity": "popularity", "markov1": "markov1", "markov2": "markov2", "knn": "knn"}
)

// readPublished reads the tables below the heading of the baselines.
func readPublished(t testing.TB, folder string) []published {
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "## Baselines computed here")
	if !ok {
		return nil
	}
	var all []published
	var variant string
	var metrics []string
	for _, line := range strings.Split(section, "\n") {
		switch {
		case strings.HasPrefix(line, "Next tool"):
			all = append(all, published{variant, map[string]map[string]float64{}})
			metrics = []string{"hit@1", "hit@3", "hit@5", "mrr"}
		case strings.HasPrefix(line, "Intent -> tools"):
			if len(all) == 0 || all[len(all)-1].variant != variant {
				all = append(all, published{variant, map[string]map[string]float64{}})
			}
			metrics = []string{"recall@5", "ndcg@10", "map@10", "node_f1", "link_f1", "accuracy"}
		case strings.HasSuffix(line, ":"):
			variant = line
		default:
			m := tableRow.FindStringSubmatch(line)
			if m == nil || m[1] == "model" {
				continue
			}
			row := map[string]float64{}
			for i, cell := range strings.Split(m[2], " | ") {
				if cell != "-" {
					v, err := strconv.ParseFloat(cell, 64)
					require.NoError(t, err, line)
					row[metrics[i]] = v
				}
			}
			name, ok := kept[m[1]]
			if !ok {
				continue
			}
			if name == "bm25" || name == "knn" { // their plans are made in another way
				delete(row, "node_f1")
				delete(row, "link_f1")
				delete(row, "accuracy")
			}
			all[len(all)-1].rows[name] = row
		}
	}
	return all
}

// nothing is a predictor that answers nothing: the baselines are tested.
func nothing(context.Context, *evaluate.Data, []*evaluate.Example) ([]evaluate.Predictor, error) {
	return []evaluate.Predictor{{
		Name: "nothing",
		Next: func(evaluate.Question) ([]evaluate.Candidate, error) { return nil, nil },
		Find: func(string) ([]string, error) { return nil, nil },
		Plan: func(string) (evaluate.Plan, error) { return evaluate.Plan{}, nil },
	}}, nil
}

// Oracle: the pages of the public data sets, whose numbers another program computed. Every row of
// every table is reproduced to three decimals.
func TestBaselinesReproduceThePublishedRows(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	sets := publicSets(t)
	rows := 0
	for name, folder := range sets {
		if !slices.Contains(quickSets, name) && os.Getenv("WAYMARK_ALL_SETS") == "" {
			continue
		}
		for _, want := range readPublished(t, folder) {
			if strings.Contains(want.variant, "distractors") && os.Getenv("WAYMARK_ALL_SETS") == "" {
				continue
			}
			t.Run(strings.TrimSpace(name+" "+want.variant), func(t *testing.T) {
				var distractors []string
				if strings.Contains(want.variant, "distractors") {
					distractors = append(distractors, sets["mcp_catalog"])
				}
				d := load(t, folder, distractors...)
				if strings.Contains(want.variant, "successful") {
					d.Examples = slices.DeleteFunc(d.Examples, func(x evaluate.Example) bool {
						return x.Split != evaluate.Train && x.Episode.Outcome != episodic.Success
					})
				}
				r, err := evaluate.Evaluate(t.Context(), d, nothing, evaluate.Options{})
				require.NoError(t, err)
				require.NotEmpty(t, want.rows)
				for method, metrics := range want.rows {
					near := 0.0003
					if method == "knn" {
						near = 0.05 // the pages cut texts into words in another way
					}
					for metric, value := range metrics {
						assert.InDelta(t, value, r.Baselines[method][metric], near, "%s %s", method, metric)
					}
					rows++
				}
			})
		}
	}
	require.NotZero(t, rows)
	t.Logf("%d rows", rows)
}
