package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/graph"
	"waymark/internal/numeric"
)

// Without stored capabilities, the sets of tools that recur in the history are the hyperedges for clustering:
// each set of at least two tools that is exactly the set of tools called by at least two episodes. Failed and
// limited episodes do not count.
const (
	recurs      = 2    // least number of episodes with the same set
	mostRecur   = 1024 // most sets, the most frequent ones
	leastOfASet = 2    // least number of tools
)

// recurring is a set of tools, by node, with the number of episodes that called exactly these.
type recurring struct {
	tools    []int32
	episodes int
}

// RecurringSets returns the matrix of tools, by node, and recurring sets, the most frequent first. The weight of a set
// is ln(1 + n) for n episodes, so that a routine counts more than a coincidence but does not dominate.
func (c *Counts) RecurringSets() (*graph.Incidence, error) {
	sets := map[string]*recurring{}
	for i := range c.Past.N {
		p := c.Past.Episode(i)
		var tools []int32
		for _, node := range p.Nodes {
			tools = append(tools, c.Canonical[node])
		}
		if tools = sorted(tools); p.Failed() || p.Limited || len(tools) < leastOfASet {
			continue
		}
		key := fmt.Sprint(tools)
		if sets[key] == nil {
			sets[key] = &recurring{tools: tools}
		}
		sets[key].episodes++
	}
	maps.DeleteFunc(sets, func(_ string, s *recurring) bool { return s.episodes < recurs })
	frequent := slices.SortedFunc(maps.Values(sets), func(a, b *recurring) int {
		return cmp.Or(cmp.Compare(b.episodes, a.episodes), slices.Compare(a.tools, b.tools))
	})
	var entries []graph.Entry
	frequent = frequent[:min(len(frequent), mostRecur)]
	for j, s := range frequent {
		for _, node := range s.tools {
			entries = append(entries, graph.Entry{Row: node, Col: int32(j), Weight: numeric.Ln(float64(1 + s.episodes))})
		}
	}
	return graph.NewIncidence(len(c.IDs), len(frequent), entries)
}

// Incidence returns the matrix of tools, by node, and capabilities, by position in the catalog.
func (c *Counts) Incidence() (*graph.Incidence, error) {
	var entries []graph.Entry
	for j := range c.Catalog.Capabilities {
		cp := &c.Catalog.Capabilities[j]
		capability, _ := c.Find(cp.ID) // every capability is a node
		for _, node := range c.CapabilityTools(capability) {
			entries = append(entries, graph.Entry{Row: node, Col: int32(j), Weight: c.Tasks(cp, node)})
		}
	}
	inc, err := graph.NewIncidence(len(c.IDs), len(c.Catalog.Capabilities), entries)
	if err != nil {
		return nil, fmt.Errorf("build the incidence of tools and capabilities: %w", err)
	}
	return inc, nil
}

// Tasks returns the weight of a tool in a capability: the number of the capability's tasks that use the tool under any
// spelling of its id, at least 1.
func (c *Counts) Tasks(cp *catalog.Capability, tool int32) float64 {
	n := 0.0
	for _, task := range cp.Tasks {
		if node, ok := c.Find(task.Tool); ok && c.Canonical[node] == tool {
			n++
		}
	}
	return max(n, 1)
}
