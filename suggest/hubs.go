package suggest

import (
	"cmp"
	"slices"
	"strings"

	"waymark/suggest/history"
)

// group makes of labels what questions need: the members of each community that matter, the name of
// each group, the hubs. A group goes by the number of its first member: a node keeps its number for
// ever, so the name stays from build to build while that member does.
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

// findHubs puts the nodes of each cluster in order of importance. Where there are fewer than two clusters the
// communities of the transition graph stand in, and also where clusters of recurring tool sets hold fewer than
// half of the important nodes.
func (m *Measures) findHubs(c *history.Counts) {
	byRank := func(a, b int32) int { return cmpFloatID(m.rank[b], m.rank[a], c.IDs[a], c.IDs[b]) }
	unimportant := func(n int32) bool { return m.rank[n] == 0 }
	clustered, important := 0, 0
	for i, l := range m.groups.cluster {
		if !unimportant(int32(i)) {
			important++
			if l >= 0 {
				clustered++
			}
		}
	}
	label := m.groups.cluster
	if m.groups.clusters < 2 || len(c.Roles.Capabilities) == 0 && 2*clustered < important {
		label = m.groups.community
	}
	for _, g := range groups(label) {
		g = slices.DeleteFunc(g, unimportant)
		slices.SortFunc(g, byRank)
		m.groups.hubs = append(m.groups.hubs, g)
	}
	for i, l := range label {
		if l < 0 && !unimportant(int32(i)) {
			m.groups.apart = append(m.groups.apart, int32(i))
		}
	}
	slices.SortFunc(m.groups.apart, byRank)
}

// related is how many nodes of a group a query looks at, the most important.
const related = 256

// leading keeps of each group the most important nodes, no more than a query looks at.
func leading(groups [][]int32, rank []float64) [][]int32 {
	for i, g := range groups {
		if len(g) > related {
			slices.SortFunc(g, func(a, b int32) int { return cmp.Or(cmp.Compare(rank[b], rank[a]), cmp.Compare(a, b)) })
			groups[i] = slices.Clone(g[:related])
		}
	}
	return groups
}

// hubs makes the most important tools of each major cluster candidates: one of each in turn, until
// there are limit of them, then the others.
func (q *query) hubs(limit int) {
	byRank := func(a, b int32) int { return cmpFloatID(q.rank(b), q.rank(a), q.IDs[a], q.IDs[b]) }
	var major [][]int32 // what is left of each, the first that passes in front
	var rest []int32
	for _, g := range q.measures.groups.hubs {
		g = q.passing(g)
		switch {
		case len(g) == 0:
		case len(q.passing(g[1:])) == 0:
			rest = append(rest, g[0])
		default:
			major = append(major, g)
		}
	}
	slices.SortFunc(major, func(a, b []int32) int { return byRank(a[0], b[0]) })
	for found := true; found && len(q.nodes.candidateNodes) < limit; {
		found = false
		for i, g := range major {
			if len(g) > 0 && len(q.nodes.candidateNodes) < limit {
				q.addCandidate(g[0])
				major[i] = q.passing(g[1:])
				found = true
			}
		}
	}
	apart := q.passing(q.measures.groups.apart)
	for i := 0; i < limit && len(apart) > 0; i++ {
		rest = append(rest, apart[0])
		apart = q.passing(apart[1:])
	}
	slices.SortFunc(rest, byRank)
	for _, n := range rest[:min(len(rest), max(0, limit-len(q.nodes.candidateNodes)))] {
		q.addCandidate(n)
	}
}

// passing is what is left of nodes from the first that passes on.
func (q *query) passing(nodes []int32) []int32 {
	for len(nodes) > 0 && !q.passes(nodes[0]) {
		nodes = nodes[1:]
	}
	return nodes
}

// cmpFloatID orders by a number and, where that is equal, by id: a total order.
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
