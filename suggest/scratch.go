package suggest

import (
	"sync"

	"waymark/graph"
	"waymark/suggest/semantic"
)

// scratch is the working memory of one query, reused: arrays by node. A value is valid only where the
// node was touched in this query; whoever reads one of a node from elsewhere touches it first.
type scratch struct {
	asked    query    // the query itself
	spelled  []string // the context by canonical ids, unknown elements as they came
	context  []int32  // known elements, in order
	distinct []int32  // known elements, sorted

	nodes    nodeSignals
	adamic   graph.Scratch
	all, top []graph.Scored
	ways     graph.BreadthFirst
	scored   []candidate // those of the first looked touched nodes that have a score
	looked   int
	ranked   []candidate
	covers   []candidate // capabilities that cover tools of the list
	hits     []semantic.Hit
	used     recentTasks

	fit fitBuffers
}

// fitBuffers serve the learned profile.
type fitBuffers struct {
	together together
	done     []int32 // tools of the context that can be learned of
}

// nodeSignals are by node; those of nodes not touched in this epoch are of earlier questions.
type nodeSignals struct {
	epoch          uint32
	stamp          []uint32 // node has been touched in this epoch
	near           []uint32 // aa and graph of the node are of this epoch
	candidateNodes []int32
	aa             []float64 // Adamic-Adar with the last step
	weight         []float64 // of the transition from the last step
	count          []uint64
	graph          []float64 // GraphScore, the maximum over the context
	semantic       []float64
	inFlight       []bool // node is in the context
}

// scratchWithCapacity is working memory for n nodes. Models hand it on to later ones, which have more.
func scratchWithCapacity(pool *sync.Pool, n int) *scratch {
	s, _ := pool.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	if len(s.nodes.stamp) < n {
		// Room to grow: the next models have a few more nodes, and arrays of the exact size would be made
		// anew for each.
		n += n/8 + 64
		s.nodes.near = make([]uint32, n)
		s.nodes.stamp, s.nodes.aa, s.nodes.weight, s.nodes.count = make([]uint32, n), make([]float64, n), make([]float64, n), make([]uint64, n)
		s.nodes.graph, s.nodes.semantic, s.nodes.inFlight = make([]float64, n), make([]float64, n), make([]bool, n)
	}
	return s
}

// begin starts a new epoch, which makes the values of all nodes invalid at no cost. After 2³² queries the
// epoch begins again, and the stamps are cleared so that none of the first round matches.
func (s *scratch) begin() {
	if s.nodes.epoch++; s.nodes.epoch == 0 {
		clear(s.nodes.stamp)
		clear(s.nodes.near)
		s.nodes.epoch = 1
	}
	s.spelled, s.context, s.distinct, s.nodes.candidateNodes, s.covers = s.spelled[:0], s.context[:0], s.distinct[:0], s.nodes.candidateNodes[:0], s.covers[:0]
	s.scored, s.looked, s.used.known = s.scored[:0], 0, false
}

// addCandidate makes a node a candidate; its signals start at zero.
func (s *scratch) addCandidate(i int32) {
	if s.nodes.stamp[i] != s.nodes.epoch {
		s.nodes.stamp[i] = s.nodes.epoch
		s.nodes.weight[i], s.nodes.count[i], s.nodes.semantic[i], s.nodes.inFlight[i] = 0, 0, 0, false
		s.clearSignals(i)
		s.nodes.candidateNodes = append(s.nodes.candidateNodes, i)
	}
}

// clearSignals resets aa and graph of a node to zero unless they belong to this query. The node does not become a candidate.
func (s *scratch) clearSignals(i int32) {
	if s.nodes.near[i] != s.nodes.epoch {
		s.nodes.near[i] = s.nodes.epoch
		s.nodes.aa[i], s.nodes.graph[i] = 0, 0
	}
}
