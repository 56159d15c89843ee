package graph

// EdgesOfCommunities is how many edges [Communities] walks, on all levels together.
func EdgesOfCommunities(g *Graph) int {
	base, nodes := weighted(g)
	l := newLeiden(base, 1)
	for v := range l.member {
		l.member[v] = int32(v)
	}
	l.run(g, base, nodes)
	return l.walked
}
