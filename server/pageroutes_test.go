package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/evaluate"
	"waymark/suggest"
)

const timedEpisodes = `{"id":"p1","session":"s","steps":[{"tool":"fs:read_file","outcome":"success","duration_ms":10},{"tool":"page:b","duration_ms":100}]}
{"id":"p2","session":"s","steps":[{"tool":"fs:read_file","outcome":"success","duration_ms":30},{"tool":"page:b","outcome":"success","duration_ms":300}]}
{"id":"p3","outcome":"failure","steps":[{"tool":"page:b","outcome":"failure","duration_ms":200},{"tool":"fs:read_file"}]}
`

func newTimed(t *testing.T) web {
	w := newWeb(t)
	r := w.ask("POST", "/v1/episodes", timedEpisodes, "Content-Type: application/x-ndjson")
	require.Equal(t, 200, r.status, r.body)
	require.Eventually(t, func() bool { return strings.Contains(w.ask("GET", "/v1/graph", "").body, "page:b") }, 30*time.Second, 10*time.Millisecond)
	return w
}

func TestEvidence(t *testing.T) {
	w := newTimed(t)
	type body = struct {
		From, To            string
		Total               int
		Successes, Failures int
		Episodes            []struct{ ID, Outcome, Step_outcome string }
	}
	a := parse[body](t, 200, w.ask("GET", "/v1/evidence?from=fs.read_file&to=page:b", ""))
	assert.Equal(t, "fs:read_file", a.From)
	assert.Equal(t, 2, a.Total)
	assert.Equal(t, 1, a.Successes)
	assert.Zero(t, a.Failures)
	require.Len(t, a.Episodes, 2)
	assert.Equal(t, "p2", a.Episodes[0].ID, "the last recorded comes first")
	a = parse[body](t, 200, w.ask("GET", "/v1/evidence?from=fs:read_file&to=page:b&limit=1", ""))
	assert.Equal(t, 2, a.Total)
	require.Len(t, a.Episodes, 1)
	assert.Equal(t, "success", a.Episodes[0].Step_outcome)
	require.Equal(t, 200, w.ask("POST", "/v1/episodes", `{"id":"p4","steps":[{"tool":"fs:read_file"},{"tool":"page:b","outcome":"failure"},{"tool":"page:b","outcome":"success"}]}
`, "Content-Type: application/x-ndjson").status)
	a = parse[body](t, 200, w.ask("GET", "/v1/evidence?from=fs:read_file&to=page:b", ""))
	assert.Equal(t, []int{3, 1, 1}, []int{a.Total, a.Successes, a.Failures}, "a call that failed came after it, too")
	assert.Equal(t, "failure", a.Episodes[0].Step_outcome)
	requireProblem(t, 404, `unknown tool`, w.ask("GET", "/v1/evidence?from=no:such&to=page:b", ""))
	requireProblem(t, 404, `did you mean fs:read_file?`, w.ask("GET", "/v1/evidence?from=page:b&to=fs:raed_file", ""))
	requireProblem(t, 422, "limit", w.ask("GET", "/v1/evidence?from=a&to=b&limit=201", ""))
}

func TestToolStats(t *testing.T) {
	w := newTimed(t)
	a := parse[struct {
		Episodes, Sessions int
		Tools              []map[string]any
	}](t, 200, w.ask("GET", "/v1/tool-stats", ""))
	assert.Equal(t, 17, a.Episodes)
	by := map[string]map[string]any{}
	for _, tool := range a.Tools {
		by[tool["id"].(string)] = tool
	}
	assert.Equal(t, map[string]any{"id": "page:b", "known": false, "calls": 3.0, "successes": 1.0, "failures": 1.0, "timed": 3.0, "p50_ms": 200.0, "p95_ms": 300.0}, by["page:b"])
	assert.Equal(t, true, by["fs:read_file"]["known"])
	assert.Equal(t, 2.0, by["fs:read_file"]["timed"])

	most := parse[struct {
		Used, Unused int
		Tools        []map[string]any
	}](t, 200, w.ask("GET", "/v1/tool-stats?order=p95&limit=1", ""))
	require.Len(t, most.Tools, 1)
	assert.Equal(t, "page:b", most.Tools[0]["id"])
	assert.Equal(t, len(a.Tools), most.Used+most.Unused)
	never := parse[struct{ Tools []map[string]any }](t, 200, w.ask("GET", "/v1/tool-stats?order=unused", ""))
	assert.Len(t, never.Tools, most.Unused)

	require.Equal(t, 200, w.ask("POST", "/v1/episodes", `{"id":"d1","time":"2026-07-01T23:30:00-01:00","steps":[{"tool":"page:b","outcome":"failure"},{"tool":"page:b"}]}
{"id":"d2","time":"2026-07-03T09:00:00Z","steps":[{"tool":"page:b","outcome":"success"}]}
`, "Content-Type: application/x-ndjson").status)
	one := parse[struct{ Tools []toolStats }](t, 200, w.ask("GET", "/v1/tool-stats?tool=page:b&days=9", "")).Tools
	require.Len(t, one, 1)
	assert.Equal(t, []dayStats{{"2026-07-03", 1, 1, 0}, {"2026-07-02", 2, 0, 1}}, one[0].Days)
	assert.Equal(t, 6, one[0].Calls)
	one = parse[struct{ Tools []toolStats }](t, 200, w.ask("GET", "/v1/tool-stats?tool=page:b&days=1", "")).Tools
	assert.Len(t, one[0].Days, 1)
	requireProblem(t, 404, "unknown tool", w.ask("GET", "/v1/tool-stats?tool=no:such", ""))

	after := parse[struct{ Tools []toolStats }](t, 200, w.ask("GET", "/v1/tool-stats?after=page:b&order=failures&limit=2", "")).Tools
	require.Len(t, after, 2)
	assert.Equal(t, []int{1, 0, 0}, []int{after[0].Calls, after[0].Successes, after[0].Failures}, "page:b of d1, after the call that failed")
	assert.Equal(t, "fs:read_file", after[0].ID)
	assert.Equal(t, "page:b", after[1].ID)
	requireProblem(t, 404, "unknown tool", w.ask("GET", "/v1/tool-stats?after=no:such", ""))
}

