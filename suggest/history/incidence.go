package history

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/graph"
	"waymark/internal/numeric"
)

// Without stored capabilities the sets of tools that recur in the history are the hyperedges that are
// clustered: each set of two tools or more that at least twice was all that an episode called. An episode that
// failed does not count.
const (
	recurs      = 2    // episodes with the same set
	mostRecur   = 1024 // sets, the most frequent ones
	leastOfASet = 2    // tools
)

// RecurringSets is the matrix of tools, by node, and recurring sets, the most frequent first. The weight of a set is
// ln(1 + n) for n episodes, so that a routine counts for more than a coincidence without drowning the rest.
func (c *Counts) RecurringSets() (*graph.Incidence, error) {
	count := map[string]int{}
	var set []int32
	var key []byte
	for i := range c.Past.N {
		p := c.Past.Episode(i)
		if p.Failed() || p.Limited {
			continue
		}
		set = set[:0]
		for _, node := range p.Nodes {
			set = append(set, c.Canonical[node])
		}
		slices.Sort(set)
		set = slices.Compact(set)
		if len(set) < leastOfASet {
			continue
		}
		key = key[:0]
		for _, node := range set {
			key = binary.BigEndian.AppendUint32(key, uint32(node))
		}
		count[string(key)]++
	}
	var sets []string
	for s, n := range count {
		if n >= recurs {
			sets = append(sets, s)
		}
	}
	slices.SortFunc(sets, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b)) })
	sets = sets[:min(len(sets), mostRecur)]
	var entries []graph.Entry
	for j, s := range sets {
		weight := numeric.Ln(float64(1 + count[s]))
		for at := 0; at < len(s); at += 4 {
			entries = append(entries, graph.Entry{Row: int32(binary.BigEndian.Uint32([]byte(s[at : at+4]))), Col: int32(j), Weight: weight})
		}
	}
	return graph.NewIncidence(len(c.IDs), len(sets), entries)
}

// Incidence is the matrix of tools, by node, and capabilities, by position in the catalog.
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

// Tasks is the weight of a tool in a capability: the number of its tasks that use the tool, in whatever spelling of
// its id, at least 1.
func (c *Counts) Tasks(cp *catalog.Capability, tool int32) float64 {
	n := 0.0
	for _, task := range cp.Tasks {
		if node, ok := c.Find(task.Tool); ok && c.Canonical[node] == tool {
			n++
		}
	}
	return max(n, 1)
}
