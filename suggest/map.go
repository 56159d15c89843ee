package suggest

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"waymark/catalog"
)

// Map is the graph with coordinates for each node.
type Map struct {
	Nodes []MapNode    // the most important first
	Edges []ExportEdge // the strongest first
	Uses  []ExportUse
}

// MapNode is a tool or capability with its coordinates. The unit is about the distance of adjacent nodes on the map.
type MapNode struct {
	ID        string       `json:"id"`
	Kind      catalog.Kind `json:"kind"`
	Server    string       `json:"server,omitempty"`
	Community int32        `json:"community" doc:"-1 without one"`
	PageRank  float64      `json:"pagerank"`
	Uses      uint64       `json:"uses"`
	X         float64      `json:"x"`
	Y         float64      `json:"y"`
}

// Map returns the layout of the graph, which is computed on the first call: each community is a disc of its own with
// its most important nodes at the centre, and the largest communities are in the middle. Equal models have equal maps.
func (m *Model) Map() *Map { return m.layout() }

func (m *Model) arrangeMap() *Map {
	e, _ := m.Export("", 0) // the whole graph; cannot fail with these arguments
	all := &Map{Nodes: make([]MapNode, len(e.Nodes)), Edges: e.Edges, Uses: e.Uses}
	for i, n := range e.Nodes {
		t, _ := m.Tool(n.ID)
		all.Nodes[i] = MapNode{ID: n.ID, Kind: n.Kind, Server: t.Server, Community: n.Community, PageRank: n.PageRank, Uses: n.Uses}
	}
	slices.SortFunc(all.Nodes, func(a, b MapNode) int {
		return cmp.Or(cmp.Compare(b.PageRank, a.PageRank), strings.Compare(a.ID, b.ID))
	})
	slices.SortFunc(all.Edges, func(a, b ExportEdge) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Count, a.Count), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	place(all.Nodes)
	return all
}

// Backbone selects up to most nodes of a graph that is too large to show: the ends of the strongest transitions and, if
// they are fewer, the most important nodes. Transitions come first, because the most important nodes may not be
// connected.
func (m *Map) Backbone(most int) map[string]bool {
	chosen := make(map[string]bool, most)
	for _, l := range m.Edges {
		if len(chosen)+2 > most {
			break
		}
		chosen[l.From], chosen[l.To] = true, true
	}
	for _, n := range m.Nodes {
		if len(chosen) >= most {
			break
		}
		chosen[n.ID] = true
	}
	return chosen
}

// Cosine and sine of the golden angle, by which consecutive nodes of a disc are rotated, and of 0.3 radians, the step
// of the search for a free position. Products are wrapped in float64() so that no compiler fuses them with a sum.
const (
	goldenCos, goldenSin = -0.7373688780783197, 0.6754902942615238
	stepCos, stepSin     = 0.955336489125606, 0.29552020666133955
)

// turn rotates a vector about the origin.
func turn(x, y, cos, sin float64) (float64, float64) {
	return float64(x*cos) - float64(y*sin), float64(x*sin) + float64(y*cos)
}

// disc is the area of one community. Member k lies at distance √k from the centre, so n members fill a radius of √n;
// the radius r has a margin of 1 in addition.
type disc struct {
	x, y, r float64
	members []int
}

// communities returns the indexes of nodes by community. Nodes without a community or alone in one form a common group,
// because discs of one node each would clutter the map.
func communities(nodes []MapNode) [][]int {
	by := map[int32][]int{}
	for i, n := range nodes {
		by[n.Community] = append(by[n.Community], i)
	}
	var groups [][]int
	var alone []int
	for _, label := range slices.Sorted(maps.Keys(by)) {
		if members := by[label]; label < 0 || len(members) == 1 {
			alone = append(alone, members...)
		} else {
			groups = append(groups, members)
		}
	}
	slices.Sort(alone)
	if len(alone) > 0 {
		groups = append(groups, alone)
	}
	return groups
}

// place sets the coordinates of nodes, which are sorted by importance. It moves each disc, the largest first, along a
// spiral until it overlaps no earlier disc. The search continues from the position of the last disc and does not try
// positions further in, which keeps the work small.
func place(nodes []MapNode) {
	var discs []disc
	for _, members := range communities(nodes) {
		discs = append(discs, disc{r: math.Sqrt(float64(len(members))) + 1, members: members})
	}
	slices.SortStableFunc(discs, func(a, b disc) int { return cmp.Compare(b.r, a.r) })
	dx, dy, r := 1.0, 0.0, 0.0
	for i := range discs {
		d := &discs[i]
		for d.x, d.y = float64(r*dx), float64(r*dy); slices.ContainsFunc(discs[:i], d.overlaps); d.x, d.y = float64(r*dx), float64(r*dy) {
			dx, dy = turn(dx, dy, stepCos, stepSin)
			r += 0.1
		}
		mx, my := 1.0, 0.0
		for k, i := range d.members {
			distance := math.Sqrt(float64(k))
			nodes[i].X = math.Round((d.x+float64(distance*mx))*100) / 100
			nodes[i].Y = math.Round((d.y+float64(distance*my))*100) / 100
			mx, my = turn(mx, my, goldenCos, goldenSin)
		}
	}
}

// overlaps compares squared distances, to avoid a square root.
func (d *disc) overlaps(o disc) bool {
	x, y, r := d.x-o.x, d.y-o.y, d.r+o.r
	return float64(x*x)+float64(y*y) < float64(r*r)
}
