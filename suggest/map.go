package suggest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"waymark/catalog"
)

// Map is the graph with a place for each node. It is computed from a finished model, so it delays no build.
type Map struct {
	Nodes  []MapNode    // the most important first
	Edges  []ExportEdge // the strongest first
	Uses   []ExportUse
	Layout string // hash of the places

	discs []disc
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
// communities are in the middle. With an earlier map, a community keeps the disc of most of its nodes, and a node keeps
// its place as long as it stays with them; a new one takes a free place.
func (m *Model) Map(before *Map) *Map {
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
	var kept []disc
	if before != nil {
		kept = before.discs
	}
	all.discs = place(all.Nodes, kept)
	all.Layout = hashPlaces(all.Nodes)
	return all
}

// Backbone chooses nodes of a graph that is too large to show: the ends of the strongest transitions, for important nodes
// alone may have no transition in common, and the most important nodes where transitions are few.
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

// hashPlaces is independent of the order of nodes, which changes with their importance.
func hashPlaces(nodes []MapNode) string {
	lines := make([]string, len(nodes))
	for i, n := range nodes {
		lines[i] = fmt.Sprintf("%q %.2f %.2f\n", n.ID, n.X, n.Y)
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
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

// disc is the area of one community. Place k lies at distance √k from the centre, so n places fill a radius of √n; 1 is
// the margin to other discs.
type disc struct {
	x, y, r float64
	places  []string // ids, "" where nobody is
}

// communities returns the indexes of nodes by community: those without one, and those alone in one, together, for discs
// of one node each would only be noise.
func communities(nodes []MapNode) [][]int {
	by := map[int32][]int{}
	for i, n := range nodes {
		by[n.Community] = append(by[n.Community], i)
	}
	var groups [][]int
	alone := by[-1]
	for _, label := range slices.Sorted(maps.Keys(by)) {
		switch members := by[label]; {
		case label < 0:
		case len(members) == 1:
			alone = append(alone, members[0])
		default:
			groups = append(groups, members)
		}
	}
	slices.Sort(alone)
	if len(alone) > 0 {
		groups = append(groups, alone)
	}
	return groups
}

// inherit returns the disc of before that each group takes over, or -1: the most common nodes decide, and each disc goes
// to one group.
func inherit(nodes []MapNode, groups [][]int, before []disc) []int {
	home := map[string]int{}
	for d := range before {
		for _, id := range before[d].places {
			if id != "" {
				home[id] = d
			}
		}
	}
	type claim struct{ common, group, disc int }
	var claims []claim
	of, taken := make([]int, len(groups)), make([]bool, len(before))
	for g, members := range groups {
		of[g] = -1
		common := map[int]int{}
		for _, i := range members {
			if d, ok := home[nodes[i].ID]; ok {
				common[d]++
			}
		}
		for d, n := range common {
			claims = append(claims, claim{n, g, d})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.common, a.common), cmp.Compare(a.disc, b.disc), cmp.Compare(a.group, b.group))
	})
	for _, c := range claims {
		if of[c.group] < 0 && !taken[c.disc] {
			of[c.group], taken[c.disc] = c.disc, true
		}
	}
	return of
}

// seat gives the members of a disc their places: the ones that they had in old, else the innermost free ones. A quarter
// of the places of a new disc stay free for nodes to come; a disc that is full grows and has to move: false.
func (d *disc) seat(nodes []MapNode, members []int, old []string) (fits bool) {
	size := len(old)
	if fits = len(members) <= size; !fits {
		size = len(members) + len(members)/4 + 2
	}
	d.places, d.r = make([]string, size), math.Sqrt(float64(size))+1
	in := make(map[string]bool, len(members))
	for _, i := range members {
		in[nodes[i].ID] = true
	}
	for k, id := range old {
		if in[id] {
			d.places[k] = id
			delete(in, id)
		}
	}
	free := 0
	for _, i := range members {
		if !in[nodes[i].ID] {
			continue
		}
		for d.places[free] != "" {
			free++
		}
		d.places[free] = nodes[i].ID
	}
	return fits
}

// place sets the coordinates of nodes, which are sorted by importance, and returns their discs.
func place(nodes []MapNode, before []disc) []disc {
	groups := communities(nodes)
	of := inherit(nodes, groups, before)
	var staying, moving []disc
	for g, members := range groups {
		var d disc
		var old []string
		if of[g] >= 0 {
			d = before[of[g]]
			old = d.places
		}
		if d.seat(nodes, members, old) {
			staying = append(staying, d)
		} else {
			moving = append(moving, d)
		}
	}
	slices.SortStableFunc(moving, func(a, b disc) int { return cmp.Compare(b.r, a.r) })
	discs := append(staying, moving...)
	arrange(discs, len(staying))
	at := make(map[string]int, len(nodes))
	for i, n := range nodes {
		at[n.ID] = i
	}
	for _, d := range discs {
		dx, dy := 1.0, 0.0
		for k, id := range d.places {
			if id != "" {
				n, r := &nodes[at[id]], math.Sqrt(float64(k))
				n.X = math.Round((d.x+float64(r*dx))*100) / 100
				n.Y = math.Round((d.y+float64(r*dy))*100) / 100
			}
			dx, dy = turn(dx, dy, goldenCos, goldenSin)
		}
	}
	return discs
}

// arrange moves the discs from the first one on along a spiral until each overlaps none before it. The search goes on
// where the last disc was placed: what fits further in is not looked for, which keeps the work small.
func arrange(discs []disc, first int) {
	dx, dy, r := 1.0, 0.0, 0.0
	for i := first; i < len(discs); i++ {
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
