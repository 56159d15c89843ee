package suggest

import (
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
	"waymark/suggest/semantic"
)

// related bounds the candidates that one signal of the graph brings in: the nodes most alike a step by
// shared neighbours, the most important of a community, the neighbours of a step. What else brings a
// node in still finds how near it is.
const related = 256

// walk bounds the edges walked along to find how alike all nodes are to the steps of a context. Beyond
// it, where hubs are among the neighbours, only the most alike are found ([graph.View.AdamicAdarTop]);
// the others count as not alike.
const walk = 1 << 18

// graphSignals fills in the graph signals of the context: of its last step, and for the hybrid score
// those of every step.
func (q *query) graphSignals() {
	q.followers()
	left := q.alike(q.last, walk)
	if q.mode == Active {
		for _, u := range q.distinct {
			if u != q.last {
				left = q.alike(u, left)
			}
			q.neighbours(u)
		}
	}
	if c := q.comm(q.last); c >= 0 {
		for _, v := range q.measures.groups.members[c] {
			q.addCandidate(v)
		}
	}
	q.capabilities()
}

// followers fills in what came after the last step.
func (q *query) followers() {
	to, weights := q.Graph.Out(q.last)
	counts := q.Graph.Counts(q.last)
	for i, v := range to {
		q.addCandidate(v)
		q.nodes.weight[v], q.nodes.count[v] = weights[i], counts[i]
	}
	if loop, ok := q.Graph.Loop(q.last); ok {
		q.nodes.weight[q.last], q.nodes.count[q.last] = loop.Weight, loop.Count
	}
}

// capabilities makes those that use a tool of the context candidates.
func (q *query) capabilities() {
	for _, u := range q.distinct {
		for _, c := range q.ToolCapabilities(u) {
			q.addCandidate(c)
		}
	}
}

// alike fills in which nodes share neighbours with step u, makes the most alike candidates, and returns
// how many edges may still be walked along.
func (q *query) alike(u int32, left int) int {
	for _, w := range q.Graph.Neighbours(u) {
		left -= q.Graph.Degree(w)
	}
	if left < 0 {
		q.top = q.Graph.AdamicAdarTop(u, related, &q.adamic, q.top)
	} else {
		q.all = q.all[:0]
		q.Graph.AdamicAdarFrom(u, &q.adamic, func(v int32, aa float64) { q.all = append(q.all, graph.Scored{Node: v, Score: aa}) })
		for _, v := range q.all {
			q.likeness(u, v)
		}
		if len(q.all) <= related {
			for _, v := range q.all {
				q.addCandidate(v.Node)
			}
			return left
		}
		q.top = graph.Top(q.all, related, q.top)
	}
	for _, v := range q.top {
		q.likeness(u, v)
		q.addCandidate(v.Node)
	}
	return max(left, 0)
}

// likeness records the similarity of a node to step u: the largest over all steps for the hybrid score, that
// to the last step for toolScore.
func (q *query) likeness(u int32, v graph.Scored) {
	q.clearSignals(v.Node)
	q.nodes.graph[v.Node] = max(q.nodes.graph[v.Node], graph.GraphScore(false, v.Score))
	if u == q.last {
		q.nodes.aa[v.Node] = v.Score
	}
}

// neighbours fills in what is next to step u. That something is next to a hub makes it no candidate:
// nearly everything is.
func (q *query) neighbours(u int32) {
	neighbours := q.Graph.Neighbours(u)
	for _, v := range neighbours {
		q.clearSignals(v)
		q.nodes.graph[v] = 1
	}
	if len(neighbours) <= related {
		for _, v := range neighbours {
			q.addCandidate(v)
		}
	}
	if _, ok := q.Graph.Loop(u); ok {
		q.nodes.graph[u] = 1
	}
}

// textSignals fills in how well each text matches the intent.
func (q *query) textSignals(vector []float32) {
	q.nearByEndpoint(vector)
	for _, n := range q.nodes.candidateNodes { // what the graph brought in
		q.nodes.semantic[n] = q.match(n)
	}
	found := q.matches(textCandidates)
	remembered := q.last == episodic.NoTool && q.remember()
	if !q.matchRecent() && !found && !remembered {
		q.warn(WarnNoIntentMatch)
	}
}

