package labels

import (
	"maps"
	"slices"

	"waymark/internal/codec"
)

// Write writes the vocabulary for [ReadVocabulary].
func (v *Vocabulary) Write(w *codec.Writer) {
	w.Texts(slices.Sorted(maps.Keys(v.feature))) // features are numbered in this order
	w.Floats(v.idf)
	w.Float(v.rare)
	w.Uint(uint64(v.reach))
}

// ReadVocabulary reads what [Vocabulary.Write] wrote. What is damaged fails r.
func ReadVocabulary(r *codec.Reader) *Vocabulary {
	texts := r.Texts()
	v := &Vocabulary{feature: make(map[string]int32, len(texts)), idf: r.Floats(), rare: r.Float(), reach: int(r.Uint())}
	for i, f := range texts {
		v.feature[f] = int32(i)
	}
	if v.reach > pairsWithin || v.reach < 0 {
		r.Fail("pairs of words %d apart, where %d is the most", v.reach, pairsWithin)
		return &Vocabulary{}
	}
	if len(v.feature) != len(v.idf) || !slices.IsSorted(texts) {
		r.Fail("%d features in order wanted, %d given", len(v.idf), len(v.feature))
		return &Vocabulary{}
	}
	return v
}

// Write writes what answers new texts, for [ReadRidge]: the model is written as after [Ridge.Forget].
func (r *Ridge) Write(w *codec.Writer) {
	w.Floats(r.mean)
	r.w.write(w)
}

// ReadRidge reads what [Ridge.Write] wrote of a model of so many features and labels. What is damaged
// fails r, and what is then returned still fits them.
func ReadRidge(r *codec.Reader, features, labels int) *Ridge {
	m := &Ridge{labels: labels, mean: r.Floats(), w: readWeights(r, features, labels)}
	if len(m.mean) != labels {
		r.Fail("%d means of %d labels", len(m.mean), labels)
		return &Ridge{w: &weights{}}
	}
	return m
}

// Write writes the rows for [ReadNearest].
func (ix *Nearest) Write(w *codec.Writer) {
	w.Uint(uint64(ix.rows))
	w.Uint(uint64(len(ix.post)))
	for _, list := range ix.post {
		rows, values := make([]int32, len(list)), make([]float64, len(list))
		for i, p := range list {
			rows[i], values[i] = p.row, p.value
		}
		w.Ints(rows)
		w.Floats(values)
	}
}

// ReadNearest reads what [Nearest.Write] wrote, of so many rows and features. What is damaged fails r.
func ReadNearest(r *codec.Reader, rows, features int) *Nearest {
	if n := r.Uint(); n != uint64(rows) {
		r.Fail("%d rows where there are %d", n, rows)
	}
	if n := r.Len(2); n != features {
		r.Fail("%d lists of %d features", n, features)
		return &Nearest{}
	}
	ix := &Nearest{rows: rows, post: make([][]posting, features)}
	for f := range ix.post {
		of, values := r.Ints(), r.Floats()
		if len(of) != len(values) {
			r.Fail("%d rows with %d values", len(of), len(values))
			return &Nearest{}
		}
		list := make([]posting, len(of))
		for i, row := range of {
			if row < 0 || int(row) >= rows {
				r.Fail("%d is not one of %d rows", row, rows)
				return &Nearest{}
			}
			list[i] = posting{row, values[i]}
		}
		ix.post[f] = list
	}
	return ix
}
