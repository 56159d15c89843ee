package history

import (
	"cmp"
	"slices"
	"sync"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	"waymark/internal/pages"
	"waymark/suggest/learn/wiring"
)

// Counts is a state frozen at one moment: immutable, with the spellings of one tool joined. It shares
// with the counts before it what did not change.
type Counts struct {
	IDs         []string // by node
	index       *index
	Canonical   []int32 // by id, the node that counts for it
	Catalog     *Catalog
	Roles       *Roles
	Graph       *graph.View // weight n(a→b) / (n(a) + κ)
	Usage       pages.View[Usage]
	Start       int32 // the node that begins most episodes, -1 without any
	Suggestable int   // number of nodes that can be suggested
	Rates       *episodic.Rates
	Wires       pages.View[[]wiring.Wire] // by node, the wires into it
	Past        Episodes
	Sources     []string           // names, in order of first appearance
	BySource    pages.View[uint64] // by source, its episodes
	Totals      Totals
	Buffers     *sync.Pool        // working memory of queries, shared by all counts of one state
	Bypasses    map[string]uint64 // by capability

	limits  []uint8          // by source, see [State.limits]
	vouched func() [][]int32 // by past episode, see [Counts.Vouched]
}

// kappa smooths edge weights, w(a→b) = n(a,b) / (n(a) + κ): one observation gives ½, not certainty.
const kappa = 1

// shown is what a state has to show and what of it is out of date.
type shown struct {
	canon   []int32           // of the ids seen at the last Freeze
	spelled map[int32][]int32 // by node, the others that it counts for, rising
	awaited map[string]bool   // ids that others will count as once they have been seen
	view    *Catalog          // that canon and roles come from
	roles   *Roles
	rows    *graph.Rows
	limits  []uint8 // by source, as rows count them
	uses    pages.List[Usage]
	wires   pages.List[[]wiring.Wire]
	starts  int32
	live    int

	led, used marks // nodes with transitions, and with uses, counted since
	row       []transition
	edges     []graph.Edge
	scratch   *sync.Pool // of *scratch, for the queries of all models
}

// marks are nodes, each once.
type marks struct {
	nodes []int32
	is    []bool
}

// add is O(1) and makes room for nodes that are newer than the set.
func (m *marks) add(i int32) {
	for len(m.is) <= int(i) {
		m.is = append(m.is, false)
	}
	if !m.is[i] {
		m.is[i] = true
		m.nodes = append(m.nodes, i)
	}
}

func (m *marks) clear() {
	for _, i := range m.nodes {
		m.is[i] = false
	}
	m.nodes = m.nodes[:0]
}

// Freeze returns the counts as they are now. It costs the edges of the nodes that led on to others
// since the last time, and one pass over everything only when the catalog changed or two spellings
// turned out to be one tool.
func (s *State) Freeze() *Counts {
	h := &s.shown
	view := s.catalog()
	all := s.join(view)
	s.showLimits()
	s.showUses(all)
	s.showRows(all)
	if all || h.view != view { // a capability may name a tool by a spelling of another
		h.view, h.roles = view, s.roles()
		s.survey()
	}
	c := &Counts{
		IDs: slices.Clip(s.ids), index: s.index, Canonical: slices.Clip(h.canon), Catalog: view, Roles: h.roles,
		Graph: h.rows.Freeze(), Usage: h.uses.Freeze(), Start: h.starts, Suggestable: h.live, Rates: s.memory.Freeze(), Wires: h.wires.Freeze(),
		Past: s.episodes(), Sources: slices.Clip(s.sources.names), BySource: s.sources.bySource.Freeze(), Totals: s.totals, Buffers: h.scratch, Bypasses: s.bypasses.show(), limits: h.limits,
	}
	c.vouched = sync.OnceValue(c.vouch)
	return c
}

// showLimits has all rows built anew where more or fewer observations of a source count than before.
func (s *State) showLimits() {
	h, limits := &s.shown, s.limits()
	if n := len(h.limits); limits != nil && (h.limits == nil || !slices.Equal(limits[:n], h.limits)) {
		h.rows = nil
	}
	h.limits = limits
}

// join decides which node counts for which, and reports whether that has changed for any that was
// there before or is not alone.
func (s *State) join(view *Catalog) (changed bool) {
	h := &s.shown
	met := len(h.canon) // nodes decided before
	canon := h.canon
	if h.view != view || slices.ContainsFunc(s.ids[met:], func(id string) bool { return h.awaited[id] }) {
		canon, h.awaited = make([]int32, 0, len(s.ids)), map[string]bool{}
	}
	for i := int32(len(canon)); int(i) < len(s.ids); i++ {
		as := i
		if id := view.canonical(s.ids[i]); id != s.ids[i] {
			if node, ok := s.index.find(s.ids, id); ok {
				as = node
			} else {
				h.awaited[id] = true
			}
		}
		if int(i) < met {
			changed = changed || as != h.canon[i]
		} else {
			changed = changed || as != i
			h.live++
		}
		canon = append(canon, as)
	}
	h.canon = canon
	if changed {
		h.spelled = map[int32][]int32{}
		for i, as := range canon {
			if as != int32(i) {
				h.spelled[as] = append(h.spelled[as], int32(i))
			}
		}
		s.memory.Join(canon)
	}
	return changed
}

