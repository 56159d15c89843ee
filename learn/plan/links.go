package plan

import (
	"cmp"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/labels"
)

var linkNames = []string{
	"rate odds", "both", "known", "vote", "voted", "order odds", "place", "place sign", "need", "need deep", "mates", "size",
	"rate/best into", "rate/best out", "between", "out", "in", "linked", "near link", "clause", "same clause",
}

// places are where in the request the words stand that speak for each tool, in [0, 1].
func (q *request) places(tools []int32) []float64 {
	place := make([]float64, len(tools))
	n := float64(max(len(q.text.tokens), 1))
	value := map[int32]float64{}
	for k, f := range q.text.x.I {
		value[f] = q.text.x.V[k]
	}
	for i, t := range tools {
		sum, total := .5e-4, 1e-4
		if l := q.m.dense.label[t]; l >= 0 {
			for _, w := range q.text.words {
				c := float64(value[w.Feature] * q.m.weight(q.own, w.Feature, l))
				if c > 0 {
					c2 := float64(c * c)
					total += c2
					sum += float64(c2 * (float64(w.At) + .5) / n)
				}
			}
		}
		if total < 2e-4 {
			for at, token := range q.text.tokens {
				for _, u := range q.m.texts.names.of[token] {
					if u == t {
						w := q.m.texts.names.idf[token]
						total += w
						sum += float64(w * (float64(at) + .5) / n)
					}
				}
			}
		}
		place[i] = sum / total
	}
	return place
}

// linkVotes adds up the similarities of the nearest requests that used both tools (voted), and of them those that linked
// a to b, each by the share of its tasks that did (vote).
func (q *request) linkVotes(a, b int32) (vote, voted float64) {
	for _, nb := range q.near {
		g := &q.m.groups[nb.Row]
		if hasTool(g.tools, a) && hasTool(g.tools, b) {
			voted += nb.Similarity
			at, ok := slices.BinarySearchFunc(g.links, pair{a, b}, func(l link, p pair) int { return cmp.Or(cmp.Compare(l.from, p.a), cmp.Compare(l.to, p.b)) })
			if ok {
				vote += float64(nb.Similarity * g.links[at].value)
			}
		}
	}
	return vote, voted
}

// mostBetween is how surely some third tool stands between i and j: the larger it is, the less a direct link is needed.
// ordered[a·n+b] is the share of tasks with both in which a came before b.
func mostBetween(ordered []float64, n, i, j int) (between float64) {
	for c := range n {
		if c != i && c != j {
			between = max(between, min(ordered[i*n+c], ordered[c*n+j]))
		}
	}
	return between
}

// pairs are the features of every ordered pair of tools, all of which are in the plan: those of a and b
// at a·n + b, nil on the diagonal.
func (q *request) pairs(tools []int32) [][]float64 {
	m := q.m
	n := len(tools)
	place := q.places(tools)
	clause := make([]int32, n)
	for i, t := range tools {
		clause[i] = -1
		if at, ok := q.place(t); ok {
			clause[i] = q.table.clause[at]
		}
	}
	rate, both, lk := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	ordered := make([]float64, n*n)
	bestIn, bestOut := make([]float64, n), make([]float64, n)
	for i, a := range tools {
		for j, b := range tools {
			if i == j {
				continue
			}
			k := i*n + j
			r, back := q.relation(a, b), q.relation(b, a)
			both[k], lk[k] = r.both, r.linked
			out := m.outRate(a)
			rate[k] = (lk[k] + out) / (both[k] + 1)
			ordered[k] = (r.before + .5) / (r.before + back.before + 1)
			bestIn[j] = max(bestIn[j], rate[k])
			bestOut[i] = max(bestOut[i], rate[k])
		}
	}
	f := make([][]float64, n*n)
	for i, a := range tools {
		for j, b := range tools {
			if i == j {
				continue
			}
			k := i*n + j
			vote, voted := q.linkVotes(a, b)
			need, deep := 0.0, 0.0
			if m.needs != nil {
				if slices.Contains(m.needs[b], a) {
					need = 1
				}
				if slices.Contains(m.closure[b], a) {
					deep = 1
				}
			}
			mates := 0.0
			if s := m.texts.server[a]; s >= 0 && s == m.texts.server[b] {
				mates = 1
			}
			d := place[j] - place[i]
			sign := 0.0
			if d > .02 {
				sign = 1
			} else if d < -.02 {
				sign = -1
			}
			between := mostBetween(ordered, n, i, j)
			ca, cb := clause[i], clause[j]
			same := b2f(ca == cb)
			cd := 0.0
			if ca < cb {
				cd = 1
			} else if ca > cb {
				cd = -1
			}
			f[k] = []float64{
				odds(rate[k]), numeric.Ln(1 + both[k]), b2f(both[k] > 1e-9), (vote + float64(.2*rate[k])) / (voted + .2), voted, odds(ordered[k]), d, sign, need, deep, mates, numeric.Ln(float64(n)),
				rate[k] / bestIn[j], rate[k] / bestOut[i], between, odds(m.outRate(a)), odds(m.inRate(b)), numeric.Ln(1 + lk[k]), vote, cd, same,
			}
		}
	}
	return f
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func hasTool(ls []labels.Label, t int32) bool {
	_, ok := slices.BinarySearchFunc(ls, t, func(l labels.Label, t int32) int { return cmp.Compare(l.Label, t) })
	return ok
}

// outRate is the share of a tool's companions that follow it directly.
func (m *Model) outRate(a int32) float64 { return m.rateOf(a, 0) }
func (m *Model) inRate(a int32) float64  { return m.rateOf(a, 1) }

func (m *Model) rateOf(a int32, side int) float64 { return m.rates[a][side] }

// countRates fills in the shares of a tool's companions that follow it directly, and that it follows.
func (m *Model) countRates() {
	n := len(m.texts.tools)
	m.rates = make([][2]float64, n)
	companions := make([]float64, n)
	for a := range n {
		for i := m.related.start[a]; i < m.related.start[a+1]; i++ {
			m.rates[a][0] += m.related.is[i].linked
			m.rates[m.related.b[i]][1] += m.related.is[i].linked
			companions[a] += m.related.is[i].both
		}
	}
	for t := range m.rates {
		for s := range 2 {
			m.rates[t][s] = (m.rates[t][s] + .4) / (companions[t] + 2)
		}
	}
}
