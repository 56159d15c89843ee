package suggest

import (
	"sync"

	"waymark/graph"
	"waymark/suggest/semantic"
)

// scratch is the reusable working memory of one query. A value by node is valid only if the node was made
// a candidate in this query, so code must call consider or addCandidate before it reads one.
type scratch struct {
	query    query    // the query itself
	spelled  []string // the context by canonical ids, unknown elements unchanged
	context  []int32  // known elements, in order
	distinct []int32  // known elements, sorted

	nodes  nodeSignals
	ways   graph.BreadthFirst
	scored []candidate // those of the first looked candidateNodes that have a score
	looked int
	ranked []candidate
	hits   []semantic.Hit
	used   recentTasks

	contextTools []int32 // tools of the context, by the numbers of learned
}

// nodeSignals are values by node. Values of a node without the stamp of this epoch are left from earlier queries.
type nodeSignals struct {
	epoch          uint32
	stamp          []uint32 // the epoch in which the node last became a candidate
	candidateNodes []int32
	semantic       []float64 // match of the text with the intent
	inContext      []bool    // node is in the context
}

// scratchWithCapacity returns working memory for n nodes. Successive models, which have more nodes, share the pool.
func scratchWithCapacity(pool *sync.Pool, n int) *scratch {
	s, _ := pool.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	if len(s.nodes.stamp) < n {
		// Leave room to grow: the next models have a few more nodes, and arrays of the exact size would be
		// reallocated for each.
		n += n/8 + 64
		s.nodes.stamp, s.nodes.semantic, s.nodes.inContext = make([]uint32, n), make([]float64, n), make([]bool, n)
	}
	return s
}

// begin starts a new epoch, which invalidates the values of all nodes at no cost. After 2³² queries the epoch
// wraps around, and the stamps are cleared so that no old stamp matches.
func (s *scratch) begin() {
	if s.nodes.epoch++; s.nodes.epoch == 0 {
		clear(s.nodes.stamp)
		s.nodes.epoch = 1
	}
	s.spelled, s.context, s.distinct, s.nodes.candidateNodes = s.spelled[:0], s.context[:0], s.distinct[:0], s.nodes.candidateNodes[:0]
	s.scored, s.looked, s.used.known = s.scored[:0], 0, false
}

// addCandidate makes a node a candidate; its signals start at zero.
func (s *scratch) addCandidate(i int32) {
	if s.nodes.stamp[i] != s.nodes.epoch {
		s.nodes.stamp[i] = s.nodes.epoch
		s.nodes.semantic[i], s.nodes.inContext[i] = 0, false
		s.nodes.candidateNodes = append(s.nodes.candidateNodes, i)
	}
}
