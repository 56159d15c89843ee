package suggest

import (
	"cmp"
	"slices"

	"waymark/catalog"
	"waymark/suggest/history"
)

// What a text that fits wholly adds to the log-odds of an unused tool where few such tools tell, and how many
// of them that belief is worth. Chosen near what the weights of a history start from.
const textAdds, textNext, textBelief = 4, 1.6, .1

// outside visits the tools beyond the limit of learned tools (learnTools), in a catalog of more than there is
// room for. Nobody has used them, so their texts and schemas speak. Each scores as the best of the tools
// learned of that nobody has used either and that fit the request no better, and what it fits better adds
// as much as it does among those: b·Δsemantic, b by least squares, held to textAdds.
func (q *query) outside(visit func(c candidate)) {
	if !q.learned.partial || q.mode != Active {
		return
	}
	unused := func(n int32) bool {
		return q.nodes.stamp[n] == q.nodes.epoch && q.Kind(n) == catalog.KindTool && q.nodes.semantic[n] > 0 && q.Usage.At(n).Steps == 0
	}
	var known []textFit
	if q.planned != nil {
		for _, t := range q.planned.Tools {
			if c, ok := q.asked(t.Tool, t.P); ok && unused(c.node) {
				known = append(known, textFit{q.nodes.semantic[c.node], c.score})
			}
		}
	} else {
		for _, r := range q.fit.predicted {
			if n := q.learned.node[r.Tool]; unused(n) {
				known = append(known, textFit{q.nodes.semantic[n], r.Score})
			}
		}
	}
	slices.SortFunc(known, func(a, b textFit) int {
		return cmp.Or(cmp.Compare(a.semantic, b.semantic), cmp.Compare(a.score, b.score))
	})
	if len(known) == 0 {
		return
	}
	adds := float64(textAdds)
	if q.planned == nil {
		adds = textNext
	}
	slope := textSlope(known, adds)
	// Best score so far, so that known[i] is the best of those that fit no better than i.
	for i := 1; i < len(known); i++ {
		known[i].score = max(known[i].score, known[i-1].score)
	}
	for _, n := range q.nodes.candidateNodes {
		if !unused(n) || !q.Live(n) || history.Of(q.learned.tool, n, -1) >= 0 || q.exhausted(n) {
			continue
		}
		better, _ := slices.BinarySearchFunc(known, q.nodes.semantic[n], func(f textFit, s float64) int {
			if f.semantic <= s {
				return -1
			}
			return 1
		})
		if better > 0 {
			as := known[better-1]
			c := candidate{node: n, score: as.score + float64(slope*(q.nodes.semantic[n]-as.semantic)), formula: FormulaLogistic, row: -1, outside: true}
			c.p = q.chance(c.score)
			visit(c)
		}
	}
}

// textFit is how well the text of an unused tool matches the intent, in [0, 1], and its learned score.
type textFit struct{ semantic, score float64 }

// textSlope is the least-squares slope of the score over the text match, shrunk towards adds with the weight of
// textBelief observations, and never negative: a better match must not lower a score.
//
//	slope = (textBelief·adds + Σ d·(score - mean score)) / (textBelief + Σ d²), d = semantic - mean semantic
func textSlope(known []textFit, adds float64) float64 {
	var mean textFit
	for _, f := range known {
		mean.semantic += f.semantic / float64(len(known))
		mean.score += f.score / float64(len(known))
	}
	above, below := float64(textBelief*adds), float64(textBelief)
	for _, f := range known {
		d := f.semantic - mean.semantic
		above += float64(d * (f.score - mean.score))
		below += float64(d * d)
	}
	return max(0, above/below)
}
