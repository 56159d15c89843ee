package next

import (
	"cmp"
	"math"
	"slices"

	"waymark/numeric"
	"waymark/predict/maxent"
	"waymark/predict/sequence"
)

// A Request is what the words of a request say, worked out once and used for every step of its task.
type Request struct {
	text     []sequence.Vote // tools whose texts are like it
	words    []sequence.Vote // tools that tasks with the same words used
	near     []past          // past tasks with the nearest requests
	total    float64         // Σ similarity² of near, + .1
	features []maxent.Feature
}

type past struct {
	task       int32
	similarity float64
}

// Ask works out a request: its words ascending, and the tools whose texts are like it.
//
// The nearest requests are those of the largest cosine of TF-IDF vectors. A tool t gains from each
// word w the log ratio ln(((n(w,t) + 2·b)/(n(w) + 2))/b) where that is positive, b the share of tasks
// that use t; the sum is divided by √(words+1).
func (h *History) Ask(words []Word, text []sequence.Vote) *Request {
	r := &Request{text: text, features: h.wordFeatures(words), total: .1}
	similarity := map[int32]float64{}
	gains := map[int32]float64{}
	length := 0.0
	for _, w := range words {
		x := h.idf(w.ID) * float64(w.Mass)
		length += float64(x * x)
	}
	length = math.Sqrt(length)
	N := float64(len(h.tasks) + 1)
	for _, w := range words {
		row := h.words[w.ID]
		if row == nil {
			continue
		}
		n := float64(len(row.tasks))
		if len(row.tasks) <= h.asked/common+20 {
			idf := h.idf(w.ID)
			x := float64(idf*float64(w.Mass)) / length * idf
			for _, e := range row.tasks {
				similarity[e] += float64(x * float64(h.mass(e, w.ID)))
			}
		}
		for _, c := range row.tools.Counts {
			b := (float64(h.using[c.Tool]) + .5) / N
			if x := numeric.Ln((float64(c.N) + float64(2*b)) / float64((n+2)*b)); x > 0 {
				gains[c.Tool] += x
			}
		}
	}
	for e, s := range similarity {
		r.near = append(r.near, past{e, s / h.norm(e)})
	}
	slices.SortFunc(r.near, func(a, b past) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(b.task, a.task))
	})
	r.near = slices.Clone(r.near[:min(len(r.near), pastN)])
	for _, x := range r.near {
		r.total += float64(x.similarity * x.similarity)
	}
	scale := math.Sqrt(float64(len(words) + 1))
	for t, x := range gains {
		r.words = append(r.words, sequence.Vote{Tool: t, Share: x / scale})
	}
	slices.SortFunc(r.words, func(a, b sequence.Vote) int { return cmp.Compare(a.Tool, b.Tool) })
	return r
}

// mass is the mass of a word in a past request.
func (h *History) mass(task, word int32) float32 {
	ws := h.tasks[task].Request
	i, _ := slices.BinarySearchFunc(ws, word, func(w Word, id int32) int { return cmp.Compare(w.ID, id) })
	return ws[i].Mass
}

// norm is the length of the TF-IDF vector of a past request.
func (h *History) norm(task int32) float64 {
	s := 0.0
	for _, w := range h.tasks[task].Request {
		x := h.idf(w.ID) * float64(w.Mass)
		s += float64(x * x)
	}
	return math.Sqrt(s)
}

// wordFeatures are the words for the residual model, together of length 2.
func (h *History) wordFeatures(words []Word) []maxent.Feature {
	features := make([]maxent.Feature, 0, len(words))
	s := 0.0
	for _, w := range words {
		x := h.idf(w.ID) * float64(w.Mass)
		s += float64(x * x)
		features = append(features, maxent.Feature{Key: sequence.Key(kindWord, w.ID), Value: float32(x)})
	}
	for i := range features {
		features[i].Value *= float32(2 / math.Sqrt(s))
	}
	return features
}
