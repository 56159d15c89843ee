package rank

import (
	"math"
	"strings"

	"waymark/internal/numeric"
	"waymark/learn/labels"
	"waymark/semantic"
)

const (
	nearRequests     = 30  // past requests that vote
	leastNeed        = .08 // a tool that a request needs less than that brings nothing else in
	mostClauses      = 8
	mostTexts        = 24  // best texts, from which the largest matches are read
	textCandidates   = 12  // of these, those that are candidates
	closedCandidates = 4   // of these, those whose requirements are candidates, too
	leastAssoc       = -1. // bounds of the association of a word with a tool
	mostAssoc        = 4.
)

// request is what the words of a request are evidence for, by tool. It must be closed.
type request struct {
	history *History
	near    []labels.Neighbour // past requests, the nearest first
	stems   []string
	known   float64 // share of words that past requests have

	ridge, votes, copies, best, nearSet []float64 // by tool
	besideMost, besideMean              []float64
	linear                              []float64 // sum of associations of the words, by √words
	strongest                           []float64 // strongest association of a word
	need                                []float64 // .6·ridge + .4·votes, in [0, 1], 0 below leastNeed
	needed                              []int32   // tools with a need
	required, direct                    []float64
	server                              map[int32]float64 // by server, the sum of needs
	places                              []float64         // by tool, ln(1 + place by ridge)
	total, size                         float64           // sum of needs, tools of the near requests

	text    *semantic.Matching
	clauses []*semantic.Matching
	top     []semantic.Hit // the best texts
	words   *semantic.Query
	most    struct{ text, words, near float64 }

	unusedPlace, unusedLinear, unusedStrongest float64 // of a tool that no task used
}

func (r *request) close() {
	r.text.Close()
	r.words.Close()
	for _, c := range r.clauses {
		c.Close()
	}
}

// request reads a request.
func (h *History) request(text string) *request {
	n := len(h.uses)
	block := make([]float64, 13*n)
	next := func() []float64 {
		v := block[:n:n]
		block = block[n:]
		return v
	}
	r := &request{
		history: h, ridge: next(), votes: next(), copies: next(), best: next(), nearSet: next(), besideMost: next(), besideMean: next(),
		linear: next(), strongest: next(), need: next(), required: next(), direct: next(), places: next(), server: map[int32]float64{},
	}
	r.stems = semantic.Stems(text)
	vector, _ := h.texts.vocabulary.Vector(r.stems)
	r.vote(vector)
	r.associate(vector)
	r.spread()
	r.match(text)
	return r
}

// vote lets the nearest past requests vote for the tools that they used.
func (r *request) vote(x labels.Vector) {
	h := r.history
	scores := h.ridge.Scores(nil, x)
	order := make([]Ranked, len(h.uses))
	for t, c := range h.column {
		if c >= 0 {
			r.ridge[t] = scores[c]
		}
		order[t] = Ranked{int32(t), r.ridge[t]}
	}
	for i, c := range best(order, len(order)) {
		t := c.Tool
		r.places[t] = numeric.Ln(float64(1 + i))
		if r.ridge[t] > 0 {
			r.unusedPlace = numeric.Ln(float64(2 + i))
		}
	}
	r.near = h.nearest.Of(x, nearRequests, -1)
	sum, sharp := 1e-6, 1e-6
	for i, v := range r.near {
		set := distinct(h.tasks[h.asked[v.Row]].Steps)
		s := v.Similarity
		s4 := float64(float64(s*s) * float64(s*s))
		sharp += s4
		for _, t := range set {
			if i < 10 {
				r.votes[t] += s
			}
			r.copies[t] += s4
			r.best[t] = max(r.best[t], s)
			if i == 0 {
				r.nearSet[t] = 1
			}
		}
		if i < 10 {
			sum += s
			r.size += float64(s * float64(len(set)))
		}
	}
	r.size /= sum
	for t := range r.votes {
		r.votes[t] /= sum
		r.copies[t] /= sharp
	}
}

