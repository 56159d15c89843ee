package suggest

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"waymark/catalog"
)

// Map is the graph with a place for each node. It is computed from a finished model, so it delays no build, and depends
// on nothing else.
type Map struct {
	Nodes []MapNode    // the most important first
	Edges []ExportEdge // the strongest first
	Uses  []ExportUse
}

// MapNode is a tool or capability at its place. The unit is about the distance of neighbours.
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

// Map lays the graph out: each community is a disc of its own, the most important nodes at its centre, and the largest
// communities are in the middle.
func (m *Model) Map() *Map {
	e, _ := m.Export("", 0) // the whole graph: no argument that could be wrong
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

// Cosine and sine of the golden angle, by which the nodes of a disc are turned, and of 0.3, the step of the search for
// a free place. Products stand in float64() so that no compiler fuses them with a sum.
const (
	goldenCos, goldenSin = -0.7373688780783197, 0.6754902942615238
	stepCos, stepSin     = 0.955336489125606, 0.29552020666133955
)

// turn rotates a vector about the origin.
func turn(x, y, cos, sin float64) (float64, float64) {
	return float64(x*cos) - float64(y*sin), float64(x*sin) + float64(y*cos)
}

// place sets the coordinates of nodes, which are sorted by importance.
func place(nodes []MapNode) {
	groups := map[int32][]int{}
	for i, n := range nodes {
		groups[n.Community] = append(groups[n.Community], i)
	}
	for label, members := range groups { // discs of one node each would only be noise
		if label >= 0 && len(members) == 1 {
			groups[-1] = append(groups[-1], members[0])
			delete(groups, label)
		}
	}
	slices.Sort(groups[-1])
	var discs []disc
	for label, members := range groups {
		if len(members) > 0 {
			discs = append(discs, disc{label: label, members: members, r: math.Sqrt(float64(len(members))) + 1})
		}
	}
	slices.SortFunc(discs, func(a, b disc) int {
		return cmp.Or(cmp.Compare(b.r, a.r), cmp.Compare(a.label, b.label))
	})
	arrange(discs)
	for _, d := range discs {
		dx, dy := 1.0, 0.0
		for k, i := range d.members {
			r := math.Sqrt(float64(k))
			nodes[i].X = math.Round((d.x+float64(r*dx))*100) / 100
			nodes[i].Y = math.Round((d.y+float64(r*dy))*100) / 100
			dx, dy = turn(dx, dy, goldenCos, goldenSin)
		}
	}
}

// disc is the area of one community. Node k lies at distance √k from the centre, so n nodes fill a radius of
// √n; 1 is the margin to other discs.
type disc struct {
	label   int32
	members []int
	x, y, r float64
}

// arrange moves the discs along a spiral until each overlaps none before it. The search goes on where the last disc was
// placed: what fits further in is not looked for, which keeps the work small.
func arrange(discs []disc) {
	dx, dy, r := 1.0, 0.0, 0.0
	for i := range discs {
		for {
			d := &discs[i]
			d.x, d.y = float64(r*dx), float64(r*dy)
			if !slices.ContainsFunc(discs[:i], d.overlaps) {
				break
			}
			dx, dy = turn(dx, dy, stepCos, stepSin)
			r += 0.1
		}
	}
}

// overlaps compares squares, which needs no root.
func (d *disc) overlaps(o disc) bool {
	x, y, r := d.x-o.x, d.y-o.y, d.r+o.r
	return float64(x*x)+float64(y*y) < float64(r*r)
}
