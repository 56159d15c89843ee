package suggest

import (
	"fmt"
	"sync"
	"time"

	"waymark/catalog"
	"waymark/graph"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
)

// Model answers requests. It is immutable and safe for concurrent use.
type Model struct {
	*history.Counts
	measures *Measures
	recent   *recent
	graph    *rank.Structure
	info     ModelInfo
	layout   func() *Map
	stats    func() Stats
}

// Stamp identifies a model: its version, the sequence number of the last event it counts, and its build time.
type Stamp struct {
	Version string
	Seq     uint64
	BuiltAt time.Time
}

// NewModel combines counts and measures. The measures may be older than the counts, but not newer.
func NewModel(c *history.Counts, measures *Measures, stamp Stamp) (*Model, error) {
	if measures.nodes > len(c.IDs) || measures.episodes > c.Past.N {
		return nil, fmt.Errorf("measures of %d nodes and %d episodes do not belong to counts of %d and %d",
			measures.nodes, measures.episodes, len(c.IDs), c.Past.N)
	}
	density := c.Graph.Density()
	m := &Model{Counts: c, measures: measures, recent: measures.recentOf(c), info: ModelInfo{
		Version: stamp.Version, BuiltAt: stamp.BuiltAt, Seq: stamp.Seq, Nodes: c.Suggestable(), Edges: c.Graph.Size(),
		Density: density, Alpha: graph.Alpha(density), Profile: ProfileSeed,
	}}
	groups := &measures.groups
	m.graph = &rank.Structure{
		Transitions: c.Graph, PageRank: measures.rank, Community: groups.community, Members: groups.members, Alpha: m.info.Alpha,
		Node: measures.texts.node, Tool: measures.texts.tool,
	}
	m.layout, m.stats = sync.OnceValue(m.arrangeMap), sync.OnceValue(m.countStats)
	return m, nil
}

// rank returns the importance of a node (scaled PageRank), between 0 and 1.
func (m *Model) rank(i int32) float64 { return history.Of(m.measures.rank, i, 0) }

// comm returns the community of a node, -1 if it has none.
func (m *Model) comm(i int32) int32 { return history.Of(m.measures.groups.community, i, -1) }

// cluster returns the spectral cluster of a node, -1 if it has none.
func (m *Model) cluster(i int32) int32 { return history.Of(m.measures.groups.cluster, i, -1) }

// Info describes the model.
func (m *Model) Info() ModelInfo { return m.info }

// Host reports whether an id is a built-in tool of a host, which no server offers and no catalog describes.
func (m *Model) Host(id string) bool { return m.Catalog.Host(id) }

// Tool returns a tool of the catalog, or a recorded built-in tool of a host.
func (m *Model) Tool(id string) (catalog.Tool, bool) {
	i, ok := m.Catalog.ToolIndex[id]
	if !ok {
		return catalog.Tool{}, false
	}
	return m.Catalog.Tools[i], true
}

// Capability returns a capability of the catalog.
func (m *Model) Capability(id string) (catalog.Capability, bool) {
	i, ok := m.Catalog.CapabilityIndex[id]
	if !ok {
		return catalog.Capability{}, false
	}
	return m.Catalog.Capabilities[i], true
}

// Tools lists the tools of the catalog in order of id, without those of hosts. The slice must not be changed.
func (m *Model) Tools() []catalog.Tool { return m.Catalog.Own }

// Capabilities lists the capabilities of the catalog in order of id. The slice must not be changed.
func (m *Model) Capabilities() []catalog.Capability { return m.Catalog.Capabilities }

// Resolve returns the canonical id for a spelling: the id of the catalog that it means, else the spelling itself.
// A spelling that can mean several ids is an error.
func (m *Model) Resolve(spelling string) (string, error) { return m.Catalog.Resolver.Resolve(spelling) }

// transition returns the weight and the count of the learned edge u → v.
func (m *Model) transition(u, v int32) (weight float64, count uint64) {
	return m.graph.Edge(u, v)
}

// node returns the canonical node for a spelling. A recorded id is found as it is, before the spelling is
// normalised and resolved.
func (m *Model) node(spelling string) (int32, bool, error) {
	if i, ok := m.Find(spelling); ok {
		return m.Canonical[i], true, nil
	}
	id, err := catalog.Identifier("id", spelling, catalog.MaxID) // the form in which ids are stored
	if err != nil {
		return 0, false, err
	}
	id, err = m.Resolve(id)
	if err != nil {
		return 0, false, err
	}
	i, ok := m.Find(id)
	if !ok {
		return 0, false, nil
	}
	return m.Canonical[i], true, nil
}

// Stats returns a summary of the model. It is computed once, because it reads all episodes.
func (m *Model) Stats() Stats { return m.stats() }

func (m *Model) countStats() Stats {
	s := Stats{
		Model: m.info, Tools: len(m.Catalog.Own), Capabilities: len(m.Catalog.Capabilities),
		Episodes: int(m.Totals.Episodes), Steps: int(m.Totals.Steps),
		Outcomes: outcomeCounts(m.Totals.Outcomes), StepOutcomes: outcomeCounts(m.Totals.StepOutcomes),
		Sources: map[string]int{}, Communities: len(m.measures.groups.members), Modularity: m.measures.groups.modularity,
		Clusters: m.measures.groups.clusters, Eigengap: m.measures.groups.gaps, PageRankSweeps: m.measures.sweeps,
		EpisodesPending: m.Past.N - m.measures.episodes, ObservedTools: m.Suggestable() - m.Roles.Known,
	}
	for i, name := range m.Sources {
		if n := m.BySource.At(int32(i)); n > 0 {
			s.Sources[name] = int(n)
		}
	}
	s.Limited, s.Anomalies = m.anomalies()
	return s
}

func outcomeCounts(n [3]uint64) map[string]int {
	return map[string]int{"unknown": int(n[0]), "success": int(n[1]), "failure": int(n[2])}
}

// Uses returns the number of recorded calls of a tool or capability.
func (m *Model) Uses(id string) int {
	n, ok, err := m.node(id)
	if err != nil || !ok {
		return 0
	}
	return int(m.Usage.At(n).Steps)
}
