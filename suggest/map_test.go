package suggest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlaceKeepsCommunitiesApart(t *testing.T) {
	var nodes []MapNode
	for i := range 600 {
		nodes = append(nodes, MapNode{ID: fmt.Sprint(i), Community: int32(i*i%37) - 1})
	}
	nodes = append(nodes, MapNode{ID: "alone", Community: 99})
	again := slices.Clone(nodes)
	place(nodes)
	place(again)
	require.Equal(t, nodes, again)

	centre, size := map[int32][2]float64{}, map[int32]int{}
	for _, n := range nodes {
		if size[n.Community]++; size[n.Community] == 1 {
			centre[n.Community] = [2]float64{n.X, n.Y}
		}
	}
	for i, a := range nodes {
		for _, b := range nodes[:i] {
			require.Greater(t, math.Hypot(a.X-b.X, a.Y-b.Y), 0.5, "%s and %s", a.ID, b.ID)
		}
		for label, c := range centre {
			if label != a.Community && a.ID != "alone" && label != 99 {
				require.Greater(t, math.Hypot(a.X-c[0], a.Y-c[1]), math.Sqrt(float64(size[label])), "node %s lies in community %d", a.ID, label)
			}
		}
	}
}
