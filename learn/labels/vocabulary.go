package labels

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/numeric"
)

// Vector is a sparse vector: component I[k] is V[k], I increasing.
type Vector struct {
	I []int32
	V []float64
}

// At is component f.
func (x Vector) At(f int32) float64 {
	if k, ok := slices.BinarySearch(x.I, f); ok {
		return x.V[k]
	}
	return 0
}

// A Word is a feature at its place in a text: token At, of which there are as many as the text has.
type Word struct {
	Feature int32
	At      int32
}

// Vocabulary turns the tokens of a text into a vector,
//
//	v[f] = (1 + ln tf) · idf,   idf = 1 + ln((n + 1) / (df + 1)),   ‖v‖ = 1,
//
// over words and, unless it is one of words alone, pairs of neighbouring words and pairs with one word
// between. Features that only one text has are in the length of that
// text and nowhere else, and so are those that a new text brings: what nobody has said before makes a
// text less like all others. It is immutable and safe for concurrent use.
type Vocabulary struct {
	feature map[string]int32
	idf     []float64
	rare    float64 // idf of a feature of one text
	reach   int     // pairs are of words at most so far apart, 0: there are none
}

// pairsWithin is how far apart the words of a pair stand at most.
const pairsWithin = 2

// NewVocabulary counts the features of texts, given as tokens. It returns the vector of each.
func NewVocabulary(texts [][]string) (*Vocabulary, []Vector) {
	return newVocabulary(texts, pairsWithin)
}

// NewWords is [NewVocabulary] of words alone.
func NewWords(texts [][]string) (*Vocabulary, []Vector) { return newVocabulary(texts, 0) }

// newVocabulary keeps the features of two texts or more and numbers them in alphabetical order.
func newVocabulary(texts [][]string, reach int) (*Vocabulary, []Vector) {
	df := map[string]int32{}
	for _, tokens := range texts {
		seen := map[string]bool{}
		each(tokens, reach, func(f string, _ int) {
			if !seen[f] {
				seen[f] = true
				df[f]++
			}
		})
	}
	kept := make([]string, 0, len(df))
	for f, n := range df {
		if n > 1 {
			kept = append(kept, f)
		}
	}
	slices.Sort(kept)
	n := float64(len(texts))
	idf := func(df float64) float64 { return 1 + numeric.Ln((n+1)/(df+1)) }
	v := &Vocabulary{feature: make(map[string]int32, len(kept)), idf: make([]float64, len(kept)), rare: idf(1), reach: reach}
	for i, f := range kept {
		v.feature[f], v.idf[i] = int32(i), idf(float64(df[f]))
	}
	rows := make([]Vector, len(texts))
	for i, tokens := range texts {
		rows[i], _ = v.Vector(tokens)
	}
	return v, rows
}

// Len is the number of features.
func (v *Vocabulary) Len() int { return len(v.idf) }

// Feature returns the number of a feature, if some texts have it.
func (v *Vocabulary) Feature(feature string) (int32, bool) {
	f, ok := v.feature[feature]
	return f, ok
}

// Rarity is the idf of a feature.
func (v *Vocabulary) Rarity(feature string) float64 {
	if id, ok := v.feature[feature]; ok {
		return v.idf[id]
	}
	return v.rare
}

// Vector is the vector of a text and the places of its features, by token.
func (v *Vocabulary) Vector(tokens []string) (Vector, []Word) {
	tf := map[int32]float64{}
	other := map[string]float64{}
	var words []Word
	each(tokens, v.reach, func(f string, at int) {
		if id, ok := v.feature[f]; ok {
			tf[id]++
			words = append(words, Word{id, int32(at)})
		} else {
			other[f]++
		}
	})
	x := Vector{I: make([]int32, 0, len(tf))}
	for f := range tf {
		x.I = append(x.I, f)
	}
	slices.Sort(x.I)
	x.V = make([]float64, len(x.I))
	square := 0.0
	for k, f := range x.I {
		x.V[k] = float64((1 + numeric.Ln(tf[f])) * v.idf[f])
		square += float64(x.V[k] * x.V[k])
	}
	counts := make([]float64, 0, len(other))
	for _, n := range other {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	for _, n := range counts {
		w := float64((1 + numeric.Ln(n)) * v.rare)
		square += float64(w * w)
	}
	if square > 0 {
		length := math.Sqrt(square)
		for k := range x.V {
			x.V[k] /= length
		}
	}
	slices.SortFunc(words, func(a, b Word) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Feature, b.Feature)) })
	return x, words
}

// each calls f with every word and every pair of words within reach.
func each(tokens []string, reach int, f func(feature string, at int)) {
	for i, t := range tokens {
		f(t, i)
		for back := 1; back <= min(reach, i); back++ {
			f(tokens[i-back]+"  "[:back]+t, i)
		}
	}
}

// Dot is Σ x[f]·y[f].
func Dot(x, y Vector) float64 {
	sum, j := 0.0, 0
	for i, f := range x.I {
		for j < len(y.I) && y.I[j] < f {
			j++
		}
		if j < len(y.I) && y.I[j] == f {
			sum += float64(x.V[i] * y.V[j])
		}
	}
	return sum
}
