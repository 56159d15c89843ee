package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		From, To string
		Total    int
		Episodes []struct{ ID, Outcome, Step_outcome string }
	}
	a := parse[body](t, 200, w.ask("GET", "/v1/evidence?from=fs.read_file&to=page:b", ""))
	assert.Equal(t, "fs:read_file", a.From)
	assert.Equal(t, 2, a.Total)
	require.Len(t, a.Episodes, 2)
	assert.Equal(t, "p2", a.Episodes[0].ID, "the last recorded comes first")
	a = parse[body](t, 200, w.ask("GET", "/v1/evidence?from=fs:read_file&to=page:b&limit=1", ""))
	assert.Equal(t, 2, a.Total)
	require.Len(t, a.Episodes, 1)
	assert.Equal(t, "success", a.Episodes[0].Step_outcome)
	assert.Empty(t, parse[body](t, 200, w.ask("GET", "/v1/evidence?from=no:such&to=page:b", "")).Episodes)
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
}

func TestMap(t *testing.T) {
	w := newWeb(t)
	type body = struct {
		Nodes                    []suggest.MapNode
		Edges                    []suggest.ExportEdge
		Total_nodes, Total_edges int
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
	assert.Equal(t, all.Nodes[:3], few.Nodes, "a node keeps its place")
	assert.LessOrEqual(t, len(few.Edges), 1)
	assert.Equal(t, len(graph.Nodes), few.Total_nodes)
	assert.Equal(t, len(graph.Edges), few.Total_edges)

	near := parse[body](t, 200, w.ask("GET", "/v1/map?around=fs:read_file&depth=0", ""))
	require.Len(t, near.Nodes, 1)
	assert.Equal(t, "fs:read_file", near.Nodes[0].ID)
	requireProblem(t, http.StatusNotFound, "no catalog", w.ask("GET", "/v1/map?around=no:such", ""))
}

func TestNextWhatIf(t *testing.T) {
	w := newWeb(t)
	next := parse[suggest.NextAnswer](t, 200, w.ask("POST", "/v1/next", `{"context":["fs:read_file"],"profile":"seed","limit":100}`))
	same := parse[suggest.WhatIf](t, 200, w.ask("POST", "/v1/next/what-if", `{"context":["fs:read_file"],"profile":"seed"}`))
	require.Len(t, same.Ranking, len(next.Suggestions))
	for i, s := range next.Suggestions {
		assert.Equal(t, s.ID, same.Ranking[i].ID)
	}
	require.NotEmpty(t, same.Weights)
	none := parse[suggest.WhatIf](t, 200, w.ask("POST", "/v1/next/what-if", `{"context":["fs:read_file"],"profile":"seed","weights":{"cooccurrence":0}}`))
	was, now := map[string]float64{}, map[string]float64{}
	for i := range same.Ranking {
		was[same.Ranking[i].ID], now[none.Ranking[i].ID] = same.Ranking[i].Score, none.Ranking[i].Score
	}
	assert.Less(t, now[next.Suggestions[0].ID], was[next.Suggestions[0].ID])
	requireProblem(t, 422, "is no term of these candidates", w.ask("POST", "/v1/next/what-if", `{"context":["fs:read_file"],"weights":{"luck":1}}`))
}
