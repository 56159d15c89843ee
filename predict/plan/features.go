package plan

import (
	"cmp"
	"math"
	"slices"

	"waymark/numeric"
	"waymark/predict/labels"
	"waymark/predict/logit"
)

// request is a request being answered: by the model, or while fitting by all of it but one group.
type request struct {
	m       *Model
	own     int32   // group left out, -1
	left    *counts // those of its part
	tokens  []string
	x       labels.Vector
	words   []labels.Word
	match   *Match
	ridge   []float64
	clauses [][]string
	parts   [][]float64 // ridge scores of clauses
	sink    []float64   // ridge scores as a target, nil without known dependencies
	maxK    float64
	kin     []labels.Label
	size    float64 // expected number of distinct tools
	near    []labels.Neighbour
	vote    map[int32]float64
	maxR    float64
	maxT    float64
	maxS    float64
	mine    map[int32]float64 // own labels
	cand    []int32
	f       [][]float64 // first-stage features of candidates
	p       []float64   // first-stage probability
	g       [][]float64 // second-stage features
	p2      []float64   // second-stage probability
	goal    []float64   // probability to be what the task is done for; nil without known dependencies
	order   []int32     // candidates by falling p2 (indices into cand)
}

const (
	neighbours = 10
	perSource  = 40
)

func (m *Model) open(text string, match *Match) *request {
	tokens := words(text)
	x, w := m.vocab.Vector(tokens)
	if match == nil {
		match = m.texts.Match(text)
	}
	q := &request{m: m, own: -1, tokens: tokens, x: x, words: w, match: match, clauses: clauses(text)}
	q.ridge = m.ridge.Scores(nil, x)
	q.prepare()
	return q
}

func (m *Model) reopen(g int32) *request {
	gr := &m.groups[g]
	x, w := m.vocab.Vector(gr.tokens)
	if gr.match == nil {
		gr.match = m.texts.Match(gr.tasks[0].Text)
	}
	q := &request{m: m, own: g, left: &m.part[g%folds], tokens: gr.tokens, x: x, words: w, match: gr.match, clauses: clauses(gr.tasks[0].Text)}
	q.ridge = m.ridge.Held(nil, int(g))
	q.mine = map[int32]float64{}
	for _, l := range gr.tools {
		q.mine[l.Label] = l.Value
	}
	q.prepare()
	return q
}

