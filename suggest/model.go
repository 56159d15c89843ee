package suggest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"waymark/catalog"
	"waymark/graph"
)

// Model answers. It is immutable and safe for concurrent use.
type Model struct {
	*Counts
	measures *Measures
	g        *graph.Graph
	at       map[string]int32 // id → node
	kind     []catalog.Kind
	capTools [][]int32 // by node: the tools of a capability
	toolCaps [][]int32 // by node: the capabilities that use a tool
	rank     []float64 // measures, extended over nodes that came later
	comm     []int32
	cluster  []int32
	doc      []int32
	starts   int32 // the node that begins most episodes, -1 without any
	info     ModelInfo
	scratch  sync.Pool
}

// Stamp says which model this is: a version that names it, the last event it counts, and when it was
// built.
type Stamp struct {
	Version string
	Seq     uint64
	BuiltAt time.Time
}

// NewModel joins counts and measures. The measures may be older than the counts.
func NewModel(c *Counts, measures *Measures, stamp Stamp) (*Model, error) {
	n := len(c.ids)
	g, err := graph.New(n, c.edges)
	if err != nil {
		return nil, fmt.Errorf("build the transition graph: %w", err)
	}
	m := &Model{
		Counts: c, measures: measures, g: g, at: c.index(), starts: -1,
		kind: make([]catalog.Kind, n), capTools: make([][]int32, n), toolCaps: make([][]int32, n),
		rank: extend(measures.rank, n, 0), comm: extend(measures.community, n, -1),
		cluster: extend(measures.cluster, n, -1), doc: extend(measures.doc, n, -1),
	}
	for i, id := range c.ids {
		m.kind[i] = catalog.KindTool
		if _, ok := c.view.cap[id]; ok {
			m.kind[i] = catalog.KindCapability
		}
		if u := c.uses[i]; u.roots > 0 && (m.starts < 0 || u.roots > c.uses[m.starts].roots) && !c.gone[i] {
			m.starts = int32(i)
		}
	}
	for i := range c.view.caps {
		cp := &c.view.caps[i]
		node := m.at[cp.ID]
		for _, t := range cp.Tools {
			tool := c.canon[m.at[t]]
			if !slices.Contains(m.capTools[node], tool) {
				m.capTools[node] = append(m.capTools[node], tool)
				m.toolCaps[tool] = append(m.toolCaps[tool], node)
			}
		}
		slices.Sort(m.capTools[node])
	}
	for i := range m.toolCaps {
		slices.Sort(m.toolCaps[i])
	}
	density := graph.Density(g.Active(), g.Size())
	m.info = ModelInfo{
		Version: stamp.Version, BuiltAt: stamp.BuiltAt, Seq: stamp.Seq, Nodes: m.countNodes(), Edges: g.Size(),
		Density: density, Alpha: graph.Alpha(density), Profile: ProfileSeed,
	}
	m.scratch.New = func() any { return newScratch(n) }
	return m, nil
}

// extend returns x with length n; x itself where it has it already.
func extend[T any](x []T, n int, fill T) []T {
	if len(x) == n {
		return x
	}
	y := make([]T, n)
	for i := copy(y, x); i < n; i++ {
		y[i] = fill
	}
	return y
}

func (m *Model) countNodes() int {
	n := 0
	for i := range m.ids {
		if m.live(int32(i)) {
			n++
		}
	}
	return n
}

// live reports whether a node stands for something that can be suggested: not another spelling, not
// removed.
func (m *Model) live(i int32) bool { return m.canon[i] == i && !m.gone[i] }

// Info names the model.
func (m *Model) Info() ModelInfo { return m.info }

// Tool returns a tool of the catalog.
func (m *Model) Tool(id string) (catalog.Tool, bool) {
	i, ok := m.view.tool[id]
	if !ok {
		return catalog.Tool{}, false
	}
	return m.view.tools[i], true
}

// Capability returns a capability of the catalog.
func (m *Model) Capability(id string) (catalog.Capability, bool) {
	i, ok := m.view.cap[id]
	if !ok {
		return catalog.Capability{}, false
	}
	return m.view.caps[i], true
}

// Tools lists the catalog's tools by id. The slice must not be changed.
func (m *Model) Tools() []catalog.Tool { return m.view.tools }

// Capabilities lists the catalog's capabilities by id. The slice must not be changed.
func (m *Model) Capabilities() []catalog.Capability { return m.view.caps }

// Resolve returns the canonical id for a spelling: of the catalog where it can only mean one thing
// there, else itself.
func (m *Model) Resolve(spelling string) (string, error) { return m.view.resolver.Resolve(spelling) }

// transition is the learned edge u → v: its weight, and how often it was seen.
func (m *Model) transition(u, v int32) (weight float64, count uint64) {
	weight, ok := m.g.Weight(u, v)
	if ok {
		count = m.g.Count(u, v)
	}
	return weight, count
}

// node finds the node that counts for a spelling.
func (m *Model) node(spelling string) (int32, bool, error) {
	id, err := catalog.Identifier("id", spelling, catalog.MaxID) // in the form in which ids are stored
	if err != nil {
		return 0, false, err
	}
	id, err = m.Resolve(id)
	if err != nil {
		return 0, false, err
	}
	i, ok := m.at[id]
	if !ok {
		return 0, false, nil
	}
	return m.canon[i], true, nil
}

// Stats sums the model up.
func (m *Model) Stats() Stats {
	s := Stats{
		Model: m.info, Tools: len(m.view.tools), Capabilities: len(m.view.caps),
		Episodes: int(m.totals.episodes), Steps: int(m.totals.steps),
		Outcomes: outcomeCounts(m.totals.outcomes), StepOutcomes: outcomeCounts(m.totals.stepOutcomes),
		Sources: map[string]int{}, Communities: len(m.measures.members), Modularity: m.measures.modularity,
		Clusters: m.measures.clusters, Eigengap: m.measures.gaps, PageRankSweeps: m.measures.sweeps,
		EpisodesPending: len(m.past) - m.measures.episodes,
	}
	for i := range m.ids {
		if _, tool := m.view.tool[m.ids[i]]; !tool && m.live(int32(i)) && m.kind[i] == catalog.KindTool {
			s.ObservedTools++
		}
	}
	for _, p := range m.past {
		s.Sources[m.sources[p.source]]++
	}
	return s
}

func outcomeCounts(n [3]uint64) map[string]int {
	return map[string]int{"unknown": int(n[0]), "success": int(n[1]), "failure": int(n[2])}
}
