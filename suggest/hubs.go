package suggest

import (
	"cmp"
	"slices"
	"strings"

	"waymark/suggest/history"
)

// group derives the data that queries need from the labels: the leading members of each community, the
// name of each group, and the hubs. A group is named by the node number of its first member. Nodes keep
// their numbers, so the name is stable between builds while the group has that member.
func (m *Measures) group(c *history.Counts) {
	first := func(groups [][]int32) (names []int32) {
		for _, g := range groups {
			names = append(names, g[0])
		}
		return names
	}
	communities := groups(m.groups.community)
	m.groups.named.community, m.groups.named.cluster = first(communities), first(groups(m.groups.cluster))
	m.groups.members = leading(communities, m.rank)
	m.findHubs(c)
}

// findHubs lists the important nodes, those with a PageRank above 0: the most important of each group with several of
// them, then the second of each, and so on; then the other nodes by importance. The groups are the spectral clusters or,
// if there are fewer than two, the communities.
func (m *Measures) findHubs(c *history.Counts) {
	byRank := func(a, b int32) int { return cmpFloatID(m.rank[b], m.rank[a], c.IDs[a], c.IDs[b]) }
	label := m.groups.cluster
	if m.groups.clusters < 2 {
		label = m.groups.community
	}
	var major [][]int32
	var rest []int32
	for _, g := range append(groups(label), alone(label)) {
		g = slices.DeleteFunc(g, func(n int32) bool { return m.rank[n] == 0 })
		slices.SortFunc(g, byRank)
		if len(g) > 1 && label[g[0]] >= 0 {
			major = append(major, g)
		} else {
			rest = append(rest, g...)
		}
	}
	slices.SortFunc(major, func(a, b []int32) int { return byRank(a[0], b[0]) })
	slices.SortFunc(rest, byRank)
	for turn := 0; len(major) > 0; turn++ {
		major = slices.DeleteFunc(major, func(g []int32) bool { return turn == len(g) })
		for _, g := range major {
			m.groups.hubs = append(m.groups.hubs, g[turn])
		}
	}
	m.groups.hubs = append(m.groups.hubs, rest...)
}

// alone lists the nodes without a label.
func alone(label []int32) (nodes []int32) {
	for i, l := range label {
		if l < 0 {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}

// related is the number of nodes of a group that a query reads, the most important ones.
const related = 256

// leading reduces each group to its most important nodes, at most as many as a query reads.
func leading(groups [][]int32, rank []float64) [][]int32 {
	for i, g := range groups {
		if len(g) > related {
			slices.SortFunc(g, func(a, b int32) int { return cmp.Or(cmp.Compare(rank[b], rank[a]), cmp.Compare(a, b)) })
			groups[i] = slices.Clone(g[:related])
		}
	}
	return groups
}

// hubs makes the first hubs that pass the filters candidates, at most limit.
func (q *query) hubs(limit int) {
	for _, n := range q.measures.groups.hubs {
		if len(q.nodes.candidateNodes) < limit && q.passes(n) {
			q.addCandidate(n)
		}
	}
}

// cmpFloatID compares by number and then by id, which gives a total order.
func cmpFloatID(a, b float64, idA, idB string) int {
	return cmp.Or(cmp.Compare(a, b), strings.Compare(idA, idB))
}

// groupName is the name of a group, -1 for none.
func groupName(names []int32, label int32) int32 {
	if label < 0 {
		return -1
	}
	return names[label]
}
