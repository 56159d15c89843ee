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

// findHubs sorts the nodes of each cluster by importance. It uses the communities of the transition graph instead
// if there are fewer than two clusters, or if clusters of recurring tool sets contain fewer than half of the nodes
// with a PageRank above 0.
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

// hubs makes up to limit hubs candidates. It takes the most important nodes of the groups with several nodes in
// turn, one of each group, and then the other nodes by importance.
func (q *query) hubs(limit int) {
	byRank := func(a, b int32) int { return cmpFloatID(q.rank(b), q.rank(a), q.IDs[a], q.IDs[b]) }
	var major [][]int32
	rest := q.passing(q.measures.groups.apart, limit)
	for _, g := range q.measures.groups.hubs {
		if g = q.passing(g, limit+1); len(g) > 1 {
			major = append(major, g)
		} else {
			rest = append(rest, g...)
		}
	}
	slices.SortFunc(major, func(a, b []int32) int { return byRank(a[0], b[0]) })
	slices.SortFunc(rest, byRank)
	var chosen []int32
	for turn := range limit {
		for _, g := range major {
			if turn < len(g) {
				chosen = append(chosen, g[turn])
			}
		}
	}
	chosen = append(chosen, rest...)
	for _, n := range chosen {
		if len(q.nodes.candidateNodes) < limit {
			q.addCandidate(n)
		}
	}
}

// passing returns the first nodes that pass the filters, at most as many as given.
func (q *query) passing(nodes []int32, most int) (first []int32) {
	for _, n := range nodes {
		if len(first) == most {
			break
		}
		if q.passes(n) {
			first = append(first, n)
		}
	}
	return first
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
