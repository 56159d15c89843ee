package history

import (
	"cmp"
	"slices"
	"sync"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
)

// Counts is an immutable snapshot of a state, in which the spellings of one tool are merged. It shares
// unchanged data with earlier snapshots.
type Counts struct {
	IDs       []string // by node
	index     *sync.Map
	Canonical []int32 // by node, the node under which it is counted
	Catalog   *Catalog
	Roles     *Roles
	Graph     *graph.View // weight n(a→b) / (n(a) + κ)
	Usage     episodic.View[Usage]
	Rates     *episodic.Rates
	Wires     episodic.View[[]Wire] // by node, the wires into it
	Past      Episodes
	Sources   []string              // names, in order of first appearance
	BySource  episodic.View[uint64] // number of episodes, by source
	Totals    Totals
	Buffers   *sync.Pool // working memory of queries, shared by all counts of one state

	limits  []uint8          // by source, see [State.limits]
	vouched func() [][]int32 // by past episode, see [Counts.Vouched]
}

// kappa smooths edge weights, w(a→b) = n(a,b) / (n(a) + κ): one observation gives ½, not certainty.
const kappa = 1

// shown holds the data derived for the last Freeze and tracks which parts are out of date.
type shown struct {
	canon   []int32           // canonical nodes of the ids seen at the last Freeze
	spelled map[int32][]int32 // by canonical node, its other spellings, ascending
	awaited map[string]bool   // canonical ids that have not been seen yet
	view    *Catalog          // the catalog from which canon and roles were computed
	roles   *Roles
	rows    *graph.Rows
	limits  []uint8 // by source, as applied in rows
	uses    episodic.List[Usage]
	wires   episodic.List[[]Wire]

	touched map[int32]bool // nodes with transitions or uses counted since the last Freeze
	row     []transition
	edges   []graph.Edge
	scratch *sync.Pool // of *scratch, for the queries of all models
}

// Freeze returns a snapshot of the counts. It costs the edges of the nodes that were used since the last
// Freeze. It passes over all nodes only if the catalog or the limits by source changed, or if two spellings
// turned out to be one tool.
func (s *State) Freeze() *Counts {
	h := &s.shown
	view := s.catalog()
	all := s.join(view)
	s.showLimits()
	s.show(all)
	if all || h.view != view { // a capability may name a tool by another spelling
		h.view, h.roles = view, s.roles()
	}
	c := &Counts{
		IDs: slices.Clip(s.ids), index: s.index, Canonical: slices.Clip(h.canon), Catalog: view, Roles: h.roles,
		Graph: h.rows.Freeze(), Usage: h.uses.Freeze(), Rates: s.memory.Freeze(), Wires: h.wires.Freeze(),
		Past: s.episodes(), Sources: slices.Clip(s.sources.names), BySource: s.sources.bySource.Freeze(), Totals: s.totals, Buffers: h.scratch, limits: h.limits,
	}
	c.vouched = sync.OnceValue(c.vouch)
	return c
}

// showLimits discards all rows if the limit of a source changed, so that they are rebuilt.
func (s *State) showLimits() {
	h, limits := &s.shown, s.limits()
	if n := len(h.limits); limits != nil && (h.limits == nil || !slices.Equal(limits[:n], h.limits)) {
		h.rows = nil
	}
	h.limits = limits
}