func (q *request) prepare() {
	m := q.m
	q.size = numeric.Exp(min(q.ridge[len(m.tool)], 4))
	q.ridge = q.ridge[:len(m.tool)]
	q.near = m.near.Of(q.x, neighbours, q.own)
	q.vote = map[int32]float64{}
	for _, l := range labels.Vote(q.near, m.y) {
		q.vote[m.tool[l.Label]] = l.Value
	}
	set := map[int32]bool{}
	add := func(n int, tool func(i int) int32, score func(i int) float64, want int) {
		var top []labels.Label
		for i := range n {
			c := labels.Label{Label: tool(i), Value: score(i)}
			if c.Value <= 0 || len(top) == want && byScore(c, top[want-1]) > 0 {
				continue
			}
			if len(top) < want {
				top = append(top, c)
			}
			k := len(top) - 1
			for ; k > 0 && byScore(c, top[k-1]) < 0; k-- {
				top[k] = top[k-1]
			}
			top[k] = c
		}
		for _, c := range top {
			set[c.Label] = true
		}
	}
	self := func(i int) int32 { return int32(i) }
	add(len(m.tool), func(i int) int32 { return m.tool[i] }, func(i int) float64 { return q.ridge[i] }, perSource)
	add(len(m.texts.tools), self, func(i int) float64 { return float64(q.match.text[i]) }, perSource)
	add(len(m.texts.tools), self, func(i int) float64 { return float64(q.match.words[i]) }, perSource)
	add(len(m.texts.tools), self, func(i int) float64 { return float64(q.match.clause[i]) }, perSource/2)
	add(len(m.texts.tools), self, func(i int) float64 { return float64(q.match.server[i]) * (float64(q.match.text[i]) + .1) }, perSource/2)
	for t := range q.vote {
		set[t] = true
	}
	if m.needs != nil {
		var top []int32
		for t := range set {
			top = append(top, t)
		}
		slices.Sort(top)
		best := map[int32]bool{}
		set2 := set
		set = best
		add(len(top), func(i int) int32 { return top[i] }, func(i int) float64 {
			r := 0.0
			if l := m.label[top[i]]; l >= 0 {
				r = q.ridge[l]
			}
			return float64(q.match.text[top[i]]) + r
		}, 12)
		set = set2
		for t := range best {
			for _, u := range m.closure[t] {
				set[u] = true
			}
		}
	}
	for t := range set {
		q.cand = append(q.cand, t)
	}
	slices.Sort(q.cand)
	q.maxK = .05
	if m.sinkRow != nil {
		if q.own >= 0 {
			q.sink = m.sinkRow.Held(nil, int(q.own))
		} else {
			q.sink = m.sinkRow.Scores(nil, q.x)
		}
		q.maxK = max(q.maxK, slices.Max(q.sink))
	}
	for _, c := range q.clauses {
		z, _ := m.vocab.Vector(c)
		var s []float64
		if q.own >= 0 {
			s = m.ridge.HeldScores(nil, int(q.own), q.x, z)
		} else {
			s = m.ridge.Scores(nil, z)
		}
		s = s[:len(m.tool)]
		q.parts = append(q.parts, s)
	}
	q.maxR, q.maxT, q.maxS = .05, .05, .05
	for _, r := range q.ridge {
		q.maxR = max(q.maxR, r)
	}
	for i := range q.match.text {
		q.maxT = max(q.maxT, float64(q.match.text[i]))
		q.maxS = max(q.maxS, float64(q.match.server[i]))
	}
	for t, v := range q.vote {
		q.kin = append(q.kin, labels.Label{Label: t, Value: v})
	}
	slices.SortFunc(q.kin, byScore)
	q.kin = q.kin[:min(10, len(q.kin))]
	q.f = make([][]float64, len(q.cand))
	rank := q.ranks()
	for i, t := range q.cand {
		q.f[i] = q.base(t, rank[i])
	}
}

// ranks are the ranks of candidates by text.
func (q *request) ranks() []float64 {
	at := make([]int, len(q.cand))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(q.match.text[q.cand[b]], q.match.text[q.cand[a]]), cmp.Compare(a, b))
	})
	rank := make([]float64, len(q.cand))
	for r, i := range at {
		rank[i] = float64(r)
	}
	return rank
}

// clauseOf is the clause of the request that speaks most for a tool.
func (q *request) clauseOf(t int32) int {
	l := q.m.label[t]
	best := 0
	if l < 0 {
		return -1
	}
	for c := range q.parts {
		if q.parts[c][l] > q.parts[best][l] {
			best = c
		}
	}
	return best
}

func odds(p float64) float64 {
	p = min(max(p, 0), 1)
	return numeric.Ln((p + .02) / (1.02 - p))
}

var baseNames = []string{
	"ridge", "ridge odds", "ridge/best", "vote", "vote odds", "nearest", "prior", "recent", "seen", "evidence", "ridge x evidence",
	"text", "text/best", "text rank", "name", "server", "server/best", "cold text", "cold text/best", "cold rank", "cold name", "cold server",
	"server prior", "near x vote", "size", "fullname", "server vote", "words", "clause", "cold words", "cold clause", "kin", "cold kin", "sink", "sink/best",
}

