package plan

import (
	"cmp"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/labels"
	"waymark/semantic"
)

// request is a request being answered: by the model, or while fitting by all of it but one group.
type request struct {
	m        *Model
	own      int32   // group left out, -1
	left     *counts // those of its part
	text     requestText
	match    *Match
	reading          // by all words
	content  reading // by those that are no stop words
	weights          // of signals, by how foreign it is
	familiar []float64
	foreign  float64
	parts    [][]float64 // ridge scores of clauses
	sink     []float64   // ridge scores as a target, nil without known dependencies
	kin      []labels.Label
	size     float64 // expected number of distinct tools
	most     best
	hosts    *hosting
	mine     map[int32]float64 // own labels
	table    candidateTable
}

// requestText is the request as words, as a vector of unit length (x), and as the features with their
// positions (words).
type requestText struct {
	tokens []string
	x      labels.Vector
	words  []labels.Word
}

// A candidateTable has a row for each label that the request may need.
type candidateTable struct {
	cand   []int32     // increasing
	at     []int32     // by tool, its place in cand, counted from 1; nil in requests of the past, of which there are many
	clause []int32     // of a candidate, the clause that speaks most for it, -1
	f      [][]float32 // features of candidates: of the first stage, then those that the second adds; as fits read them
	p      []float64   // first-stage probability
	p2     []float64   // second-stage probability
	goal   []float64   // probability to be what the task is done for; nil without known dependencies
	order  []int32     // candidates by falling p2 (indices into cand)
}

// best are the largest values of any tool, by which those of one are divided.
type best struct{ ridge, content, text, server, sink, cosine, meaning, clauseMeaning float64 }

const (
	neighbours = 10
	perSource  = 40
)

// open reads a new request. Unlike those of the past it has an index of candidates by tool, which costs four
// bytes a tool.
func (m *Model) open(text string, match *Match) *request {
	q := &request{m: m, own: -1}
	q.setText(text, match)
	q.table.at = make([]int32, len(m.texts.tools))
	for i, t := range q.table.cand {
		q.table.at[t] = int32(i + 1)
	}
	return q
}

// reopen opens the request of a group, said as in text, as if the group were not known. What the features of
// candidates are made of is let go of, so that thousands fit into memory.
func (m *Model) reopen(g int32, text string, match *Match) *request {
	q := &request{m: m, own: g, left: &m.part[g%folds], mine: map[int32]float64{}}
	for _, l := range m.groups[g].tools {
		q.mine[l.Label] = l.Value
	}
	q.setText(text, match)
	q.match, q.ridge, q.vote, q.sink, q.parts, q.hosts, q.content = nil, nil, nil, nil, nil, nil, reading{}
	return q
}

// setText computes the vectors and features of the request.
func (q *request) setText(text string, match *Match) {
	m := q.m
	q.text.tokens = words(text)
	q.text.x, q.text.words = m.vocab.Vector(q.text.tokens)
	if q.match = match; match == nil {
		q.match = m.texts.Match(text)
	}
	q.reading = q.read(&m.view, q.text.x)
	content, _ := m.content.vocab.Vector(semantic.Tokens(text))
	q.content = q.read(&m.content, content)
	if m.sinkRow != nil {
		q.sink = (&view{ridge: m.sinkRow, rows: m.rows}).scores(q.own, q.text.x)
	}
	for _, c := range clauses(text) {
		said := words(c.text)
		if slices.Equal(said, q.text.tokens) {
			q.parts = append(q.parts, q.ridge)
			continue
		}
		z, _ := m.vocab.Vector(said)
		q.parts = append(q.parts, m.scores(q.own, z))
	}
	q.prepare()
	q.familiar = q.familiarity(content)
	if q.own < 0 {
		q.foreign = m.gate.P(q.familiar)
	}
}

// prepare makes the table of candidates with their features. Its first part takes the largest value of each
// source over all tools, by which the features of one tool are divided: what counts is how far it stands
// behind the best.
func (q *request) prepare() {
	m := q.m
	// The label after the tools is ln(size); at most e⁴, about 55 tools.
	q.size = numeric.Exp(min(q.ridge[len(m.dense.tool)], 4))
	q.serve(q.ridge)
	q.ridge = q.ridge[:len(m.dense.tool)]
	q.most = best{least, least, least, least, least, least, least, least}
	for _, r := range q.ridge {
		q.most.ridge = max(q.most.ridge, r)
	}
	for _, r := range q.content.ridge {
		q.most.content = max(q.most.content, r)
	}
	for _, s := range q.sink {
		q.most.sink = max(q.most.sink, s)
	}
	for i := range q.match.text {
		q.most.text = max(q.most.text, float64(q.match.text[i]))
		q.most.cosine = max(q.most.cosine, float64(q.match.cosine[i]))
		q.most.meaning = max(q.most.meaning, float64(q.match.meaning[i]))
		q.most.clauseMeaning = max(q.most.clauseMeaning, float64(q.match.clauseMeaning[i]))
		q.most.server = max(q.most.server, float64(q.match.server[i]))
	}
	for t, v := range q.vote {
		q.kin = append(q.kin, labels.Label{Label: t, Value: v})
	}
	slices.SortFunc(q.kin, byScore)
	q.kin = q.kin[:min(10, len(q.kin))]
	q.candidates()
	rank := q.ranks()
	wide := len(baseNames) + len(nextNames)
	all, base := make([]float32, wide*len(q.table.cand)), make([]float64, len(baseNames))
	q.table.f, q.table.clause = make([][]float32, len(q.table.cand)), make([]int32, len(q.table.cand))
	kin := m.texts.kinship(q.kin, q.table.cand)
	for i, t := range q.table.cand {
		q.table.f[i] = all[i*wide : (i+1)*wide]
		q.base(base, t, rank[i], kin[i])
		narrow(q.table.f[i], base)
		q.table.clause[i] = q.clauseOf(t)
	}
}

