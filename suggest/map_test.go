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
	discs := place(nodes, nil)
	place(again, nil)
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

	// Ten nodes come, ten go, and five change their community: all others keep their places, in whatever order they come.
	was := map[string]MapNode{}
	var now []MapNode
	for i, n := range nodes {
		was[n.ID] = n
		if i%60 == 7 {
			continue
		}
		if n.X, n.Y = 0, 0; i%120 == 9 {
			n.Community = (n.Community + 1) % 36
		}
		now = append(now, n)
		if i%60 == 3 {
			now = append(now, MapNode{ID: fmt.Sprint("new", i), Community: n.Community})
		}
	}
	slices.Reverse(now)
	moved := 0
	place(now, discs)
	for i, a := range now {
		if b, ok := was[a.ID]; ok && (a.X != b.X || a.Y != b.Y) {
			moved++
		}
		for _, b := range now[:i] {
			require.Greater(t, math.Hypot(a.X-b.X, a.Y-b.Y), 0.5, "%s and %s", a.ID, b.ID)
		}
	}
	require.LessOrEqual(t, moved, 5, "of %d", len(now))
}

// The hash of a layout follows from the places alone.
func TestLayoutHash(t *testing.T) {
	w := newWorld(t)
	for range 9 {
		w.episode("", "a:one", "a:two", "b:three")
	}
	m := w.model()
	first := m.Map(nil)
	require.Equal(t, first, m.Map(nil))
	require.Equal(t, first.Layout, m.Map(first).Layout)
	w.episode("", "a:one", "b:new")
	more := w.model().Map(first)
	require.NotEqual(t, first.Layout, more.Layout)
	require.Equal(t, more.Layout, w.model().Map(first).Layout)
}