func (q *request) base(t int32, rank float64) []float64 {
	m := q.m
	uses, recent := m.uses[t], m.recent[t]
	n, recentN := m.n, m.recentN
	if c := q.left; c != nil {
		n, recentN = n-c.n, recentN-c.recentN
		uses, recent = uses-c.uses[t], recent-c.recent[t]
	}
	// What is left is scaled to the whole, so that a count means the same here and in an answer.
	scale, scaleRecent := m.n/n, m.recentN/recentN
	r := 0.0
	if l := m.label[t]; l >= 0 && uses > 1e-9 {
		r = q.ridge[l]
	}
	v := q.vote[t]
	nearest, sim := 0.0, 0.0
	if len(q.near) > 0 {
		sim = q.near[0].Similarity
		for _, l := range m.groups[q.near[0].Row].tools {
			if l.Label == t {
				nearest = float64(sim * l.Value)
			}
		}
	}
	seen := 0.0
	if uses > 1e-9 {
		seen = 1
	}
	text, name, server := float64(q.match.text[t]), float64(q.match.name[t]), float64(q.match.server[t])
	served, sv, serverPrior := 0.0, 0.0, 0.0
	if s := m.texts.server[t]; s >= 0 {
		served = m.served[s]
		if q.left != nil {
			served -= q.left.served[s]
		}
		serverPrior = numeric.Ln((float64(served*scale) + .1) / (m.n + 1))
		for _, nb := range q.near {
			most := 0.0
			for _, l := range m.groups[nb.Row].tools {
				if m.texts.server[l.Label] == s {
					most = max(most, l.Value)
				}
			}
			sv += float64(nb.Similarity * most)
		}
		sv /= float64(len(q.near)) + 1e-9
	}
	evidence := numeric.Ln(1 + float64(uses*scale))
	cold := 1 - seen
	lr := numeric.Ln(1 + rank)
	full := 0.0
	if name > .99 {
		full = 1
	}
	sink := 0.0
	if l := m.label[t]; l >= 0 && uses > 1e-9 && q.sink != nil {
		sink = q.sink[l]
	}
	kin := 0.0 // like what history speaks for
	for _, l := range q.kin {
		if l.Label != t {
			kin = max(kin, l.Value*labels.Dot(m.texts.vector[l.Label], m.texts.vector[t]))
		}
	}
	return []float64{
		r, odds(r), r / q.maxR, v, odds(v), nearest, numeric.Ln((float64(uses*scale) + .1) / (m.n + 1)), numeric.Ln((float64(recent*scaleRecent) + .1) / (m.recentN + 1)), seen, evidence, r * evidence,
		text, text / q.maxT, lr, name, server, server / q.maxS, cold * text, cold * text / q.maxT, cold * lr, cold * name, cold * server,
		serverPrior, float64(sim * v), numeric.Ln(q.size), full, sv, float64(q.match.words[t]), float64(q.match.clause[t]), cold * float64(q.match.words[t]), cold * float64(q.match.clause[t]), kin, cold * kin, sink, sink / q.maxK,
	}
}

var nextNames = []string{"first", "beside", "beside most", "needed", "needs", "target", "needed by target", "target mass", "target depth", "usual with target", "mates", "mates most", "rank", "rank-size", "share"}

// second computes features that need the first probabilities of all candidates.
func (q *request) next() [][]float64 {
	m := q.m
	n := len(q.cand)
	at := make([]int32, n)
	place := map[int32]int{}
	for i := range at {
		at[i] = int32(i)
		place[q.cand[i]] = i
	}
	slices.SortFunc(at, func(a, b int32) int { return cmp.Or(cmp.Compare(q.p[b], q.p[a]), cmp.Compare(a, b)) })
	none, most := make([]float64, n), make([]float64, n)
	needed := make([]float64, n)
	needs := make([]float64, n)
	target, byTarget, mass, depth, usual := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	if q.goal != nil {
		total, bestTarget := 1e-9, 0
		for i, g := range q.goal {
			total += g
			if g > q.goal[bestTarget] {
				bestTarget = i
			}
		}
		for i, g := range q.goal {
			target[i] = odds(g)
			mass[i] += g / total
			if g < .005 {
				continue
			}
			for _, u := range m.closure[q.cand[i]] {
				if j, ok := place[u]; ok {
					byTarget[j] = max(byTarget[j], g)
					mass[j] += g / total
				}
			}
		}
		if n > 0 {
			depth[bestTarget] = 1
			for d, u := range m.closure[q.cand[bestTarget]] {
				if j, ok := place[u]; ok {
					depth[j] = 1 / float64(d+2)
				}
			}
			for i, u := range q.cand {
				usual[i] = q.given(u, q.cand[bestTarget])
			}
		}
	}
	for i := range none {
		none[i] = 1
	}
	for _, i := range at[:min(20, n)] {
		t, p := q.cand[i], q.p[i]
		uses := m.uses[t]
		if q.left != nil {
			uses -= q.left.uses[t]
		}
		for _, l := range m.beside[t] {
			j, ok := place[l.Label]
			if !ok {
				continue
			}
			both := l.Value
			if q.left != nil {
				both -= q.left.both[pair{t, l.Label}]
			}
			c := float64(p * max(both, 0) / (uses + 1))
			none[j] *= 1 - min(c, 1)
			most[j] = max(most[j], c)
		}
		if m.needs != nil {
			for _, u := range m.closure[t] {
				if j, ok := place[u]; ok {
					needed[j] = max(needed[j], p)
					needs[i] = max(needs[i], q.p[j])
				}
			}
		}
	}
	total := 0.0
	mates, mate1 := map[int32]float64{}, map[int32][2]float64{}
	for _, i := range at {
		total += q.p[i]
		if s := m.texts.server[q.cand[i]]; s >= 0 {
			mates[s] += q.p[i]
			b := mate1[s]
			if q.p[i] > b[0] {
				b[0], b[1] = q.p[i], b[0]
			} else if q.p[i] > b[1] {
				b[1] = q.p[i]
			}
			mate1[s] = b
		}
	}
	out := make([][]float64, n)
	for r, i := range at {
		p := q.p[i]
		ms, mm := 0.0, 0.0
		if s := m.texts.server[q.cand[i]]; s >= 0 {
			ms = mates[s] - p
			mm = mate1[s][0]
			if p >= mm {
				mm = mate1[s][1]
			}
		}
		out[i] = []float64{
			odds(p), odds(1 - none[i]), most[i], needed[i], needs[i], target[i], odds(byTarget[i]), odds(mass[i]), depth[i], usual[i], numeric.Ln(1 + ms), mm,
			numeric.Ln(1 + float64(r)), math.Max(-8, math.Min(8, float64(r)-q.size)), p / (total + .1),
		}
	}
	return out
}

