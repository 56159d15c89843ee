package suggest

import (
	"sync"

	"waymark/graph"
	nexttool "waymark/learn/next"
	"waymark/semantic"
)

// scratch is the working memory of one query, reused: arrays by node. A value is valid only where the
// node was touched in this query; whoever reads one of a node from elsewhere touches it first.
type scratch struct {
	asked    query    // the query itself
	spelled  []string // the context by canonical ids, unknown elements as they came
	context  []int32  // known elements, in order
	distinct []int32  // known elements, sorted

	epoch          uint32
	stamp          []uint32 // node has been touched in this epoch
	near           []uint32 // aa and graph of the node are of this epoch
	candidateNodes []int32
	aa             []float64 // Adamic-Adar with the last step
	weight         []float64 // of the transition from the last step
	count          []uint64
	graph          []float64 // GraphScore, the maximum over the context
	semantic       []float64
	saidSum        []float64 // of a search, what past requests say for each of sayings; else zero
	sayings        []int32
	matched        []matchParts // of a search, what semantic is made of
	inFlight       []bool       // node is in the context
	adamic         graph.Scratch
	all, top       []graph.Scored
	ways           graph.BreadthFirst
	scored         []candidate // those of the first looked touched nodes that have a score
	looked         int
	ranked         []candidate
	covers         []candidate // capabilities that cover tools of the list
	hits           []semantic.Hit
	used           recentTasks

	features    nexttool.FeatureValues
	predicted   []nexttool.Ranked
	request     nexttool.Request
	intentCache intentCache
	calibration calibration
	together    together
	done        []int32 // tools of the context that can be learned of
	sources     nexttool.Sources
}

// scratchWithCapacity is working memory for n nodes. Models hand it on to later ones, which have more.
func scratchWithCapacity(pool *sync.Pool, n int) *scratch {
	s, _ := pool.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	if len(s.stamp) < n {
		n += n/8 + 64
		s.near = make([]uint32, n)
		s.stamp, s.aa, s.weight, s.count = make([]uint32, n), make([]float64, n), make([]float64, n), make([]uint64, n)
		s.graph, s.semantic, s.inFlight = make([]float64, n), make([]float64, n), make([]bool, n)
		s.matched, s.saidSum, s.sayings = make([]matchParts, n), make([]float64, n), nil
	}
	return s
}

func (s *scratch) begin() {
	if s.epoch++; s.epoch == 0 {
		clear(s.stamp)
		clear(s.near)
		s.epoch = 1
	}
	s.spelled, s.context, s.distinct, s.candidateNodes, s.covers = s.spelled[:0], s.context[:0], s.distinct[:0], s.candidateNodes[:0], s.covers[:0]
	s.scored, s.looked, s.used.known = s.scored[:0], 0, false
}

// addCandidate makes a node a candidate; its signals start at zero.
func (s *scratch) addCandidate(i int32) {
	if s.stamp[i] != s.epoch {
		s.stamp[i] = s.epoch
		s.weight[i], s.count[i], s.semantic[i], s.inFlight[i] = 0, 0, 0, false
		s.matched[i] = matchParts{}
		s.clearSignals(i)
		s.candidateNodes = append(s.candidateNodes, i)
	}
}

// clearSignals resets aa and graph of a node to zero unless they belong to this query. The node does not become a candidate.
func (s *scratch) clearSignals(i int32) {
	if s.near[i] != s.epoch {
		s.near[i] = s.epoch
		s.aa[i], s.graph[i] = 0, 0
	}
}
