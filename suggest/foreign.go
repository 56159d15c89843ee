package suggest

import (
	"strings"
	"unicode"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/learn/rank"
	"waymark/semantic"
	"waymark/semantic/wordvectors"
)

// A request is foreign where nothing in the catalog or the history serves it. With the informative words w of the
// request (no stop words, no words that any request may have, no names and numbers), each of weight idf(w),
//
//	known      mean of n/(n+1), n(w) the tools and past requests that have w
//	world      mean of what the texts of public tools know: 1 for a word of the word vectors, else 0
//	covered    share that is in the own texts of the eight tools that match best
//	together   share of words that one tool or past request has beside another word of the request
//
//	served = 1/(1 + e^-(bias + Σ weight·feature))
//
// A request as like a past one as recentCopy is served with that likeness at least. One of numbers, stop words and words
// that any request may have is served where it has a name, or where it was asked before.
//
// The weights come from a logistic regression over the half to develop on of the requests and needs of eight data sets
// and of the wishes in lab/firstcontact/testdata, each set and class weighing alike; the bias was then moved so
// that 2 to 3 of 100 served requests fall below foreignBelow. The regression was run by hand; what the weights
// achieve is measured by lab/firstcontact.
var servedWeights = struct{ bias, known, world, covered, together float64 }{-3.25, 2.96, 3.0, 3.61, 2.74}

const (
	foreignBelow = 0.3  // a request is called foreign below this probability of being served
	coveredBy    = 8    // tools
	verbatim     = 0.99 // likeness of a past request with the same words
)

// served is the probability that the intent can be served.
func (q *query) served() float64 {
	words := q.informative()
	enough := recentCopy
	if len(words) == 0 {
		enough = verbatim
	}
	alike := 0.0
	if near := q.nearestTasks(1); len(near) > 0 && near[0].similarity >= enough {
		alike = near[0].similarity
	}
	return max(alike, q.servedBy(words))
}

// servedBy is the probability by the informative words alone.
func (q *query) servedBy(words []string) float64 {
	if len(words) == 0 {
		if len(semantic.ProperNames(q.wording.intent)) > 0 {
			return 1
		}
		return 0
	}
	matcher := q.measures.texts.texts().Matcher()
	terms := make([]string, len(words))
	weight := make([]float64, len(words))
	total := 0.0
	for i, term := range words {
		terms[i], weight[i] = term, matcher.IDF(term)
		total += weight[i]
	}
	collections := []semantic.Collection{matcher, q.measures.texts.requests()}
	if q.recent.any() {
		collections = []semantic.Collection{matcher, q.recent.requests, q.recent.text}
	}
	occurrences := semantic.Occurrences(terms, collections...)
	covered := q.coveredTerms(terms)
	s := &servedWeights
	z := s.bias
	for i, o := range occurrences {
		share := weight[i] / total
		z += float64(float64(share*s.known) * (float64(o.Texts) / float64(o.Texts+1)))
		if wordvectors.Default().Has(terms[i]) {
			z += float64(share * s.world)
		}
		if covered[i] {
			z += float64(share * s.covered)
		}
		if o.Together {
			z += float64(share * s.together)
		}
	}
	return 1 / (1 + numeric.Exp(-z))
}

// coveredTerms reports which terms the own texts of the best matches have.
func (q *query) coveredTerms(terms []string) []bool {
	covered := make([]bool, len(terms))
	tools := 0
	mark := func(n int32) {
		if tools < coveredBy && q.Live(n) && q.Kind(n) == catalog.KindTool {
			tools++
			q.markOwn(n, terms, covered)
		}
	}
	if q.ranking != nil {
		for _, r := range q.ranking.Ranked {
			mark(q.learned.node[r.Tool])
		}
		for _, n := range q.nodes.candidateNodes {
			if q.recent.changed(n) {
				q.markOwn(n, terms, covered)
			}
		}
		return covered
	}
	q.hits = q.matching().Top(q.hits[:0], 2*coveredBy, rank.VectorWeight)
	for _, h := range q.hits {
		mark(q.measures.texts.node[h.Doc])
	}
	return covered
}

// informative are the terms of the intent that say what it is about, each once.
func (q *query) informative() []string {
	names := semantic.ProperNames(q.wording.intent)
	var terms []string
	for word, term := range semantic.Terms(q.wording.intent) {
		if !semantic.Neutral(word) && !names[word] && !strings.ContainsFunc(word, unicode.IsDigit) {
			terms = append(terms, term)
		}
	}
	return terms
}

// markOwn marks the terms that a node's own text has.
func (m *Model) markOwn(n int32, terms []string, has []bool) {
	d := m.Document(m.IDs[n])
	for _, text := range [...]string{d.Name, d.Text, d.Properties} {
		semantic.Mark(text, terms, has)
	}
}
