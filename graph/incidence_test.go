package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/graph"
)

func incidence(t testing.TB, rows int, capabilities ...[]int32) *graph.Incidence {
	t.Helper()
	var entries []graph.Entry
	for c, tools := range capabilities {
		for _, tool := range tools {
			entries = append(entries, graph.Entry{Row: tool, Col: int32(c), Weight: 1})
		}
	}
	return must(graph.NewIncidence(rows, len(capabilities), entries))(t)
}

func TestIncidence(t *testing.T) {
	h := must(graph.NewIncidence(3, 3, []graph.Entry{{Row: 2, Col: 0, Weight: 1}, {Row: 0, Col: 2, Weight: .5}, {Row: 0, Col: 0, Weight: 2}, {Row: 0, Col: 2, Weight: .25}, {Row: 2, Col: 1, Weight: 3}}))(t)
	assert.Equal(t, 3, h.Rows())
	assert.Equal(t, 3, h.Cols())
	assert.Equal(t, 4, h.Size(), "equal places are one")
	cols, w := h.Row(0)
	assert.Equal(t, []int32{0, 2}, cols)
	assert.Equal(t, []float64{2, .75}, w)
	cols, _ = h.Row(1)
	assert.Empty(t, cols)
	rows, w := h.Col(0)
	assert.Equal(t, []int32{0, 2}, rows)
	assert.Equal(t, []float64{2, 1}, w)
	m := h.Matrix()
	assert.Equal(t, []int32{0, 2, 2, 4}, m.Start)
	assert.Equal(t, []int32{0, 2, 0, 1}, m.Col)
	assert.Equal(t, []float64{2, .75, 1, 3}, m.Weight)
}

func TestIncidenceNamesTheEntryItRefuses(t *testing.T) {
	_, err := graph.NewIncidence(2, 1, []graph.Entry{{Row: 0, Col: -1, Weight: 1}})
	require.EqualError(t, err, "incidence: entry 0 (row 0, column -1, weight 1): column -1 is not one of the 1 columns")
	_, err = graph.NewIncidence(-1, 1, nil)
	require.Error(t, err)
}

func TestIncidencePageRank(t *testing.T) {
	// Capabilities {a, b, x} and {x, c, d} with a, b, c, d, x = 0..4: solved by elimination.
	rows, cols, err := graph.IncidencePageRank(incidence(t, 5, []int32{0, 1, 4}, []int32{4, 2, 3}), graph.PageRankOptions{})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{.089801, .089801, .089801, .089801, .158172}, rows, 6e-7)
	assert.InDeltaSlice(t, []float64{.241313, .241313}, cols, 6e-7)

	// Weights count: of the two tools of a capability the heavier has the larger rank.
	h := must(graph.NewIncidence(2, 1, []graph.Entry{{Row: 0, Col: 0, Weight: 3}, {Row: 1, Col: 0, Weight: 1}}))(t)
	rows, cols, err = graph.IncidencePageRank(h, graph.PageRankOptions{})
	require.NoError(t, err)
	assert.InDelta(t, .05+.85*.75*cols[0], rows[0], 1e-9, "by the definition")
	assert.InDelta(t, .05+.85*.25*cols[0], rows[1], 1e-9)
	assert.InDelta(t, .05+.85*(rows[0]+rows[1]), cols[0], 1e-9)

	rows, cols, err = graph.IncidencePageRank(incidence(t, 0), graph.PageRankOptions{})
	require.NoError(t, err)
	assert.Empty(t, rows)
	assert.Empty(t, cols)
	_, _, err = graph.IncidencePageRank(h, graph.PageRankOptions{Damping: 1})
	require.Error(t, err)
}

func TestHypergraphNeighbours(t *testing.T) {
	h := incidence(t, 6, []int32{0, 1, 4}, []int32{4, 2, 3}, []int32{4, 0})
	type shared struct {
		tool  int32
		count int
	}
	var got []shared
	h.HypergraphNeighbours(4, func(j int32, n int) { got = append(got, shared{j, n}) })
	assert.Equal(t, []shared{{0, 2}, {1, 1}, {2, 1}, {3, 1}}, got)
	h.HypergraphNeighbours(5, func(int32, int) { t.Error("tool 5 is in no capability") })
}
