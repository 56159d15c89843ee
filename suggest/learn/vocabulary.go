package learn

import (
	"math"
	"slices"
	"strings"

	"waymark/internal/numeric"
)

// Vector is a sparse vector: component I[k] is V[k], I increasing.
type Vector struct {
	I []int32
	V []float64
}

// Vocabulary turns the tokens of a text into a vector,
//
//	v[f] = (1 + ln tf) · weight · idf,   idf = 1 + ln((n + 1) / (df + 1)),   ‖v‖ = 1,
//
// over words, pairs of neighbouring words and pairs with one word between; the weight of a pair is the mean weight of
// its words. Features that only one text has, and features of a new text that no text has, count in the length of that
// text but are no components: unknown words make a text less similar to all others. A Vocabulary is immutable and safe
// for concurrent use.
type Vocabulary struct {
	feature map[string]int32
	idf     []float64
	rare    float64 // idf of a feature of one text
	weight  func(token string) float64
}

// pairsWithin is the maximum distance between the words of a pair.
const pairsWithin = 2

// NewVocabulary counts the features of texts, given as tokens, and returns the vector of each text; weight returns the
// weight of a token. It keeps the features of two texts or more and numbers them in alphabetical order.
func NewVocabulary(texts [][]string, weight func(token string) float64) (*Vocabulary, []Vector) {
	df := map[string]int32{}
	for _, tokens := range texts {
		seen := map[string]bool{}
		each(tokens, func(f string) {
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
	v := &Vocabulary{feature: make(map[string]int32, len(kept)), idf: make([]float64, len(kept)), rare: idf(1), weight: weight}
	for i, f := range kept {
		v.feature[f], v.idf[i] = int32(i), float64(idf(float64(df[f]))*v.weightOf(f))
	}
	rows := make([]Vector, len(texts))
	for i, tokens := range texts {
		rows[i] = v.Vector(tokens)
	}
	return v, rows
}

// Len returns the number of features.
func (v *Vocabulary) Len() int { return len(v.idf) }

// Feature returns the number of a feature; false if fewer than two texts have it.
func (v *Vocabulary) Feature(feature string) (int32, bool) {
	f, ok := v.feature[feature]
	return f, ok
}

// Vector returns the vector of a text.
func (v *Vocabulary) Vector(tokens []string) Vector {
	tf := map[int32]float64{}
	other := map[string]float64{}
	each(tokens, func(f string) {
		if id, ok := v.feature[f]; ok {
			tf[id]++
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
	alone := make([]float64, 0, len(other))
	for f, n := range other {
		alone = append(alone, float64((1+numeric.Ln(n))*v.rare*v.weightOf(f)))
	}
	slices.Sort(alone)
	for _, w := range alone {
		square += float64(w * w)
	}
	if square > 0 {
		length := math.Sqrt(square)
		for k := range x.V {
			x.V[k] /= length
		}
	}
	return x
}

// weightOf returns the weight of a word, or the mean weight of the words of a pair.
func (v *Vocabulary) weightOf(feature string) float64 {
	first, rest, pair := strings.Cut(feature, " ")
	if !pair {
		return v.weight(first)
	}
	return (v.weight(first) + v.weight(strings.TrimLeft(rest, " "))) / 2
}

// each calls f with every word and every pair of words at most pairsWithin apart.
func each(tokens []string, f func(feature string)) {
	for i, t := range tokens {
		f(t)
		for back := 1; back <= min(pairsWithin, i); back++ {
			f(tokens[i-back] + "  "[:back] + t)
		}
	}
}
