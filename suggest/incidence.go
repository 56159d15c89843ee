package suggest

import (
	"context"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/graph"
	"waymark/spectral"
)

// measureIncidence ranks and clusters the incidence of tools and capabilities. Without capabilities there is
// nothing to rank, and the sets of tools that recur are clustered.
func (m *Measures) measureIncidence(ctx context.Context, c *Counts, opts MeasureOptions) error {
	n := len(c.ids)
	m.cluster, m.hyperRank = make([]int32, n), make([]float64, n)
	for i := range m.cluster {
		m.cluster[i] = -1
	}
	capNode := c.roles.capNode
	inc, err := c.incidence()
	if err != nil {
		return err
	}
	m.incidence = inc
	rows, cols, err := graph.IncidencePageRank(inc, graph.PageRankOptions{})
	if err != nil {
		return fmt.Errorf("rank the incidence: %w", err)
	}
	both := graph.Normalised(append(slices.Clone(rows), cols...))
	copy(m.hyperRank, both[:n])
	for j, node := range capNode {
		m.hyperRank[node] = both[n+j]
	}
	if opts.WithoutSpectral {
		return nil
	}
	if len(capNode) == 0 {
		if inc, err = c.recurring(); err != nil {
			return fmt.Errorf("collect the sets of tools that recur: %w", err)
		}
	}
	r, err := spectral.Cluster(inc.Matrix(), spectral.Options{Stop: ended(ctx)})
	if err != nil {
		return fmt.Errorf("cluster the incidence: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err // told to stop, it gives the clusters of what it had
	}
	copy(m.cluster, r.Rows)
	for j, node := range capNode {
		m.cluster[node] = r.Cols[j]
	}
	m.clusters, m.capped, m.gaps = r.K, r.Capped, r.Gaps
	return nil
}

// incidence is the matrix of tools, by node, and capabilities, by position in the catalog.
func (c *Counts) incidence() (*graph.Incidence, error) {
	var entries []graph.Entry
	for j := range c.view.caps {
		cp := &c.view.caps[j]
		capability, _ := c.find(cp.ID) // every capability is a node
		for _, node := range c.capTools(capability) {
			entries = append(entries, graph.Entry{Row: node, Col: int32(j), Weight: c.tasksOf(cp, node)})
		}
	}
	inc, err := graph.NewIncidence(len(c.ids), len(c.view.caps), entries)
	if err != nil {
		return nil, fmt.Errorf("build the incidence of tools and capabilities: %w", err)
	}
	return inc, nil
}

// weightIn is the weight of a tool in a capability of the catalog.
func (m *Model) weightIn(tool, capability int32) float64 {
	if i, ok := m.view.cap[m.ids[capability]]; ok {
		return m.tasksOf(&m.view.caps[i], tool)
	}
	return 1
}

// tasksOf is the weight of a tool in a capability: the number of its tasks that use the tool, in whatever spelling of
// its id, at least 1.
func (c *Counts) tasksOf(cp *catalog.Capability, tool int32) float64 {
	n := 0.0
	for _, task := range cp.Tasks {
		if node, ok := c.find(task.Tool); ok && c.canon[node] == tool {
			n++
		}
	}
	return max(n, 1)
}
