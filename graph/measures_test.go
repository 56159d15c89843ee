package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/graph"
)

func TestAlpha(t *testing.T) {
	for _, c := range []struct{ density, want float64 }{
		// Scoring reference 1.1 and the unit tests of its first implementation.
		{0, 1}, {.02, .96}, {.05, .90}, {.10, .80}, {.20, .60}, {.25, .50}, {.40, .50}, {1, .50},
		// No quantity counts as no density.
		{math.NaN(), 1}, {math.Inf(1), 1}, {-1, 1},
	} {
		assert.InDelta(t, c.want, graph.Alpha(c.density), 1e-12, "density %v", c.density)
	}
	for _, c := range []struct {
		n, e int
		want float64
	}{
		// By hand from max(0.5, 1 - 2E/(n(n-1))): two nodes and one edge are already at the floor.
		{2, 1, .50}, {10, 9, .80}, {10, 18, .60}, {10, 22, 1 - 44.0/90}, {10, 23, .50}, {100, 99, .98}, {100, 990, .80},
		// Degenerate sizes.
		{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {2, 4, .50},
	} {
		assert.InDelta(t, c.want, graph.Alpha(graph.Density(c.n, c.e)), 1e-12, "n %d, E %d", c.n, c.e)
	}
}

func TestDensity(t *testing.T) {
	for _, c := range []struct {
		n, e int
		want float64
	}{
		{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {2, 1, .5}, {2, 2, 1}, {2, 4, 1}, {3, 1, 1.0 / 6}, {5, -1, 0},
		{math.MaxInt32, math.MaxInt32, 1.0 / (math.MaxInt32 - 1)},
	} {
		assert.InDelta(t, c.want, graph.Density(c.n, c.e), 1e-12, "n %d, E %d", c.n, c.e)
	}
	g := build(t, 7, append([]graph.Edge{edge(A, A), edge(A, B), edge(6, 6)}, fiveNodes...)...)
	assert.InDelta(t, 5.0/20, g.Density(), 1e-12, "loops, duplicates and isolated nodes do not count")
}

func TestGraphScore(t *testing.T) {
	for _, c := range []struct {
		adjacent bool
		aa, want float64
	}{
		// Scoring reference 1.2; an Adamic-Adar score of 2 is already the maximum.
		{true, 0, 1}, {false, 0, 0}, {false, 1, .5}, {false, 2, 1}, {false, 4, 1},
		{false, math.NaN(), 0}, {false, math.Inf(1), 0}, {false, -1, 0},
	} {
		assert.Equal(t, c.want, graph.GraphScore(c.adjacent, c.aa), "%+v", c)
	}
}

func TestPathConfidence(t *testing.T) {
	// Scoring reference 2.3; 0 and less mean that there is no path.
	for hops, want := range map[int]float64{-1: .50, 0: .50, 1: .95, 2: .80, 3: .65, 4: .50, 5: .50, 100: .50} {
		assert.Equal(t, want, graph.PathConfidence(hops), "%d hops", hops)
	}
}

func TestCooccurrenceConfidence(t *testing.T) {
	for _, c := range []struct {
		weight float64
		count  uint64
		want   float64
	}{
		// Scoring reference 3.2, the table of min(0.05·log2(n+1), 0.20).
		{0, 1, .05}, {0, 3, .10}, {0, 7, .15}, {0, 15, .20}, {0, 100, .20},
		// The rows without recency of the first implementation's unit tests, with the reference's cap.
		{.35, 1, .40}, {.50, 3, .60}, {.60, 15, .80}, {.9, 7, .95}, {1, 0, .95},
		{.3, math.MaxUint64, .50}, {math.NaN(), 3, .10}, {math.Inf(1), 3, .10}, {-1, 3, .10},
	} {
		assert.InDelta(t, c.want, graph.CooccurrenceConfidence(c.weight, c.count), 1e-12, "%+v", c)
	}
}

func TestCommunityConfidence(t *testing.T) {
	for _, c := range []struct{ pageRank, weight, aa, want float64 }{
		// Scoring reference 3.1 with PageRank divided by the largest: its share is 0.20·pageRank.
		{0, 0, 0, .40}, {1, 1, 1, .95}, {.5, .5, .5, .675}, {1, 0, 0, .60}, {0, 1, 0, .65}, {0, 0, 1, .50}, {9, 9, 9, .95},
		{math.NaN(), math.Inf(1), -1, .40},
	} {
		assert.InDelta(t, c.want, graph.CommunityConfidence(c.pageRank, c.weight, c.aa), 1e-12, "%+v", c)
	}
}

// Raw PageRank is near 1/n, so that "PageRank × 0.2" would say nothing and larger graphs would score lower.
func TestNormalised(t *testing.T) {
	assert.Equal(t, []float64{}, graph.Normalised(nil))
	assert.Equal(t, []float64{0, 0}, graph.Normalised([]float64{0, 0}))
	assert.Equal(t, []float64{0, .5, 1}, graph.Normalised([]float64{math.NaN(), .002, .004}))
}
