package suggest

import (
	"context"
	"fmt"
	"slices"

	"waymark/graph"
	"waymark/spectral"
	"waymark/suggest/history"
)

// measureIncidence ranks and clusters the incidence of tools and capabilities.
func (m *Measures) measureIncidence(ctx context.Context, c *history.Counts, opts MeasureOptions) error {
	n := len(c.IDs)
	m.groups.cluster, m.hyperRank = make([]int32, n), make([]float64, n)
	for i := range m.groups.cluster {
		m.groups.cluster[i] = -1
	}
	capNode := c.Roles.Capabilities
	inc, err := c.Incidence()
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
	r, err := spectral.Cluster(inc.Matrix(), spectral.Options{Stop: ended(ctx)})
	if err != nil {
		return fmt.Errorf("cluster the incidence: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err // once stopped, Cluster returns the clusters of unfinished vectors, without an error
	}
	copy(m.groups.cluster, r.Rows)
	for j, node := range capNode {
		m.groups.cluster[node] = r.Cols[j]
	}
	m.groups.clusters, m.groups.gaps = r.K, r.Gaps
	return nil
}

// weightIn returns the weight of a tool in a capability: the number of its tasks that use the tool, at least 1.
func (m *Model) weightIn(tool, capability int32) float64 {
	if i, ok := m.Catalog.CapabilityIndex[m.IDs[capability]]; ok {
		return m.Tasks(&m.Catalog.Capabilities[i], tool)
	}
	return 1
}
