package evaluate

// byMixture is the one baseline of the next tool that is told the intent: a chain of order two, smoothed,
// mixed with the votes of the ten nearest past intents,
//
//	P(t) = ¾·P(t | last two) + ¼·votes(t)/Σ votes
//	P(t | last two) = (n₂(t) + P(t | last))/(n₂ + 1),  P(t | last) = (n₁(t) + P(t))/(n₁ + 1)
//
// without an intent, or neighbours, the chain alone.
const (
	byMixture = "markov2_knn"
	voteShare = 0.25
)

// newMixture is the baseline for one test, which is no neighbour of itself.
func newMixture(c *counts, past *intentIndex, t *task) Ranker {
	var near []neighbour
	if t.Episode.Intent != "" {
		near = past.nearest(t.Episode.Intent, t.group)
	}
	return baseline{c, func(c *counts, w *working) { c.mixed(w, near) }}
}

// mixed hands out a probability mass of 1, from the votes down to the popular tools. A row of n counts takes
// n/(n+1) of what is left; share is the rest for shorter contexts.
func (c *counts) mixed(w *working, near []neighbour) {
	share := 1.0
	if votes := 0.0; len(near) > 0 {
		share -= voteShare
		for _, n := range near {
			votes += float64(n.likeness * float64(len(n.set)))
		}
		for _, n := range near {
			for _, id := range n.set {
				w.add(c.at[id], voteShare*n.likeness/votes)
			}
		}
	}
	// What a row does not know is left to the shorter one.
	give := func(row []scored) {
		total := 1.0
		for _, s := range row {
			total += s.score
		}
		for _, s := range row {
			w.add(s.of, share*s.score/total)
		}
		share /= total
	}
	if n := len(w.context); n > 1 {
		give(c.second[[2]int32{w.context[n-2], w.context[n-1]}])
	}
	if last := w.last(); last != unknown {
		give(c.first[last])
	}
	give(c.popular)
	w.layer(w.ranked(c))
}