const (
	nearTasks   = 10 // past tasks with the nearest requests
	recallTrust = 3  // a mean likeness of ⅓ is full trust: requests for the same thing share few words
)

// remember adds to the text signal of each tool the tasks with the nearest requests that used it. Where the intent was asked
// before in the same words, only these tasks count. With support(n) the share of the tasks that used n, by likeness,
//
//	semantic' = 1 - (1 - semantic)·(1 - min(1, 3·mean likeness)·support(n))
//
// It reports whether there are any.
func (q *query) remember() bool {
	near := slices.DeleteFunc(q.nearestTasks(nearTasks), func(t similarTask) bool { return q.Past.Episode(int(t.episode)).Failed() })
	if len(near) == 0 {
		return false
	}
	if near[0].similarity >= verbatim {
		near = slices.DeleteFunc(near, func(t similarTask) bool { return t.similarity < verbatim })
	}
	likeness, support := 0.0, map[int32]float64{}
	for _, t := range near {
		likeness += t.similarity
		used := map[int32]bool{}
		for _, raw := range q.Past.Episode(int(t.episode)).Nodes {
			n := q.Canonical[raw]
			if known := int(t.episode) < q.measures.episodes; !used[n] && (!known || q.measures.vouched(int(t.episode), n)) {
				used[n] = true
				support[n] += t.similarity
			}
		}
	}
	trust := min(1, float64(recallTrust*likeness)/float64(len(near)))
	for _, n := range slices.Sorted(maps.Keys(support)) {
		q.consider(n)
		q.nodes.semantic[n] = 1 - float64((1-q.nodes.semantic[n])*(1-float64(trust*support[n])/likeness))
	}
	return true
}

// matches makes the k texts that match best candidates. It reports whether a tool is among them: the cluster of
// the best stands for the situation where there is no context.
func (q *query) matches(k int) bool {
	best, bestScore, found := int32(-1), 0.0, false
	q.hits = q.matching().Top(q.hits[:0], k, rank.VectorWeight)
	for _, tool := range slices.Sorted(maps.Keys(q.wording.endpoint)) {
		q.hits = append(q.hits, semantic.Hit{Doc: tool})
	}
	for _, h := range q.hits {
		n := q.measures.texts.node[h.Doc]
		q.consider(n)
		score := q.nodes.semantic[n]
		if score == 0 {
			continue
		}
		found = found || q.matching().Of(h.Doc) > 0 || q.wording.endpoint[h.Doc] > 0
		if q.Kind(n) == catalog.KindTool && (score > bestScore || score == bestScore && best >= 0 && q.IDs[n] < q.IDs[best]) {
			best, bestScore = n, score
		}
	}
	if best >= 0 && len(q.context) == 0 {
		q.cluster = q.Model.cluster(best)
	}
	return found
}

// textCandidates is how many of the best matches by text compete with what the graph brings in. Below
// the 256th place a match is too weak to be shown, whatever else speaks for it.
const textCandidates = 256

// glimpsed is how many are enough to find the best tool, mostly.
const glimpsed = 16

// match is how well a node's text fits the intent.
func (q *query) match(n int32) float64 {
	if q.ranking != nil {
		if t := history.Of(q.learned.tool, n, -1); t >= 0 && !q.recent.changed(n) {
			return q.ranking.Value(t, rank.Match)
		}
		return 0
	}
	if t := history.Of(q.measures.texts.tool, n, -1); t >= 0 && q.Live(n) && !q.recent.changed(n) {
		return q.measures.texts.texts().Match(q.matching(), t, q.wording.endpoint[t])
	}
	return 0
}

// consider makes a node a candidate that neither text nor graph may have brought in.
func (q *query) consider(n int32) {
	if q.nodes.stamp[n] == q.nodes.epoch {
		return
	}
	q.addCandidate(n)
	if q.mode == Active {
		q.nodes.semantic[n] = q.match(n)
	}
}
