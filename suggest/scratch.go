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

	nodes  nodeSignals
	ways   graph.BreadthFirst
	scored []candidate // those of the first looked touched nodes that have a score
	looked int
	ranked []candidate
	covers []candidate // capabilities that cover tools of the list
	hits   []semantic.Hit
	used   recentTasks

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
	candidateNodes []int32
	semantic       []float64 // match of the text with the intent
	inFlight       []bool    // node is in the context
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
		s.nodes.stamp, s.nodes.semantic, s.nodes.inFlight = make([]uint32, n), make([]float64, n), make([]bool, n)
	}
	return s
}

// begin starts a new epoch, which makes the values of all nodes invalid at no cost. After 2³² queries the
// epoch begins again, and the stamps are cleared so that none of the first round matches.
func (s *scratch) begin() {
	if s.nodes.epoch++; s.nodes.epoch == 0 {
		clear(s.nodes.stamp)
		s.nodes.epoch = 1
	}
	s.spelled, s.context, s.distinct, s.nodes.candidateNodes, s.covers = s.spelled[:0], s.context[:0], s.distinct[:0], s.nodes.candidateNodes[:0], s.covers[:0]
	s.scored, s.looked, s.used.known = s.scored[:0], 0, false
}

// addCandidate makes a node a candidate; its signals start at zero.
func (s *scratch) addCandidate(i int32) {
	if s.nodes.stamp[i] != s.nodes.epoch {
		s.nodes.stamp[i] = s.nodes.epoch
		s.nodes.semantic[i], s.nodes.inFlight[i] = 0, false
		s.nodes.candidateNodes = append(s.nodes.candidateNodes, i)
	}
}
