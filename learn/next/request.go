package next

import (
	"cmp"
	"math"
	"slices"

	"waymark/learn/choice"
	"waymark/learn/sequence"
)

// A Request is what the words of a request say, worked out once and used for every step of its task.
// Its zero value is ready for [History.AskInto].
type Request struct {
	text     []sequence.Vote // tools whose texts are like it
	words    []sequence.Vote // tools that tasks with the same words used, ascending
	near     []past          // past tasks with the nearest requests, nearest first
	total    float64         // Σ similarity² of near, + .1
	features []choice.Feature

	similarity, gains  []float64
	similarTo, gaining []int32
}

// past is a past task and the similarity of its request.
type past struct {
	task       int32
	similarity float64
}

// Ask works out a request: its words ascending, and the tools whose texts are like it.
func (h *History) Ask(words []Word, text []sequence.Vote) *Request {
	r := &Request{}
	h.AskInto(words, text, r)
	return r
}

// AskInto works out a request in a Request used before, without allocating once that is warm. The
// Request keeps text.
//
// The nearest requests are those of the largest cosine of TF-IDF vectors, where a word frequent in
// a long history finds only the newest 2,000 of its requests. A tool t gains from each
// word w the log ratio ln(((n(w,t) + 2·b)/(n(w) + 2))/b) where that is positive, b the share of tasks
// that use t; the sum is divided by √(words+1).
func (h *History) AskInto(words []Word, text []sequence.Vote, r *Request) {
	r.text, r.total = text, .1
	r.features = h.wordFeatures(words, r.features[:0])
	if len(r.similarity) < len(h.tasks) {
		r.similarity = make([]float64, len(h.tasks)+len(h.tasks)/4)
	}
	if len(r.gains) < h.chain.Tools() {
		r.gains = make([]float64, h.chain.Tools())
	}
	length := h.norm(words)
	N := float64(len(h.tasks) + 1)
	for _, w := range words {
		row := h.requests.words[w.ID]
		if row == nil {
			continue
		}
		n := float64(len(row.tasks))
		if len(row.tasks) <= h.requests.asked/common+20 {
			idf := h.idf(w.ID)
			x := float64(idf*float64(w.Mass)) / length * idf
			for _, m := range row.tasks[max(0, len(row.tasks)-found):] {
				if r.similarity[m.task] == 0 {
					r.similarTo = append(r.similarTo, m.task)
				}
				r.similarity[m.task] += float64(x * float64(m.mass))
			}
		}
		for _, c := range row.tools.Counts {
			b := (float64(h.using[c.Tool]) + .5) / N
			if x := (float64(c.N) + float64(2*b)) / float64((n+2)*b); x > 1 {
				if r.gains[c.Tool] == 0 {
					r.gaining = append(r.gaining, c.Tool)
				}
				r.gains[c.Tool] += ln(x)
			}
		}
	}
	r.near = r.near[:0]
	for _, e := range r.similarTo {
		r.near = sequence.Keep(r.near, past{e, r.similarity[e] / h.requests.norms[e]}, pastN, nearer)
		r.similarity[e] = 0
	}
	r.similarTo = r.similarTo[:0]
	for _, x := range r.near {
		r.total += float64(x.similarity * x.similarity)
	}
	scale := math.Sqrt(float64(len(words) + 1))
	slices.Sort(r.gaining)
	r.words = r.words[:0]
	for _, t := range r.gaining {
		r.words = append(r.words, sequence.Vote{Tool: t, Share: r.gains[t] / scale})
		r.gains[t] = 0
	}
	r.gaining = r.gaining[:0]
}

func nearer(a, b past) int {
	return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(b.task, a.task))
}

// norm is the length of the TF-IDF vector of a request.
func (h *History) norm(words []Word) float64 {
	s := 0.0
	for _, w := range words {
		x := h.idf(w.ID) * float64(w.Mass)
		s += float64(x * x)
	}
	return math.Sqrt(s)
}

// measure keeps the lengths of the requests' vectors. Every task changes how rare words are, if little,
// so all are worked out anew whenever the history has grown by a 32nd.
func (h *History) measure() {
	if len(h.tasks) < h.requests.remeasure {
		h.requests.norms = append(h.requests.norms, h.norm(h.tasks[len(h.tasks)-1].Request))
		return
	}
	h.requests.norms = h.requests.norms[:0]
	for _, t := range h.tasks {
		h.requests.norms = append(h.requests.norms, h.norm(t.Request))
	}
	h.requests.remeasure = len(h.tasks) + len(h.tasks)/32 + 1
}

// Expect says that n tasks will be observed before anything is asked: vectors are measured the last time that n tasks
// need it, and not before, where nobody looks at them.
func (h *History) Expect(n int) {
	for at := 1; at <= n; at += at/32 + 1 {
		h.requests.remeasure = at
	}
}

// wordFeatures appends the words for the residual model, together of length 2.
func (h *History) wordFeatures(words []Word, features []choice.Feature) []choice.Feature {
	s := 0.0
	for _, w := range words {
		x := h.idf(w.ID) * float64(w.Mass)
		s += float64(x * x)
		features = append(features, choice.Feature{Key: sequence.Key(kindWord, w.ID), Value: float32(x)})
	}
	for i := range features {
		features[i].Value *= float32(2 / math.Sqrt(s))
	}
	return features
}
