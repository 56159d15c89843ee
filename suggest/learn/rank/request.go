package rank

import (
	"math"
	"slices"
	"strings"

	"waymark/internal/numeric"
	"waymark/suggest/learn"
	"waymark/suggest/semantic"
)

const (
	nearRequests     = 30   // nearest past requests, which count for copies
	mostVoters       = 10   // nearest past requests that vote
	fewVotes         = .5   // added to the sum of similarities that votes are divided by: few words in common say little
	fewCopies        = .005 // added to the sum of similarity⁴ that copies are divided by
	leastNeed        = .08  // a tool with less need does not bring in other tools
	mostClauses      = 8
	mostTexts        = 24  // best texts, from which the largest matches are taken
	filteredTexts    = 960 // best texts, among which allowed tools are searched
	requiringTexts   = 8   // best texts whose requirements count
	textCandidates   = 24  // best texts whose tools are candidates
	closedCandidates = 4   // best texts whose requirements are candidates, too
	leastAssoc       = -1. // bounds of the association of a word with a tool
	mostAssoc        = 4.
)

// evidence holds the evidence from the words of a request for one tool.
type evidence struct {
	ridge, votes, copies, best, nearSet float64
	besideMost, besideMean              float64
	linear                              float64 // sum of the associations of the words, divided by √words
	strongest                           float64 // strongest association of a word
	need                                float64 // see [need]; 0 below leastNeed
}

// request is a request with the evidence from its words. It must be closed.
type request struct {
	history *History
	near    []learn.Neighbour // past requests, the nearest first
	said    string
	stems   []string
	asks    asks
	known   float64 // share of the words that occur in past requests

	used             []evidence // by column
	unused           evidence   // of a tool that no task used
	scores           []float64  // scores of the regression, by column
	needed           []int32    // tools whose need is at least leastNeed
	required, direct map[int32]float64
	requiredText     map[int32]float64
	server           map[int32]float64 // by server, the sum of needs
	total, size      float64           // sum of needs; mean number of tools of the near requests
	likely           []Ranked          // the best tools by a rough sum

	text    *semantic.Matching
	clauses []*semantic.Matching
	top     []semantic.Hit // the best texts
	most    struct{ text, near float64 }
}

func (r *request) close() {
	r.text.Close()
	for _, c := range r.clauses {
		c.Close()
	}
}

// request computes the evidence of a request. Only allowed tools become candidates; a nil situation allows all tools.
func (h *History) request(text string, of *Situation) *request {
	var allowed func(tool int32) bool
	if of != nil {
		allowed = of.Allowed
	}
	r := &request{history: h, said: text, stems: semantic.Stems(text), asks: asksOf(text), used: make([]evidence, len(h.used)),
		required: map[int32]float64{}, direct: map[int32]float64{}, requiredText: map[int32]float64{}, server: map[int32]float64{}}
	vector := h.texts.vocabulary.Vector(r.stems)
	r.vote(vector)
	r.associate(vector)
	r.spread()
	r.match(text, allowed, of.candidateLimit(mostTexts))
	r.choose(allowed, of.candidateLimit(mostNeeds))
	return r
}

// of returns the evidence for a tool.
func (r *request) of(tool int32) *evidence {
	if c := r.history.column[tool]; c >= 0 {
		return &r.used[c]
	}
	return &r.unused
}

// ahead returns ln(1 + place) of each tool, place being the number of tools that the regression ranks higher.
// Tools that no task used have score 0, and so has the hidden tool.
func (r *request) ahead(tools []int32, hidden int32) []float64 {
	h := r.history
	list := make([]Ranked, len(tools))
	for i, t := range tools {
		if list[i].Tool = t; t != hidden {
			list[i].Score = r.of(t).ridge
		}
	}
	sorted := best(slices.Clone(list), len(list))
	least, above := sorted[len(sorted)-1].Score, make([]int, len(sorted)+1)
	for c, v := range r.scores {
		if v < least || h.used[c] == hidden {
			continue
		}
		i, itself := slices.BinarySearchFunc(sorted, Ranked{h.used[c], v}, better)
		if itself {
			i++
		}
		above[i]++
	}
	for i := range sorted {
		above[i+1] += above[i]
	}
	places := make([]float64, len(list))
	for i, x := range list {
		at, _ := slices.BinarySearchFunc(sorted, x, better)
		place := above[at]
		switch {
		case x.Score < 0:
			place += len(h.column) - len(h.used)
		case x.Score == 0:
			used, _ := slices.BinarySearch(h.used, x.Tool)
			place += int(x.Tool) - used // unused tools before it
		}
		places[i] = numeric.Ln(float64(1 + place))
	}
	return places
}

