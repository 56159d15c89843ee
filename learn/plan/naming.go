package plan

import "waymark/internal/numeric"

// naming finds names by the words in them.
type naming struct {
	of     map[string][]int32 // word → names
	idf    map[string]float64
	length []float64 // Σ idf over the words of a name
}

// newNaming weighs a word by ln(1 + names/names that have it): a word that all names have says little.
func newNaming(names [][]string) naming {
	x := naming{map[string][]int32{}, map[string]float64{}, make([]float64, len(names))}
	for i, name := range names {
		for _, word := range distinct(name) {
			x.of[word] = append(x.of[word], int32(i))
		}
	}
	for word, of := range x.of {
		x.idf[word] = numeric.Ln(1 + float64(len(names))/float64(len(of)))
	}
	for i, name := range names {
		for _, word := range distinct(name) {
			x.length[i] += x.idf[word]
		}
	}
	return x
}

// shares are the shares of the words of every name, by idf, that stand among tokens.
func (x *naming) shares(tokens []string) []float32 {
	s := make([]float32, len(x.length))
	for _, word := range distinct(tokens) {
		for _, i := range x.of[word] {
			s[i] += float32(x.idf[word] / x.length[i])
		}
	}
	return s
}
