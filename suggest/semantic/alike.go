package semantic

import (
	"math"

	"waymark/internal/numeric"
)

// A word of a request may stand for a word of the index with similar usage, by the cosine of their vectors:
//
//	near(w, u) = 0.7 · (cos(w, u) - 0.4) / 0.6, of the 16 nearest words u
//
// Chosen on the development half of hand-written requests for single tools; with alikeMost between 0.4 and 1 and floors
// from 0.3 to 0.5 the mean reciprocal rank changes by less than 0.01.
const (
	alikeMost  = 0.7
	alikeFloor = 0.4
	alikeKept  = 16
)

// termVectors are the vectors of those terms that have one, in eight bits per component.
type termVectors struct {
	term  []int32
	width int // dimension, padded with zeros to a multiple of 16
	code  []int8
	scale []float32
}

func newTermVectors(dimension int) termVectors {
	return termVectors{width: (dimension + 15) &^ 15}
}

// add appends the vector of a term.
func (v *termVectors) add(term int32, x []float64) {
	most, norm := 0.0, 0.0
	for _, y := range x {
		most = max(most, math.Abs(y))
		norm += float64(y * y)
	}
	if most == 0 {
		return
	}
	v.term, v.scale = append(v.term, term), append(v.scale, float32(most/127/math.Sqrt(norm)))
	at := len(v.code)
	v.code = append(v.code, make([]int8, v.width)...)
	for i, y := range x {
		v.code[at+i] = int8(math.Round(y / most * 127))
	}
}

// findAlike adds variants for the terms with usage similar to the words of the request.
func (x *Matching) findAlike() {
	m := x.matcher
	if m.vectors == nil || len(m.terms.term) == 0 {
		return
	}
	x.row = grown(x.row, m.places.dimension)
	for i := range x.words {
		w := &x.words[i]
		if w.idf == 0 || w.weak || !m.vectors.Vector(x.row, x.stems[i]) {
			continue
		}
		x.nearest = m.terms.nearest(x.nearest[:0], x.row, &x.codeScan)
		for _, h := range x.nearest {
			if m.index.words.terms[h.Doc] != x.stems[i] {
				near, terms := float64(alikeMost*(h.Score-alikeFloor)/(1-alikeFloor)), []int32{h.Doc}
				x.variants = append(x.variants, variant{i, terms, float64(near * x.idfRatio(terms, w.idf))})
			}
		}
	}
}

// codeScan is the scratch memory for a comparison with all codes.
type codeScan struct {
	query []int16
	dots  []int32
}

// nearest appends the terms with a cosine above alikeFloor, the nearest first: at most alikeKept and the word itself.
// Codes are integers, so their products are the same on every machine.
func (v *termVectors) nearest(dst []Hit, x []float64, s *codeScan) []Hit {
	const steps = 4095 // 127·4095·width fits 32 bits
	most, norm := 0.0, 0.0
	for _, y := range x {
		most = max(most, math.Abs(y))
		norm += float64(y * y)
	}
	if most == 0 {
		return dst
	}
	s.query, s.dots = grown(s.query, v.width), grown(s.dots, len(v.term))
	clear(s.query)
	for i, y := range x {
		s.query[i] = int16(math.Round(y / most * steps))
	}
	codeDots(s.query, v.code, s.dots)
	unit := most / steps / math.Sqrt(norm)
	for i, d := range s.dots {
		if c := float64(float64(float64(d)*float64(v.scale[i])) * unit); c > alikeFloor {
			dst = numeric.Keep(dst, alikeKept+1, Hit{v.term[i], min(1, c)}, better)
		}
	}
	return dst
}

// codeDots multiplies a query with rows of codes.
func codeDots(query []int16, code []int8, out []int32) {
	w := len(query)
	if fast {
		codesAVX2(&query[0], &code[0], w, len(out), &out[0])
		return
	}
	for r := range out {
		sum := int32(0)
		for i, c := range code[r*w : (r+1)*w] {
			sum += int32(query[i]) * int32(c)
		}
		out[r] = sum
	}
}
