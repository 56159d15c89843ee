package suggest

import (
	"strings"
	"unicode"

	"waymark/internal/numeric"
	"waymark/suggest/semantic"
)

// A request is foreign where nothing in the catalog or the history serves it. With the informative words w of the
// request (no stop words, no words that any request may have, no numbers, no names but those of the catalog), each of
// weight idf(w),
//
//	best       match of the best text
//	mean       mean match of the eight best texts
//	world      mean of what the texts of public tools know: 1 for a word of the word vectors, else 0
//	together   share of words that one tool or past request has beside another word of the request, if that has another
//
//	served = 1/(1 + e^-(bias + Σ weight·feature))
//
// A text of 128 that matches to 0.31 serves; among more, the best match by chance is better, by about 0.03 for each
// doubling. A request as like a past one as recentCopy is served with that likeness at least. One of numbers, stop words and words
// that any request may have is served where it has a name, or where it was asked before.
//
// The weights come from a logistic regression over requests and needs of six data sets, one of them a catalog of 17,000
// tools without a history, and the wishes in lab/firstcontact/testdata, each set and class weighing alike. The regression was
// run by hand; lab/firstcontact measures it.
var servedWeights = struct{ bias, best, mean, world, together float64 }{-3.0, 1.65, 1.5, 3.45, 3.34}

const (
	foreignBelow = 0.3  // a request is called foreign below this probability of being served
	bestTexts    = 8    // of which the mean is taken
	certain      = 0.31 // match of a text that serves, of 128
	perDoubling  = 0.03 // more for each doubling of their number
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
	collections := append(q.unindexed(), matcher)
	s := &servedWeights
	z := s.bias
	for i, o := range semantic.Occurrences(terms, collections...) {
		share := weight[i] / total
		if semantic.DefaultWordVectors().Has(terms[i]) {
			z += float64(share * s.world)
		}
		if o.Together || len(words) == 1 && o.Texts > 0 {
			z += float64(share * s.together)
		}
	}
	q.hits = q.matching().Top(q.hits[:0], bestTexts, 0)
	for i, h := range q.hits {
		if i == 0 {
			if h.Score >= certain+float64(perDoubling*numeric.Log2(float64(matcher.Len())/128)) {
				return 1
			}
			z += float64(s.best * h.Score)
		}
		z += float64(s.mean * h.Score / bestTexts)
	}
	return 1 / (1 + numeric.Exp(-z))
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