// associate adds what each word speaks for: ln of how much more often than by chance tasks with the word use the tool,
//
//	ln((n(word, tool) + 2·p) / ((n(word) + 2)·p)),   p = share of tasks that use the tool.
func (r *request) associate(x labels.Vector) {
	h := r.history
	tasks := float64(len(h.tasks) + 1)
	known := 0
	r.unusedStrongest = leastAssoc
	for t := range r.strongest {
		r.strongest[t] = leastAssoc
	}
	for _, f := range x.I {
		if h.word[f] == 0 {
			continue
		}
		known++
		without := max(leastAssoc, min(0, numeric.Ln(2/(float64(h.word[f])+2))))
		r.unusedLinear += without
		r.unusedStrongest = max(r.unusedStrongest, without)
		counted := h.words.of(uint64(f))
		for t := range r.linear {
			r.linear[t] += without
			r.strongest[t] = max(r.strongest[t], without)
		}
		for i, t := range counted.tools {
			p := (float64(h.within[t]) + .5) / tasks
			a := numeric.Ln((float64(counted.n[i]) + float64(2*p)) / float64((float64(h.word[f])+2)*p))
			a = max(leastAssoc, min(mostAssoc, a))
			r.linear[t] += a - without
			r.strongest[t] = max(r.strongest[t], a)
		}
	}
	if known == 0 {
		clear(r.strongest)
		r.unusedStrongest = 0
	}
	by := math.Sqrt(max(1, float64(len(x.I))))
	for t := range r.linear {
		r.linear[t] /= by
	}
	r.unusedLinear /= by
	words, seen := 0, 0
	for _, s := range distinct(semantic.Tokens(strings.Join(r.stems, " "))) {
		words++
		if f, ok := h.texts.vocabulary.Feature(s); ok && h.word[f] > 0 {
			seen++
		}
	}
	r.known = float64(seen) / max(1, float64(words))
}

// spread lets the tools that the request surely needs bring in others: those used beside them, their server, and what
// they require.
func (r *request) spread() {
	h := r.history
	for t := range r.need {
		v := max(0, min(1, float64(.6*r.ridge[t])+float64(.4*r.votes[t])))
		if v < leastNeed {
			continue
		}
		r.need[t] = v
		r.needed = append(r.needed, int32(t))
		r.total += v
		if s := h.texts.tools[t].Server; s >= 0 {
			r.server[s] += v
		}
		for _, to := range h.texts.closure[t] {
			r.required[to] = max(r.required[to], v)
		}
		for _, to := range h.texts.tools[t].Requires {
			r.direct[to] = max(r.direct[to], v)
		}
	}
	for _, t := range r.needed {
		f, v := h.beside.of(key(t)), r.need[t]
		for i, to := range f.tools {
			p := float64(v * float64(f.n[i]) / (float64(h.within[t]) + 1))
			r.besideMost[to] = max(r.besideMost[to], p)
			r.besideMean[to] += p
		}
	}
	if r.total > 0 {
		for t := range r.besideMean {
			r.besideMean[t] /= r.total
		}
	}
}

// match compares the texts of the tools with the request and with each of its clauses.
func (r *request) match(text string) {
	h := r.history
	r.text = h.texts.matcher.Match(text)
	r.words = h.texts.index.Query(text, nil)
	r.top = r.text.Top(nil, mostTexts, 1)
	for _, hit := range r.top {
		r.most.text = max(r.most.text, r.text.Of(hit.Doc))
		r.most.words = max(r.most.words, r.words.Of(hit.Doc).Lexical)
		r.most.near = max(r.most.near, r.text.Near(hit.Doc))
	}
	if parts := clauses(text); len(parts) > 1 {
		for _, c := range parts {
			r.clauses = append(r.clauses, h.texts.matcher.Match(c))
		}
	}
}

// clauses splits a request where it asks for several things.
func clauses(text string) []string {
	text = strings.NewReplacer(" and ", "\n", " then ", "\n", " und ", "\n").Replace(text)
	var parts []string
	for _, c := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".,;:!?\n", r) }) {
		if c = strings.TrimSpace(c); len(c) > 3 && len(parts) < mostClauses {
			parts = append(parts, c)
		}
	}
	return parts
}

// candidates appends the tools that a request may need: the best by a rough sum, those whose text fits best, and what
// the best require.
func (r *request) candidates(dst []int32, most int) []int32 {
	h := r.history
	list := make([]Ranked, len(r.ridge))
	for t := range list {
		list[t] = Ranked{int32(t), r.ridge[t] + float64(.5*r.votes[t]) + float64(.3*r.copies[t]) + float64(.025*r.linear[t]) +
			float64(.3*r.besideMost[t]) + float64(.2*r.required[t])}
	}
	for _, hit := range r.top {
		list[hit.Doc].Score += float64(.15 * hit.Score)
	}
	for _, c := range best(list, most) {
		dst = append(dst, c.Tool)
	}
	for i, hit := range r.top[:min(textCandidates, len(r.top))] {
		dst = append(dst, hit.Doc)
		if i < closedCandidates {
			dst = append(dst, h.texts.closure[hit.Doc]...)
		}
	}
	return dst
}