// firstStage fills in the probabilities of the first stage.
func (q *request) firstStage() {
	m := q.m
	q.p = make([]float64, len(q.cand))
	for i := range q.cand {
		q.p[i] = m.first.P(q.f[i])
	}
	if m.target != nil {
		q.goal = make([]float64, len(q.cand))
		for i := range q.cand {
			q.goal[i] = m.target.P(q.f[i])
		}
	}
}

// run fills in the probabilities of both stages and the order of candidates.
func (q *request) run() {
	m := q.m
	q.firstStage()
	q.g = q.next()
	q.p2 = make([]float64, len(q.cand))
	for i, g := range q.g {
		q.p2[i] = logit.Sigmoid(m.first.Z(q.f[i]) + m.second.Z(append(slices.Clone(q.f[i]), g...)))
	}
	q.order = make([]int32, len(q.cand))
	for i := range q.order {
		q.order[i] = int32(i)
	}
	slices.SortFunc(q.order, func(a, b int32) int { return cmp.Or(cmp.Compare(q.p2[b], q.p2[a]), cmp.Compare(a, b)) })
}

// sample are the groups that the second stage is fitted to.
func (m *Model) sample() []int32 {
	n := len(m.groups)
	k := min(n, sampled)
	s := make([]int32, k)
	for i := range s {
		s[i] = int32(n - k + i) // the newest
	}
	return s
}

func (m *Model) fitScores() {
	sample := m.sample()
	qs := make([]*request, len(sample))
	each(len(sample), func(i int) { qs[i] = m.reopen(sample[i]) })
	d := logit.Data{P: len(baseNames)}
	for _, q := range qs {
		for i, t := range q.cand {
			d.Add(q.f[i], q.mine[t])
		}
	}
	m.first = logit.Fit(d, penalty)
	if m.needs != nil {
		e := logit.Data{P: d.P, X: d.X}
		for _, q := range qs {
			goal := map[int32]float64{}
			for _, l := range m.sinksOf(&m.groups[q.own]) {
				goal[m.tool[l.Label]] = l.Value
			}
			for _, t := range q.cand {
				e.Y = append(e.Y, float32(goal[t]))
			}
		}
		m.target = logit.Fit(e, penalty)
	}
	each(len(qs), func(i int) { qs[i].firstStage() })
	d = logit.Data{P: len(baseNames) + len(nextNames)}
	next := make([][][]float64, len(qs))
	each(len(qs), func(i int) { next[i] = qs[i].next() })
	for k, q := range qs {
		for i, t := range q.cand {
			d.Add(append(slices.Clone(q.f[i]), next[k][i]...), q.mine[t])
			d.Z = append(d.Z, float32(m.first.Z(q.f[i])))
		}
	}
	m.second = logit.Fit(d, 5*penalty)
}
