package suggest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"waymark/internal/numeric"
	"waymark/suggest/learn/rank"
	"waymark/suggest/semantic"
)

// A request is foreign if nothing in the catalog or the history serves it. The features are computed from the
// informative words w of the request (without stop words, words common to any request, numbers, and names that the
// catalog does not have), each weighted by idf(w):
//
//	world      share of the words that have a word vector, so that texts of public tools use them
//	together   share of the words that occur in one tool text or past request with another word of the request;
//	           a single word must only occur in one
//	near       mean nearness by word vectors of the eight tools that match best
//	size       log2(tools / 128): with more tools, the nearest by chance are nearer
//
//	served = 1/(1 + e^-(bias + Σ weight·feature))
//
// Among 128 texts, a text that matches with at least 0.36 serves the request; among more, this bound is higher, because
// the best match by chance is better. If a past request has a similarity of at least recentCopy, served is at least
// that similarity. A request without informative words is served if it has a name, or if the same words were asked
// before.
//
// The weights come from a logistic regression over requests, rewordings of the same requests and single needs of ten
// catalogs of 30 to 17,000 tools, without their histories, and over the wishes in lab/firstcontact/testdata and in
// learn/rank/foreign.go. Each catalog, class and kind of request has the same weight. The regression was run manually;
// lab/firstcontact measures it.
var servedWeights = struct{ bias, world, together, near, size float64 }{-5.15, 2.63, 5.23, 12.5, -.434}

const (
	foreignBelow = 0.3  // a request is called foreign below this probability of being served
	bestTexts    = 8    // best-matching texts whose mean nearness is the feature near
	certain      = 0.36 // match of a text, among 128, from which the request is served
	perDoubling  = 0.04 // increase of certain for each doubling of the number of texts
	leastTools   = 16   // lower bound of the number of tools in size
	verbatim     = 0.99 // similarity from which a past request counts as having the same words
)

// served returns the probability that a tool can serve the intent.
func (q *query) served() float64 {
	words := q.informative()
	enough := recentCopy
	if len(words) == 0 {
		enough = verbatim
	}
	served := q.servedBy(words)
	if near := max(q.recentTasks().nearest, q.value(rank.Nearest)); near >= enough {
		served = max(served, near)
	}
	return served
}

// servedBy returns the probability from the informative words alone, without similar past requests.
func (q *query) servedBy(words []string) float64 {
	if len(words) == 0 {
		if len(semantic.ProperNames(q.wording.intent)) > 0 {
			return 1
		}
		return 0
	}
	matcher := q.measures.texts.texts().Matcher()
	weight := make([]float64, len(words))
	total := 0.0
	for i, word := range words {
		weight[i] = matcher.IDF(word)
		total += weight[i]
	}
	collections := append(q.unindexed(), matcher)
	s := &servedWeights
	z := s.bias
	for i, o := range semantic.Occurrences(words, collections...) {
		share := weight[i] / total
		if semantic.DefaultWordVectors().Has(words[i]) {
			z += float64(share * s.world)
		}
		if o.Together || len(words) == 1 && o.Texts > 0 {
			z += float64(share * s.together)
		}
	}
	size := numeric.Log2(max(leastTools, float64(matcher.Len()+len(q.recent.node))) / 128)
	best, near := q.nearness(q.matching())
	if len(q.recent.node) > 0 {
		x := q.recent.text().Match(q.wording.intent)
		defer x.Close()
		newer, more := q.nearness(x)
		best, near = max(best, newer), append(near, more...)
		slices.SortFunc(near, func(a, b float64) int { return cmp.Compare(b, a) })
	}
	if best >= certain+float64(perDoubling*size) {
		return 1
	}
	near = near[:min(bestTexts, len(near))]
	z += float64(s.near*numeric.Sum(near)/float64(max(1, len(near)))) + float64(s.size*size)
	return 1 / (1 + numeric.Exp(-z))
}

// nearness returns the match of the best text, and the nearness by word vectors of each of the best-matching texts.
func (q *query) nearness(x *semantic.Matching) (best float64, near []float64) {
	q.hits = x.Top(q.hits[:0], bestTexts, 1)
	for _, h := range q.hits {
		best, near = max(best, x.Of(h.Doc)), append(near, x.Near(h.Doc))
	}
	return best, near
}

// informative returns the distinct terms of the intent that carry information about its subject.
func (q *query) informative() []string {
	names, matcher := semantic.ProperNames(q.wording.intent), q.measures.texts.texts().Matcher()
	var terms []string
	for word, term := range semantic.Terms(q.wording.intent) {
		known := !names[word]
		if !known {
			matcher.Having(term, func(int32) { known = true })
		}
		if known && !semantic.Neutral(word) && !strings.ContainsFunc(word, unicode.IsDigit) {
			terms = append(terms, term)
		}
	}
	return terms
}

// markOwn sets has[i] if the own text of a node has terms[i].
func (m *Model) markOwn(n int32, terms []string, has []bool) {
	d := m.Document(m.IDs[n])
	for _, text := range [...]string{d.Name, d.Text, d.Properties} {
		semantic.Mark(text, terms, has)
	}
}
