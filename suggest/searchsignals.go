package suggest

import (
	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
	"waymark/semantic"
)

// matchParts is what speaks for a node in a search, each part in [0, 1]:
//
//	match = 1 - (1 - text)·(1 - wWords·words)·(1 - wVector·vector)·(1 - wRequests·requests)·(1 - recentShare·recent)
//
// The text decides; what past requests say moves what matches about as well.
type matchParts struct {
	text     float64 // how well its own text answers the words of the query; see [semantic.Matcher]
	words    float64 // nearness by word vectors; see [wordvectors.Vectors]
	vector   float64 // cosine of the vectors of an embeddings endpoint
	requests float64 // how much the words of the query go with it in past requests
	recent   float64 // similarity of a request since the last build that it was used for
}

// Weights of a search, chosen on the development half of hand-written requests for single tools.
const (
	wRequests       = 0.2
	wWords          = 0.3
	wVector         = 0.3
	wSearch         = 0.98 // the match; the rest is importance
	wSearchRank     = 0.02
	wSearchOutcomes = 0.1 // of what outcomes add elsewhere
)

// parts calls add with what each part adds to the match.
func (e *matchParts) parts(add func(name string, value, weight float64)) (match float64) {
	rest := 1.0
	for _, p := range [...]struct {
		name          string
		value, weight float64
	}{{"text", e.text, 1}, {"word_vectors", e.words, wWords}, {"vector", e.vector, wVector}, {"past_requests", e.requests, wRequests}, {"newer_requests", e.recent, recentShare}} {
		if p.value == 0 {
			continue
		}
		if add != nil {
			add(p.name, p.value, float64(rest*p.weight))
		}
		match += float64(float64(rest*p.weight) * p.value)
		rest = float64(rest * (1 - float64(p.weight*p.value)))
	}
	return min(1, match)
}

// A search looks at the best matches by text, at least lookedAt and twice as many as are asked for, and at the mostSaid
// nodes that past requests say most for, at least leastSaid: a common word says something for thousands.
const lookedAt, mostSaid, leastSaid = 96, 256, 0.1

// searchSignals fills in how well each node matches a search that asks for so many results.
func (q *query) searchSignals(vector []float32, limit int) {
	m, k := q.measures, max(lookedAt, 2*limit)
	q.wording.matching = m.texts.matcher().Match(q.wording.phrase)
	find := func(hits []semantic.Hit) {
		for _, h := range hits {
			if n := m.texts.docNode[h.Doc]; q.Live(n) && !q.recent.changed(n) {
				q.consider(n)
			}
		}
	}
	q.pastRequestSignals()
	if len(vector) > 0 { // before any node is considered: a node is matched once
		q.wording.text = m.texts.text.Query(q.wording.phrase, vector)
		q.hits = q.wording.text.Top(q.hits[:0], k)
		find(q.hits)
	}
	q.hits = q.wording.matching.Top(q.hits[:0], k, wWords)
	find(q.hits)
	q.all = q.all[:0]
	for _, n := range q.nodes.sayings {
		if q.nodes.saidSum[n] >= leastSaid && q.Live(n) {
			q.all = append(q.all, graph.Scored{Node: n, Score: q.nodes.saidSum[n]})
		}
	}
	q.top = graph.Top(q.all, mostSaid, q.top)
	for _, b := range q.top {
		q.consider(b.Node)
	}
	q.recentSearchSignals()
	// Text, words and vector were filled in by found when a node became a candidate; past requests are
	// complete only here.
	best := int32(-1)
	for _, n := range q.nodes.candidateNodes {
		q.nodes.matched[n].requests = q.nodes.saidSum[n]
		q.nodes.semantic[n] = q.nodes.matched[n].parts(nil)
		if q.Kind(n) == catalog.KindTool && q.Live(n) && q.nodes.semantic[n] > 0 && (best < 0 || q.nodes.semantic[n] > q.nodes.semantic[best] || q.nodes.semantic[n] == q.nodes.semantic[best] && q.IDs[n] < q.IDs[best]) {
			best = n
		}
	}
	if best < 0 {
		q.warn(WarnNoIntentMatch)
	} else if len(q.context) == 0 {
		q.cluster = q.Model.cluster(best)
	}
}

// pastRequestSignals fills in what past requests say for each node.
func (q *query) pastRequestSignals() {
	for _, n := range q.nodes.sayings {
		q.nodes.saidSum[n] = 0
	}
	q.nodes.sayings = q.nodes.sayings[:0]
	q.measures.texts.wordModel().Score(wordsOf(q.wording.intent), func(n int32, adds float64) {
		if q.nodes.saidSum[n] == 0 {
			q.nodes.sayings = append(q.nodes.sayings, n)
		}
		q.nodes.saidSum[n] += adds
	})
}

// recentSearchSignals counts texts and requests that came after the build.
func (q *query) recentSearchSignals() {
	r := q.recent
	if !r.any() {
		return
	}
	q.hits = r.text.Match(q.hits[:0], q.wording.matching, func(d int32) bool { return r.document.At(r.node[d]) == d+1 })
	for _, h := range q.hits {
		if n := r.node[h.Doc]; q.Live(n) {
			q.addCandidate(n)
			q.nodes.matched[n].text = float64(h.Score * q.TextWeight(n))
		}
	}
	for _, t := range q.recentTasks().tools {
		q.consider(t.node)
		q.nodes.matched[t.node].recent = t.similarity
	}
}

// found fills in what the last build knows of the text of a node, and returns its match.
func (q *query) found(n int32) float64 {
	e := &q.nodes.matched[n]
	if d := q.doc(n); d >= 0 && q.Live(n) && !q.recent.changed(n) {
		e.text, e.words = q.wording.matching.Of(d), q.wording.matching.Near(d)
		if q.wording.text != nil && q.wording.text.HasVector() {
			e.vector = q.wording.text.Of(d).Vector
		}
		if w := q.TextWeight(n); w < 1 {
			e.text, e.words, e.vector = float64(w*e.text), float64(w*e.words), float64(w*e.vector)
		}
	}
	e.requests = q.nodes.saidSum[n]
	return e.parts(nil)
}

// searchTerms adds up the score of a search: the match, nearness to the context, importance.
func (q *query) searchTerms(n int32, s *sum) {
	q.nodes.matched[n].parts(func(name string, value, weight float64) { s.add(name, value, float64(wSearch*q.alpha)*weight) })
	if q.alpha < 1 {
		s.add("graph", q.nodes.graph[n], wSearch*(1-q.alpha))
	}
	s.add("pagerank", q.rank(n), wSearchRank)
	if r := q.after(n); r.N > 0 {
		boost, penalty, _ := episodic.Adjustment(r.SuccessRate(), r.FailureRate())
		s.add("episodic", boost-penalty, wSearchOutcomes)
	}
}