// narrow rounds features to the precision that fits read: what weights are fitted to is what they are applied to, and
// the requests of a fit take half the memory.
func narrow(dst []float32, src []float64) {
	for k, v := range src {
		dst[k] = float32(v)
	}
}

// candidates are the tools that any source speaks for.
func (q *request) candidates() {
	m, match := q.m, q.match
	known := func(i int) int32 { return m.dense.tool[i] }
	self := func(i int) int32 { return int32(i) }
	n := len(m.texts.tools)
	q.add(top(len(m.dense.tool), perSource, known, func(i int) float64 { return q.ridge[i] }))
	q.add(top(len(m.dense.tool), perSource, known, func(i int) float64 { return q.content.ridge[i] }))
	q.add(top(n, perSource, self, func(i int) float64 { return float64(match.text[i]) }))
	q.add(top(n, perSource, self, func(i int) float64 { return float64(match.words[i]) }))
	q.add(top(n, perSource/2, self, func(i int) float64 { return float64(match.clause[i]) }))
	q.add(top(n, perSource/2, self, func(i int) float64 { return float64(match.meaning[i]) }))
	q.add(top(n, perSource/2, self, func(i int) float64 { return float64(match.clauseMeaning[i]) }))
	q.add(top(n, perSource/2, self, func(i int) float64 { return float64(match.server[i]) * (float64(match.text[i]) + .1) }))
	q.add(top(n, perSource, self, func(i int) float64 { return q.likely(int32(i)) }))
	q.add(top(n, perSource/2, self, func(i int) float64 { return q.known(int32(i)) }))
	for t := range q.vote {
		q.table.cand = append(q.table.cand, t)
	}
	for t := range q.content.vote {
		q.table.cand = append(q.table.cand, t)
	}
	slices.Sort(q.table.cand)
	q.table.cand = slices.Compact(q.table.cand)
	if m.needs == nil {
		return
	}
	found := q.table.cand
	for _, c := range top(len(found), 12, func(i int) int32 { return found[i] }, func(i int) float64 {
		r := 0.0
		if l := m.dense.label[found[i]]; l >= 0 {
			r = q.ridge[l]
		}
		return float64(match.text[found[i]]) + r
	}) {
		q.table.cand = append(q.table.cand, m.closure[c.Label]...)
	}
	slices.Sort(q.table.cand)
	q.table.cand = slices.Compact(q.table.cand)
}

// add appends candidates; candidates removes the duplicates once at the end.
func (q *request) add(tools []labels.Label) {
	for _, t := range tools {
		q.table.cand = append(q.table.cand, t.Label)
	}
}

// top returns the most labels with the largest positive scores of 0 to n-1, the largest first.
func top(n, most int, label func(i int) int32, score func(i int) float64) []labels.Label {
	var list []labels.Label
	for i := range n {
		c := labels.Label{Label: label(i), Value: score(i)}
		if c.Value <= 0 || len(list) == most && byScore(c, list[most-1]) > 0 {
			continue
		}
		if len(list) < most {
			list = append(list, c)
		}
		k := len(list) - 1
		for ; k > 0 && byScore(c, list[k-1]) < 0; k-- {
			list[k] = list[k-1]
		}
		list[k] = c
	}
	return list
}

// place is the number of a tool among the candidates.
func (q *request) place(tool int32) (int, bool) {
	if q.table.at == nil {
		return slices.BinarySearch(q.table.cand, tool)
	}
	if tool < 0 || int(tool) >= len(q.table.at) {
		return 0, false
	}
	i := int(q.table.at[tool]) - 1
	return i, i >= 0
}

// relation is what is known of two tools without the part of the history that is left out.
func (q *request) relation(a, b int32) relation {
	r := q.m.related.of(a, b)
	if q.left != nil && r.both > 0 {
		r = r.less(q.left.pairs[pair{a, b}])
	}
	return r
}

// coUsed visits the candidates that were used in the same task as a tool, and how often.
func (q *request) coUsed(tool int32, visit func(candidate int, both float64)) {
	r, j := &q.m.related, 0
	for i := r.start[tool]; i < r.start[tool+1]; i++ {
		for j < len(q.table.cand) && q.table.cand[j] < r.b[i] {
			j++
		}
		if j == len(q.table.cand) {
			return
		}
		if q.table.cand[j] != r.b[i] {
			continue
		}
		is := r.is[i]
		if q.left != nil && is.both > 0 {
			is = is.less(q.left.pairs[pair{tool, r.b[i]}])
		}
		if is.both != 0 {
			visit(j, is.both)
		}
	}
}

// ranks are the ranks of candidates by text.
func (q *request) ranks() []float64 {
	at := make([]int, len(q.table.cand))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(q.match.text[q.table.cand[b]], q.match.text[q.table.cand[a]]), cmp.Compare(a, b))
	})
	rank := make([]float64, len(q.table.cand))
	for r, i := range at {
		rank[i] = float64(r)
	}
	return rank
}

// clauseOf is the clause of the request that speaks most for a tool.
func (q *request) clauseOf(t int32) int32 {
	l := q.m.dense.label[t]
	best := 0
	if l < 0 {
		return -1
	}
	for c := range q.parts {
		if q.parts[c][l] > q.parts[best][l] {
			best = c
		}
	}
	return int32(best)
}
