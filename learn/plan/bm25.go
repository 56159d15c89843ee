package plan

import (
	"cmp"
	"slices"
	"strings"

	"waymark/internal/numeric"
	"waymark/learn/labels"
	"waymark/semantic"
)

// bm25 is the probabilistic ranking function over whole documents, words of names counting twice
// (Robertson and Zaragoza, 2009), with k1 1.2 and b .75.
type bm25 struct {
	post map[string][]labels.Label // word → documents and what it adds to their score
	n    int
}

// newBM25 computes the contribution of each word to each document beforehand, idf·tf·(k1+1)/(tf +
// k1·(1-b+b·|d|/mean)), so that a query only adds.
func newBM25(docs [][]string) *bm25 {
	ix := &bm25{map[string][]labels.Label{}, len(docs)}
	mean := 0.0
	for _, d := range docs {
		mean += float64(len(d))
	}
	mean = max(mean/float64(max(len(docs), 1)), 1)
	for i, d := range docs {
		d = slices.Clone(d)
		slices.Sort(d)
		for j := 0; j < len(d); {
			k := j
			for k < len(d) && d[k] == d[j] {
				k++
			}
			tf := float64(k - j)
			norm := float64(1.2 * (.25 + float64(.75*float64(len(d)))/mean))
			ix.post[d[j]] = append(ix.post[d[j]], labels.Label{Label: int32(i), Value: tf * 2.2 / (tf + norm)})
			j = k
		}
	}
	for _, p := range ix.post {
		idf := numeric.Ln(1 + (float64(len(docs)-len(p))+.5)/(float64(len(p))+.5))
		for i := range p {
			p[i].Value *= idf
		}
	}
	return ix
}

// has reports whether any document has a word.
func (ix *bm25) has(word string) bool { return len(ix.post[word]) > 0 }

// scores of all documents for the distinct words of a query.
func (ix *bm25) scores(words []string) []float64 {
	s := make([]float64, ix.n)
	for _, w := range distinct(words) {
		for _, p := range ix.post[w] {
			s[p.Label] += p.Value
		}
	}
	return s
}

// A clause is a part of a request, and what it says.
type clause struct {
	text   string
	tokens []string
}

// clauses are the parts of a request between marks of punctuation and the words "and" and "then", if
// they have more than one word that says something.
func clauses(request string) []clause {
	var out []clause
	for _, part := range strings.FieldsFunc(request, func(r rune) bool { return strings.ContainsRune(".?!;,:\n。，；？！", r) }) {
		for _, and := range strings.Split(part, " and ") {
			for _, text := range strings.Split(and, " then ") {
				if tokens := semantic.Tokens(text); len(tokens) > 1 {
					out = append(out, clause{text, tokens})
				}
			}
		}
	}
	return out
}

// byScore orders labels by falling value, then number.
func byScore(a, b labels.Label) int {
	return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Label, b.Label))
}