// showUses brings uses and wires up to date: of the nodes used since, or of all.
func (s *State) showUses(all bool) {
	h := &s.shown
	defer h.used.clear()
	if all {
		h.uses, h.wires = pages.List[Usage]{}, pages.List[[]wiring.Wire]{}
		for i, as := range h.canon {
			if as == int32(i) {
				h.uses.Set(as, s.joinedUse(as))
				s.showWires(as)
			}
		}
		s.survey()
		return
	}
	for _, i := range h.used.nodes {
		as := h.canon[i]
		u := s.joinedUse(as)
		h.uses.Set(as, u)
		s.showWires(as)
		if s.begins(as, u) {
			h.starts = as
		}
	}
}

// joinedUse adds the uses of other spellings, in order of first appearance.
func (s *State) joinedUse(i int32) Usage {
	u := s.uses[i]
	for _, other := range s.shown.spelled[i] {
		o := &s.uses[other]
		u.Steps += o.Steps
		u.Ends += o.Ends
		u.Roots += o.Roots
		if o.Steps > 0 && o.only != u.only {
			u.only = 0
		}
	}
	return u
}

// survey counts the nodes that can be suggested and finds the one that begins most episodes.
func (s *State) survey() {
	h := &s.shown
	h.live, h.starts = 0, -1
	for i, as := range h.canon {
		if as != int32(i) || s.gone[as] {
			continue
		}
		h.live++
		if s.begins(as, h.uses.At(as)) {
			h.starts = as
		}
	}
}

// begins reports whether node i, used so, begins more episodes than any other; of equals the first.
func (s *State) begins(i int32, u Usage) bool {
	h := &s.shown
	if u.Roots == 0 || s.gone[i] {
		return false
	}
	if h.starts < 0 {
		return true
	}
	most := h.uses.At(h.starts).Roots
	return u.Roots > most || u.Roots == most && i < h.starts
}

// showRows brings the rows of the graph up to date: of the nodes that led on to others since, or of
// all. Much at once is cheaper anew; the result is the same.
func (s *State) showRows(all bool) {
	h := &s.shown
	defer h.led.clear()
	if all || h.rows == nil || len(h.led.nodes) > len(s.ids)/8+8 {
		var edges []graph.Edge
		for i, as := range h.canon {
			if as == int32(i) {
				edges = s.appendRow(edges, as)
			}
		}
		g, err := graph.New(len(s.ids), edges)
		must(err)
		h.rows = graph.NewRows(g)
		return
	}
	h.rows.Grow(len(s.ids))
	for _, i := range h.led.nodes {
		as := h.canon[i]
		h.edges = s.appendRow(h.edges[:0], as)
		must(h.rows.SetRow(as, h.edges))
	}
}

// must is for edges between nodes that are there, with weights below 1: no graph refuses them.
func must(err error) {
	if err != nil {
		panic("suggest: " + err.Error())
	}
}

// appendRow appends the edges of node i in order.
func (s *State) appendRow(edges []graph.Edge, i int32) []graph.Edge {
	row := s.out[i]
	if len(s.shown.spelled) > 0 {
		row = s.joinedRow(i)
	}
	limits := s.shown.limits
	var n uint64
	for _, t := range row {
		n += t.counted(limits).halves
	}
	for _, t := range row {
		if t = t.counted(limits); t.count == 0 {
			continue
		}
		w := float64(t.halves) / float64(n+2*kappa) // halves over halves
		edges = append(edges, graph.Edge{From: i, To: t.to, Weight: w, Count: t.count})
	}
	return edges
}

// joinedRow adds up the rows of all spellings of node i, and in them those of its targets.
func (s *State) joinedRow(i int32) []transition {
	h := &s.shown
	all := append(h.row[:0], s.out[i]...)
	for _, other := range h.spelled[i] {
		all = append(all, s.out[other]...)
	}
	for j := range all {
		all[j].to = h.canon[all[j].to]
	}
	slices.SortFunc(all, func(a, b transition) int { return cmp.Compare(a.to, b.to) }) // sums of whole numbers: any order
	row := all[:0]
	for _, t := range all {
		if last := len(row) - 1; last >= 0 && row[last].to == t.to {
			if row[last].only != t.only {
				row[last].only = 0
			}
			row[last].halves += t.halves
			row[last].count += t.count
		} else {
			row = append(row, t)
		}
	}
	h.row = row
	return row
}

// Find returns the node of an id.
func (c *Counts) Find(id string) (int32, bool) { return c.index.find(c.IDs, id) }

// Live reports whether a node can be suggested: it is neither another spelling nor removed.
func (c *Counts) Live(i int32) bool { return c.Canonical[i] == i && !c.Removed(i) }

// Removed reports whether a node was removed from the catalog.
func (c *Counts) Removed(i int32) bool { return Of(c.Roles.removed, i, false) }

// Kind is tool unless the catalog has a capability of that id.
func (c *Counts) Kind(i int32) catalog.Kind { return Of(c.Roles.kind, i, catalog.KindTool) }

// CapabilityTools lists the tools of a capability in ascending order.
func (c *Counts) CapabilityTools(i int32) []int32 { return Of(c.Roles.capTools, i, nil) }

// ToolCapabilities lists the capabilities that use a tool in ascending order.
func (c *Counts) ToolCapabilities(i int32) []int32 { return Of(c.Roles.toolCaps, i, nil) }