// join computes the canonical node of each node. It reports whether that changed for a known node, or whether
// a new node is another spelling.
func (s *State) join(view *Catalog) (changed bool) {
	h := &s.shown
	met := len(h.canon) // nodes with a canonical node
	canon := h.canon
	if h.view != view || slices.ContainsFunc(s.ids[met:], func(id string) bool { return h.awaited[id] }) {
		canon, h.awaited = make([]int32, 0, len(s.ids)), map[string]bool{}
	}
	for i := int32(len(canon)); int(i) < len(s.ids); i++ {
		as := i
		if id := view.canonical(s.ids[i]); id != s.ids[i] {
			if node, ok := find(s.index, s.ids, id); ok {
				as = node
			} else {
				h.awaited[id] = true
			}
		}
		if int(i) < met {
			changed = changed || as != h.canon[i]
		} else {
			changed = changed || as != i
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
		s.memory.Join(canon, h.spelled)
	}
	return changed
}

// show updates uses, wires and the rows of the graph, for the touched nodes or for all nodes. If many nodes are
// touched, a full rebuild is cheaper; the result is the same.
func (s *State) show(all bool) {
	h := &s.shown
	defer clear(h.touched)
	if all || h.rows == nil || len(h.touched) > len(s.ids)/8+8 {
		h.uses, h.wires = episodic.List[Usage]{}, episodic.List[[]Wire]{}
		var edges []graph.Edge
		for i, as := range h.canon {
			if as == int32(i) {
				s.showCalls(as)
				edges = s.appendRow(edges, as)
			}
		}
		g, err := graph.New(len(s.ids), edges)
		mustNotFail(err)
		h.rows = graph.NewRows(g)
		return
	}
	h.rows.Grow(len(s.ids))
	for i := range h.touched {
		as := h.canon[i]
		s.showCalls(as)
		h.edges = s.appendRow(h.edges[:0], as)
		mustNotFail(h.rows.SetRow(as, h.edges))
	}
}

// showCalls updates the uses of a node and the wires into it.
func (s *State) showCalls(node int32) {
	h := &s.shown
	h.uses.Set(node, s.joinedUse(node))
	canon := func(i int32) int32 { return h.canon[i] }
	if w := s.wires.Wires(append([]int32{node}, h.spelled[node]...), canon); len(w) > 0 || len(h.wires.At(node)) > 0 {
		h.wires.Set(node, w)
	}
}

// joinedUse returns the uses of a node plus those of its other spellings, in order of first appearance.
func (s *State) joinedUse(i int32) Usage {
	u := s.uses[i]
	for _, other := range s.shown.spelled[i] {
		o := &s.uses[other]
		u.Steps += o.Steps
		u.Ends += o.Ends
		u.Roots += o.Roots
		if o.Steps > 0 && o.Only != u.Only {
			u.Only = 0
		}
	}
	return u
}

// mustNotFail panics on an error that cannot occur, such as for edges between existing nodes with weights below 1.
func mustNotFail(err error) {
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
		n += t.counted(limits).Halves
	}
	for _, t := range row {
		if t = t.counted(limits); t.Count == 0 {
			continue
		}
		w := float64(t.Halves) / float64(n+2*kappa) // numerator and denominator are in halves
		edges = append(edges, graph.Edge{From: i, To: t.To, Weight: w, Count: t.Count})
	}
	return edges
}

// joinedRow merges the rows of all spellings of node i, and in them the targets that are spellings of one node.
func (s *State) joinedRow(i int32) []transition {
	h := &s.shown
	all := append(h.row[:0], s.out[i]...)
	for _, other := range h.spelled[i] {
		all = append(all, s.out[other]...)
	}
	for j := range all {
		all[j].To = h.canon[all[j].To]
	}
	slices.SortFunc(all, func(a, b transition) int { return cmp.Compare(a.To, b.To) }) // integer sums: any order
	row := all[:0]
	for _, t := range all {
		if last := len(row) - 1; last >= 0 && row[last].To == t.To {
			if row[last].Only != t.Only {
				row[last].Only = 0
			}
			row[last].Halves += t.Halves
			row[last].Count += t.Count
		} else {
			row = append(row, t)
		}
	}
	h.row = row
	return row
}

// Find returns the node of an id.
func (c *Counts) Find(id string) (int32, bool) { return find(c.index, c.IDs, id) }

// Live reports whether a node can be suggested: it is neither another spelling nor removed.
func (c *Counts) Live(i int32) bool { return c.Canonical[i] == i && !c.Removed(i) }

// Removed reports whether a node was removed from the catalog.
func (c *Counts) Removed(i int32) bool { return Of(c.Roles.removed, i, false) }

// Kind returns capability if the catalog has a capability with that id, else tool.
func (c *Counts) Kind(i int32) catalog.Kind { return Of(c.Roles.kind, i, catalog.KindTool) }

// CapabilityTools lists the tools of a capability in ascending order.
func (c *Counts) CapabilityTools(i int32) []int32 { return Of(c.Roles.capTools, i, nil) }

// ToolCapabilities lists the capabilities that use a tool in ascending order.
func (c *Counts) ToolCapabilities(i int32) []int32 { return Of(c.Roles.toolCaps, i, nil) }

// Start returns the node that begins the most episodes, the first one on ties; -1 if there is none.
func (c *Counts) Start() int32 {
	start, most := int32(-1), uint64(0)
	for i := range int32(len(c.IDs)) {
		if roots := c.Usage.At(i).Roots; roots > most && c.Live(i) {
			start, most = i, roots
		}
	}
	return start
}

// Suggestable returns the number of nodes that can be suggested.
func (c *Counts) Suggestable() (n int) {
	for i := range int32(len(c.IDs)) {
		if c.Live(i) {
			n++
		}
	}
	return n
}