// vote computes the scores of the regression and lets the nearest past requests vote for the tools that they used.
func (r *request) vote(x learn.Vector) {
	h := r.history
	r.scores = h.ridge.Scores(r.scores, x)
	for c, v := range r.scores {
		r.used[c].ridge = v
	}
	r.near = r.nearest(x)
	sum, sharp := fewVotes, fewCopies
	for i, v := range r.near {
		set := h.tasks[h.asked[v.Row]].needs()
		s := v.Similarity
		s4 := float64(float64(s*s) * float64(s*s))
		sharp += s4
		for _, t := range set {
			e := r.of(t)
			if i < mostVoters {
				e.votes += s
			}
			e.copies += s4
			e.best = max(e.best, s)
			if i == 0 {
				e.nearSet = 1
			}
		}
		if i < mostVoters {
			sum += s
			r.size += float64(s * float64(len(set)))
		}
	}
	r.size /= sum - fewVotes + 1e-6
	for c := range r.used {
		r.used[c].votes /= sum
		r.used[c].copies /= sharp
	}
}

// need estimates the chance that tasks for such requests use a tool: .6·ridge + .4·votes, limited to [0, 1].
func need(ridge, votes float64) float64 { return max(0, min(1, float64(.6*ridge)+float64(.4*votes))) }

// voters returns the past requests that vote.
func (r *request) voters() []learn.Neighbour { return r.near[:min(mostVoters, len(r.near))] }

// nearest returns the nearest past requests. Requests with exactly the same words come first, the newest one first,
// with similarity 1. Their cosine may be lower, since the vector of a text lacks the words that no other text has.
func (r *request) nearest(x learn.Vector) []learn.Neighbour {
	h := r.history
	near := h.nearest.Of(x, nearRequests)
	same := h.same[wording(r.stems)]
	if len(same) == 0 {
		return near
	}
	near = slices.DeleteFunc(near, func(n learn.Neighbour) bool { return slices.Contains(same, n.Row) })
	var all []learn.Neighbour
	for _, row := range slices.Backward(same) {
		all = append(all, learn.Neighbour{Row: row, Similarity: 1})
	}
	all = append(all, near...)
	return all[:min(nearRequests, len(all))]
}

// associate adds the associations of the words: that of each word with the tools counted under it, and with any other
// tool.
func (r *request) associate(x learn.Vector) {
	h := r.history
	known := 0
	without := make([]float64, len(x.I)) // by word, its association with a tool that was not counted under it
	for k, f := range x.I {
		if h.word[f] == 0 {
			continue
		}
		without[k] = max(leastAssoc, min(0, numeric.Ln(2/(float64(h.word[f])+2))))
		r.unused.linear += without[k]
		if r.unused.strongest = max(r.unused.strongest, without[k]); known == 0 {
			r.unused.strongest = without[k]
		}
		known++
	}
	for c := range r.used {
		r.used[c].linear, r.used[c].strongest = r.unused.linear, r.unused.strongest
	}
	for k, f := range x.I {
		row := h.words.rows[uint64(f)]
		for i := row.from; i < row.to; i++ {
			a, e := h.association[i], r.of(h.words.tools[i])
			e.linear += a - without[k]
			e.strongest = max(e.strongest, a)
		}
	}
	by := math.Sqrt(max(1, float64(len(x.I))))
	for c := range r.used {
		r.used[c].linear /= by
	}
	r.unused.linear /= by
	words, seen := 0, 0
	for _, s := range distinct(semantic.Tokens(strings.Join(r.stems, " "))) {
		words++
		if f, ok := h.texts.vocabulary.Feature(s); ok && h.word[f] > 0 {
			seen++
		}
	}
	r.known = float64(seen) / max(1, float64(words))
}

// spread computes the need of each tool and, from the needed ones, the values of tools used beside them, of their
// servers and of tools that they require.
func (r *request) spread() {
	h := r.history
	for c, t := range h.used {
		e := &r.used[c]
		v := need(e.ridge, e.votes)
		if v < leastNeed {
			continue
		}
		e.need = v
		r.needed = append(r.needed, t)
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
		f, v := h.beside.of(key(t)), r.of(t).need
		for i, to := range f.tools {
			p := float64(v * float64(f.n[i]) / (float64(h.within[t]) + 1))
			e := r.of(to)
			e.besideMost = max(e.besideMost, p)
			e.besideMean += p
		}
	}
	if r.total > 0 {
		for c := range r.used {
			r.used[c].besideMean /= r.total
		}
	}
}

