package plan

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/logit"
)

// nextNames names the features that the second stage adds, in the order of next: what the first-stage
// probabilities of the other candidates say of a tool (co-use, needs, targets, tools of the same server,
// rank).
var nextNames = []string{"first", "beside", "beside most", "needed", "needs", "target", "needed by target", "target mass", "target depth", "usual with target", "mates", "mates most", "rank", "rank-size", "share"}

// next fills in the features that need the first probabilities of all candidates.
func (q *request) next() {
	m := q.m
	n := len(q.table.cand)
	at := make([]int32, n)
	for i := range at {
		at[i] = int32(i)
	}
	slices.SortFunc(at, func(a, b int32) int {
		return cmp.Or(cmp.Compare(q.table.p[b], q.table.p[a]), cmp.Compare(a, b))
	})
	none, most := make([]float64, n), make([]float64, n)
	needed := make([]float64, n)
	needs := make([]float64, n)
	target, byTarget, mass, depth, usual := q.targets()
	for i := range none {
		none[i] = 1
	}
	// none[j] is the probability that none of the 20 likeliest tools brings tool j along, as if they were
	// independent.
	for _, i := range at[:min(20, n)] {
		t, p := q.table.cand[i], q.table.p[i]
		uses := m.uses[t]
		if q.left != nil {
			uses -= q.left.uses[t]
		}
		q.coUsed(t, func(j int, both float64) {
			c := float64(p * both / (uses + 1))
			none[j] *= 1 - min(c, 1)
			most[j] = max(most[j], c)
		})
		if m.needs != nil {
			for _, u := range m.closure[t] {
				if j, ok := q.place(u); ok {
					needed[j] = max(needed[j], p)
					needs[i] = max(needs[i], q.table.p[j])
				}
			}
		}
	}
	total := 0.0
	mates, mate1 := map[int32]float64{}, map[int32][2]float64{}
	for _, i := range at {
		total += q.table.p[i]
		if s := m.texts.server[q.table.cand[i]]; s >= 0 {
			mates[s] += q.table.p[i]
			b := mate1[s]
			if q.table.p[i] > b[0] {
				b[0], b[1] = q.table.p[i], b[0]
			} else if q.table.p[i] > b[1] {
				b[1] = q.table.p[i]
			}
			mate1[s] = b
		}
	}
	for r, i := range at {
		p := q.table.p[i]
		ms, mm := 0.0, 0.0
		if s := m.texts.server[q.table.cand[i]]; s >= 0 {
			ms = mates[s] - p
			mm = mate1[s][0]
			if p >= mm {
				mm = mate1[s][1]
			}
		}
		narrow(q.table.f[i][len(baseNames):], []float64{
			odds(p), odds(1 - none[i]), most[i], needed[i], needs[i], target[i], odds(byTarget[i]), odds(mass[i]), depth[i], usual[i], numeric.Ln(1 + ms), mm,
			numeric.Ln(1 + float64(r)), math.Max(-8, math.Min(8, float64(r)-q.size)), p / (total + .1),
		})
	}
}

// targets computes, for each candidate, what the known needs of tools say of it: the log-odds that it is what the task is
// done for (target), the largest such probability of a tool that needs it (byTarget), its share of all of them with those
// of the tools that need it (mass), 1/(2 + position) among the needs of the likeliest target (depth; the target itself
// has 1), and the share of that target's uses that had it beside (usual). All are 0 without known needs.
func (q *request) targets() (target, byTarget, mass, depth, usual []float64) {
	m, n := q.m, len(q.table.cand)
	target, byTarget, mass, depth, usual = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	if q.table.goal == nil {
		return target, byTarget, mass, depth, usual
	}
	total, bestTarget := 1e-9, 0
	for i, g := range q.table.goal {
		total += g
		if g > q.table.goal[bestTarget] {
			bestTarget = i
		}
	}
	for i, g := range q.table.goal {
		target[i] = odds(g)
		mass[i] += g / total
		if g < .005 {
			continue
		}
		for _, u := range m.closure[q.table.cand[i]] {
			if j, ok := q.place(u); ok {
				byTarget[j] = max(byTarget[j], g)
				mass[j] += g / total
			}
		}
	}
	if n > 0 {
		depth[bestTarget] = 1
		for d, u := range m.closure[q.table.cand[bestTarget]] {
			if j, ok := q.place(u); ok {
				depth[j] = 1 / float64(d+2)
			}
		}
		for i, u := range q.table.cand {
			usual[i] = q.given(u, q.table.cand[bestTarget])
		}
	}
	return target, byTarget, mass, depth, usual
}

// firstStage fills in the probabilities of the first stage.
func (q *request) firstStage() {
	m := q.m
	q.first = q.mix(func(w *weights) *logit.Model { return w.first })
	q.table.p = make([]float64, len(q.table.cand))
	for i := range q.table.cand {
		q.table.p[i] = logit.Sigmoid(q.first.ZRow(q.table.f[i][:len(baseNames)]))
	}
	if m.kinds[known].target != nil {
		q.target = q.mix(func(w *weights) *logit.Model { return w.target })
		q.table.goal = make([]float64, len(q.table.cand))
		for i := range q.table.cand {
			q.table.goal[i] = logit.Sigmoid(q.target.ZRow(q.table.f[i][:len(baseNames)]))
		}
	}
}

// run fills in the probabilities of both stages and the order of candidates.
func (q *request) run() {
	q.firstStage()
	q.next()
	q.secondStage()
}

// secondStage fills in the probabilities of the second stage and the order of candidates.
func (q *request) secondStage() {
	q.second = q.mix(func(w *weights) *logit.Model { return w.second })
	q.table.p2 = make([]float64, len(q.table.cand))
	for i, f := range q.table.f {
		q.table.p2[i] = logit.Sigmoid(q.first.ZRow(f[:len(baseNames)]) + q.second.ZRow(f))
	}
	q.table.order = make([]int32, len(q.table.cand))
	for i := range q.table.order {
		q.table.order[i] = int32(i)
	}
	slices.SortFunc(q.table.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(q.table.p2[b], q.table.p2[a]), cmp.Compare(a, b))
	})
}