// An evaluation is kept as it was stored, with its comparisons, and takes the place of the one before.
func TestStoredEvaluation(t *testing.T) {
	w := newWeb(t)
	requireProblem(t, 404, "waymark evaluate --store", w.ask("GET", "/v1/evaluation", ""))
	const report = `{"dataset":"default","profile":"learned","next":{"positions":50,"hit@1":0.5,"mrr":0.6,"tasks":40,"reliability":[{"confidence":0.4,"right":0.5,"claims":25}],"ci":{"mrr":[0.5,0.7]}},` +
		`"baselines":{"popular":{"positions":50,"hit@1":0.2,"mrr":0.3,"ci":{},"lead":{"mrr":{"mean":0.3,"interval":[0.2,0.4]}}}}}`
	put := w.ask("PUT", "/v1/evaluation", report)
	got := w.ask("GET", "/v1/evaluation", "")
	assert.Equal(t, put.body, got.body)
	kept := parse[keptEvaluation](t, 200, got)
	i := slices.IndexFunc(kept.Comparisons, func(c comparedMetric) bool { return c.Question == "next" && c.Metric == "mrr" })
	require.GreaterOrEqual(t, i, 0, got.body)
	assert.Equal(t, comparedMetric{"next", "mrr", 40, .6, []float64{.5, .7}, "popular", .3, []float64{.3, .2, .4}, evaluate.Leads}, kept.Comparisons[i])
	assert.Contains(t, string(kept.Report), `"reliability":[{"confidence":0.4,"right":0.5,"claims":25}]`)
	requireProblem(t, 422, "unknown field", w.ask("PUT", "/v1/evaluation", `{"profil":"seed"}`))
	require.Equal(t, 200, w.ask("PUT", "/v1/evaluation", `{"profile":"seed"}`).status)
	assert.Empty(t, parse[keptEvaluation](t, 200, w.ask("GET", "/v1/evaluation", "")).Comparisons)
}

func TestMap(t *testing.T) {
	w := newWeb(t)
	type body = struct {
		Nodes                    []suggest.MapNode
		Edges                    []suggest.ExportEdge
		Total_nodes, Total_edges int
		Layout                   string
	}
	r := w.ask("GET", "/v1/map", "")
	all, graph := parse[body](t, 200, r), parse[suggest.Export](t, 200, w.ask("GET", "/v1/graph", ""))
	require.Len(t, all.Nodes, len(graph.Nodes))
	require.Len(t, all.Edges, len(graph.Edges))
	assert.Equal(t, r.body, w.ask("GET", "/v1/map", "").body)
	for i, n := range all.Nodes[1:] {
		assert.LessOrEqual(t, n.PageRank, all.Nodes[i].PageRank, "the most important first")
	}
	few := parse[body](t, 200, w.ask("GET", "/v1/map?nodes=3&edges=1", ""))
	require.Len(t, few.Nodes, 3)
	require.Len(t, few.Edges, 1)
	assert.Equal(t, all.Edges[0], few.Edges[0], "the strongest transition comes with its ends")
	for _, n := range few.Nodes {
		assert.Contains(t, all.Nodes, n, "a node keeps its place")
	}
	assert.Equal(t, len(graph.Nodes), few.Total_nodes)
	assert.Equal(t, len(graph.Edges), few.Total_edges)

	near := parse[body](t, 200, w.ask("GET", "/v1/map?around=fs:read_file&depth=0", ""))
	require.Len(t, near.Nodes, 1)
	assert.Equal(t, "fs:read_file", near.Nodes[0].ID)
	requireProblem(t, http.StatusNotFound, "no catalog", w.ask("GET", "/v1/map?around=no:such", ""))

	// A build that brings a tool leaves the others where they are.
	require.Equal(t, 200, w.ask("PUT", "/v1/tools", `[{"id":"late:tool","description":"Comes late."}]`).status)
	w.current()
	later := parse[body](t, 200, w.ask("GET", "/v1/map", ""))
	assert.Len(t, later.Nodes, len(all.Nodes)+1)
	assert.NotEqual(t, all.Layout, later.Layout)
	for _, n := range all.Nodes {
		i := slices.IndexFunc(later.Nodes, func(l suggest.MapNode) bool { return l.ID == n.ID })
		assert.Equal(t, [2]float64{n.X, n.Y}, [2]float64{later.Nodes[i].X, later.Nodes[i].Y}, n.ID)
	}
}
