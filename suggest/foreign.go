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

// A request is foreign where nothing in the catalog or the history serves it. With the informative words w of the
// request (no stop words, no words that any request may have, no numbers, no names but those of the catalog), each of
// weight idf(w),
//
//	world      mean of what the texts of public tools know: 1 for a word of the word vectors, else 0
//	together   share of words that one tool or past request has beside another word of the request, if that has another
//	near       mean nearness by word vectors of the eight tools that match best
//	size       log2(tools / 128): among more, the nearest by chance are nearer
//
//	served = 1/(1 + e^-(bias + Σ weight·feature))
//
// A text of 128 that matches to 0.36 serves; among more, the best match by chance is better. A request as like a past one as
// recentCopy is served with that likeness at least. One of numbers, stop words and words that any request may have is served
// where it has a name, or where it was asked before.
//
// The weights come from a logistic regression over requests, the same requests reworded and single needs of ten catalogs, from 30
// tools to 17,000, without their histories, and over the wishes in lab/firstcontact/testdata and in learn/rank/foreign.go. Each
// catalog, class and kind of request weighs alike. The regression was run by hand; lab/firstcontact measures it.
var servedWeights = struct{ bias, world, together, near, size float64 }{-5.15, 2.63, 5.23, 12.5, -.434}

const (
	foreignBelow = 0.3  // a request is called foreign below this probability of being served
	bestTexts    = 8    // of which the mean is taken
	certain      = 0.36 // match of a text that serves, of 128
	perDoubling  = 0.04 // more for each doubling of their number
	leastTools   = 16   // of which size is counted
	verbatim     = 0.99 // likeness of a past request with the same words
)

// served is the probability that the intent can be served.
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

// servedBy is the probability by the informative words alone.
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

// nearness is how well the best text matches, and how near those that match best are by word vectors.
func (q *query) nearness(x *semantic.Matching) (best float64, near []float64) {
	q.hits = x.Top(q.hits[:0], bestTexts, 1)
	for _, h := range q.hits {
		best, near = max(best, x.Of(h.Doc)), append(near, x.Near(h.Doc))
	}
	return best, near
}

// informative are the terms of the intent that say what it is about, each once.
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

// markOwn marks the terms that a node's own text has.
func (m *Model) markOwn(n int32, terms []string, has []bool) {
	d := m.Document(m.IDs[n])
	for _, text := range [...]string{d.Name, d.Text, d.Properties} {
		semantic.Mark(text, terms, has)
	}
}