// match compares the texts of the tools with the request and with each of its clauses, and keeps the best texts:
// most is their maximum number.
func (r *request) match(text string, allowed func(tool int32) bool, most int) {
	h := r.history
	r.text = h.texts.matcher.Match(text)
	sought := most
	if allowed != nil {
		sought = filteredTexts
	}
	r.top = r.text.Top(r.top, sought, vectorWeight)
	for _, hit := range r.top[:min(mostTexts, len(r.top))] {
		r.most.text = max(r.most.text, r.text.Of(hit.Doc))
		r.most.near = max(r.most.near, r.text.Near(hit.Doc))
	}
	for _, hit := range r.top[:min(requiringTexts, len(r.top))] {
		for _, to := range h.texts.closure[hit.Doc] {
			v := r.text.Of(hit.Doc) / max(r.most.text, 1e-6)
			r.requiredText[to] = max(r.requiredText[to], v)
		}
	}
	if allowed != nil {
		r.top = slices.DeleteFunc(r.top, func(hit semantic.Hit) bool { return !allowed(hit.Doc) })
		r.top = r.top[:min(most, len(r.top))]
	}
	if parts := clauses(text); len(parts) > 1 {
		for _, c := range parts {
			r.clauses = append(r.clauses, h.texts.matcher.Match(c))
		}
	}
}

// clauses splits a request into the parts that ask for different things.
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

// choose keeps the best tools by a rough sum. Tools that no task used, that no needed tool requires and
// whose text is not among the best all have the same sum, so only the first mostNeeds of them are considered.
func (r *request) choose(allowed func(tool int32) bool, most int) {
	h := r.history
	rough := func(e *evidence) float64 {
		return e.ridge + float64(.5*e.votes) + float64(.3*e.copies) + float64(.025*e.linear) + float64(.3*e.besideMost)
	}
	r.likely = make([]Ranked, 0, len(h.used)+mostNeeds)
	for c, t := range h.used {
		r.likely = append(r.likely, Ranked{t, rough(&r.used[c]) + float64(.2*r.required[t])})
	}
	none, others := rough(&r.unused), map[int32]float64{}
	for t, v := range r.required {
		if h.column[t] < 0 {
			others[t] = none + float64(.2*v)
		}
	}
	for _, hit := range r.top {
		more := float64(.15 * hit.Score)
		if c := h.column[hit.Doc]; c >= 0 {
			r.likely[c].Score += more
		} else if v, ok := others[hit.Doc]; ok {
			others[hit.Doc] = v + more
		} else {
			others[hit.Doc] = none + more
		}
	}
	for t, v := range others {
		r.likely = append(r.likely, Ranked{t, v})
	}
	if allowed != nil {
		r.likely = slices.DeleteFunc(r.likely, func(c Ranked) bool { return !allowed(c.Tool) })
	}
	for t, left := int32(0), mostNeeds; left > 0 && int(t) < len(h.column); t++ {
		if _, ok := others[t]; !ok && h.column[t] < 0 && (allowed == nil || allowed(t)) {
			r.likely = append(r.likely, Ranked{t, none})
			left--
		}
	}
	r.likely = best(r.likely, most)
}

// candidates returns the tools that a request may need: the best by a rough sum, those whose texts match best, the
// tools that the first of these require, and the tools near the request by an embeddings endpoint.
func (r *request) candidates(q *tableInput, most int) (dst []int32) {
	for _, c := range r.likely[:min(most, len(r.likely))] {
		if c.Tool != q.hidden {
			dst = append(dst, c.Tool)
		}
	}
	for i, hit := range r.top[:min(q.of.candidateLimit(textCandidates), len(r.top))] {
		dst = append(dst, hit.Doc)
		if i < closedCandidates {
			dst = append(dst, r.history.texts.closure[hit.Doc]...)
		}
	}
	if q.of != nil {
		for t := range q.of.Near {
			dst = append(dst, t)
		}
	}
	return slices.DeleteFunc(dst, func(t int32) bool { return !q.allows(t) })
}
