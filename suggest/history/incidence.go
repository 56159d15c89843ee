package history

import (
	"fmt"

	"waymark/catalog"
	"waymark/graph"
)

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
