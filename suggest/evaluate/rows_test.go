package evaluate

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/lab/labelled"
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
func load(t testing.TB, folder string, distractors ...string) *Data {
	t.Helper()
	set, err := labelled.Read(t.Context(), folder)
	require.NoError(t, err)
	require.Zero(t, set.Report.Dropped.Total(), "%s", set.Report)
	d := &Data{Name: set.Name, Tools: set.Tools, Capabilities: set.Capabilities, Official: set.TaskGraph}
	have := map[string]bool{}
	for _, tool := range d.Tools {
		have[tool.ID] = true
	}
	for _, e := range set.Episodes {
		d.Examples = append(d.Examples, Example(e))
	}
	for _, l := range set.Links {
		d.Needs = append(d.Needs, Link{l.Source, l.Target})
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
	methods  = map[string]string{"hybrid": "fusion", "copy1": "copy", "bm25+graph": "bm25_graph", "knn+graph": "knn_graph"}
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
			metrics = nextMetrics
		case strings.HasPrefix(line, "Intent -> tools"):
			if len(all) == 0 || all[len(all)-1].variant != variant {
				all = append(all, published{variant, map[string]map[string]float64{}})
			}
			metrics = slices.Concat(toolMetrics, dagMetrics)
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
			name := m[1]
			if own, ok := methods[name]; ok {
				name = own
			}
			all[len(all)-1].rows[name] = row
		}
	}
	return all
}

// values of a baseline by metric.
func values(b Baseline) map[string]float64 {
	v := map[string]float64{}
	if n := b.NextScores; n != nil {
		v["hit@1"], v["hit@3"], v["hit@5"], v["mrr"] = n.Hit1, n.Hit3, n.Hit5, n.MRR
	}
	if s := b.ToolsScores; s != nil {
		v["recall@5"], v["ndcg@10"], v["map@10"] = s.Recall5, s.NDCG10, s.MAP10
	}
	if s := b.DAGBaseline; s != nil {
		v["node_f1"], v["accuracy"] = s.NodeF1, s.Accuracy
		if s.LinkF1 != nil {
			v["link_f1"] = *s.LinkF1
		}
	}
	return v
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
				r, err := Evaluate(t.Context(), d, nil, Options{SuccessfulTests: strings.Contains(want.variant, "successful")})
				require.NoError(t, err)
				require.NotEmpty(t, want.rows)
				for method, metrics := range want.rows {
					got := values(r.Baselines[method])
					for metric, value := range metrics {
						assert.InDelta(t, value, got[metric], 0.0003, "%s %s", method, metric)
					}
					rows++
				}
			})
		}
	}
	require.NotZero(t, rows)
	t.Logf("%d rows", rows)
}

// Oracle: what the pages of the planning benchmarks say of copying the nearest past request, by their
// own program.
func TestOfficialMetricOfCopying(t *testing.T) {
	sets := publicSets(t)
	for name, want := range map[string]OfficialScores{
		"tmdb":      {95, 0.4583, 0.1656, 0.0947},
		"ultratool": {500, 0.7443, 0.4502, 0.4180},
	} {
		if !slices.Contains(quickSets, name) && os.Getenv("WAYMARK_ALL_SETS") == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r, err := Evaluate(t.Context(), load(t, sets[name]), nil, Options{})
			require.NoError(t, err)
			got := r.Baselines[byCopy].Official
			require.NotNil(t, got)
			assert.Equal(t, want.Requests, got.Requests)
			assert.InDelta(t, want.NodeF1, got.NodeF1, 0.0001)
			assert.InDelta(t, want.LinkF1, got.LinkF1, 0.0001)
			assert.InDelta(t, want.Accuracy, got.Accuracy, 0.0001)
		})
	}
}
