// Package choice learns to put the right candidate first.
//
// A choice is a list of candidates, each with some features, and the one that was taken. Its score
// is a weighted sum, so that a caller can show it term by term, and the scores become probabilities:
//
//	s(c) = Σ_k w_k·x_k(c)        P(c) = exp s(c) / Σ_c' exp s(c')
//
// This is the conditional logit (McFadden, 1974), the listwise softmax of learning to rank. [Fit]
// finds the weights that make the choices taken most likely without leaving the prior far behind:
//
//	L(w) = -Σ_i m_i·ln P_i(taken_i) + ½·Σ_k λ_k·(w_k - prior_k)²
//
// L is strictly convex for λ > 0: there is one answer, and few choices move it little away from the
// prior.
//
// What a feature means may depend on the situation and on the candidate. Each feature has a level in
// each choice, such as how much evidence is behind it, and each candidate a class; the weight of
// feature k at level l for a candidate of class u is then a sum of three that are fitted together:
//
//	w_k = w[k·p] + w[k·p + 1 + l] + w[k·p + 1 + levels + u]      p = 1 + levels + classes
package choice

import (
	"math"
	"math/bits"

	"waymark/internal/numeric"
	"waymark/internal/parallel"
)

// Choices are what weights are fitted on.
//
// Candidates of one class are kept by four, whose scores are added up side by side. The blocks of choice i are
// [block[i], block[i+1]), the rows of block b are rows[from[b]:from[b+1]], and the candidates of choice i, in the
// order in which they came, are [first[i], first[i+1]): slot is the place of each in the blocks of its choice.
type Choices struct {
	features, levels, classes int

	rows  []row
	from  []int
	block []int
	slot  []uint16
	many  []float32 // logarithm of how many each candidate stands for
	first []int
	level []uint8 // of each feature of each choice
	taken []int32
	mass  []float32
	width int // largest number of places of a choice

	begun choiceBegun
}

// A row is what four candidates have of a feature. The index is its place in a [table].
type row struct {
	index uint32
	value [4]float32
}

// choiceBegun are the candidates of the choice begun.
type choiceBegun struct {
	class []uint8
	from  []int
	index []int32
	value []float32

	order []int32  // by class
	has   []uint64 // features of a block, as bits
	at    []int32  // of a feature of the block, its row
}

// A table has a weight, or a part of a gradient, for each feature, level and class.
type table [tableSize]float64

const tableSize = 1024

// New is empty; features · levels · classes is at most 1,024. Without levels or classes (0) there are no
// such weights.
func New(features, levels, classes int) *Choices {
	c := &Choices{features: features, levels: levels, classes: classes, from: []int{0}, block: []int{0}, first: []int{0}}
	if c.place(max(levels, 1), 0, 0) > tableSize {
		panic("choice: too many features")
	}
	c.begun = choiceBegun{has: make([]uint64, (features+63)/64), at: make([]int32, features)}
	return c
}

// place is where the weight of a feature stands in a table.
func (c *Choices) place(level, class, feature int) int {
	return (level*max(c.classes, 1)+class)*c.features + feature
}

// Parts is how many weights a feature has: p.
func (c *Choices) Parts() int { return 1 + c.levels + c.classes }

// Candidate appends a candidate of a class to the choice begun, with the value of each feature index, which
// rises.
func (c *Choices) Candidate(class int, index []int32, value []float32) {
	c.Sample(1, class, index, value)
}

// Sample appends a candidate drawn from many, and standing for them: it counts many times in the sum
// below P(c), so that a few of a long tail are enough to know what the tail weighs. many > 0.
func (c *Choices) Sample(many float64, class int, index []int32, value []float32) {
	c.many = append(c.many, float32(numeric.Ln(many)))
	n := &c.begun
	n.class, n.from = append(n.class, uint8(class)), append(n.from, len(n.index))
	n.index, n.value = append(n.index, index...), append(n.value, value[:len(index)]...)
}

// Taken ends the choice begun: its i-th candidate was taken. The mass, usually 1, is how often it
// counts, and level is that of each feature; nil is level 0 of all.
func (c *Choices) Taken(i int, mass float64, level []uint8) {
	n := &c.begun
	if i < 0 || i >= len(n.class) {
		panic("choice: the candidate taken is not in the choice")
	}
	if level == nil {
		level = make([]uint8, c.features)
	}
	n.from = append(n.from, len(n.index))
	n.order = n.order[:0]
	blocks := len(c.from) - 1
	c.slot = append(c.slot, make([]uint16, len(n.class))...)
	slot := c.slot[len(c.slot)-len(n.class):]
	for u := range max(c.classes, 1) {
		n.order = n.order[:0]
		for j, class := range n.class {
			if int(class) == u {
				n.order = append(n.order, int32(j))
			}
		}
		for at := 0; at < len(n.order); at += 4 {
			four := n.order[at:min(at+4, len(n.order))]
			for l, j := range four {
				slot[j] = uint16(4*(len(c.from)-1-blocks) + l)
			}
			c.add(u, four, level)
		}
	}
	n.class, n.from, n.index, n.value = n.class[:0], n.from[:0], n.index[:0], n.value[:0]
	c.block = append(c.block, len(c.from)-1)
	c.level = append(c.level, level[:c.features]...)
	c.width = max(c.width, 4*(len(c.from)-1-blocks))
	c.first = append(c.first, len(c.many))
	c.taken = append(c.taken, int32(i))
	c.mass = append(c.mass, float32(mass))
}

// add appends a block of candidates of a class.
func (c *Choices) add(class int, candidates []int32, level []uint8) {
	n := &c.begun
	for _, j := range candidates {
		for _, f := range n.index[n.from[j]:n.from[j+1]] {
			n.has[f/64] |= 1 << (f % 64)
		}
	}
	for w, has := range n.has {
		for ; has != 0; has &= has - 1 {
			f := 64*w + bits.TrailingZeros64(has)
			n.at[f] = int32(len(c.rows))
			c.rows = append(c.rows, row{index: uint32(c.place(int(level[f]), class, f))})
		}
		n.has[w] = 0
	}
	for l, j := range candidates {
		for k := n.from[j]; k < n.from[j+1]; k++ {
			c.rows[n.at[n.index[k]]].value[l] = n.value[k]
		}
	}
	c.from = append(c.from, len(c.rows))
}

// A Part of choices: those included, nil for all, and of each either all candidates or without samples.
type Part struct {
	Include   []bool
	NoSamples bool
}

// Len is the number of choices.
func (c *Choices) Len() int { return len(c.taken) }

// Append appends all choices of other, which has the same features, levels and classes.
func (c *Choices) Append(other *Choices) {
	rows, blocks, candidates := len(c.rows), len(c.from)-1, len(c.many)
	c.rows = append(c.rows, other.rows...)
	for _, x := range other.from[1:] {
		c.from = append(c.from, rows+x)
	}
	for _, x := range other.block[1:] {
		c.block = append(c.block, blocks+x)
	}
	for _, x := range other.first[1:] {
		c.first = append(c.first, candidates+x)
	}
	c.many, c.slot = append(c.many, other.many...), append(c.slot, other.slot...)
	c.level = append(c.level, other.level...)
	c.taken, c.mass = append(c.taken, other.taken...), append(c.mass, other.mass...)
	c.width = max(c.width, other.width)
}

// spell fills t with the weights of every feature, level and class.
func (c *Choices) spell(w []float64, t *table) {
	parts := c.Parts()
	for l := range max(c.levels, 1) {
		for u := range max(c.classes, 1) {
			at := c.place(l, u, 0)
			for k := range c.features {
				x := w[k*parts]
				if c.levels > 0 {
					x += w[k*parts+1+l]
				}
				if c.classes > 0 {
					x += w[k*parts+1+c.levels+u]
				}
				t[at+k] = x
			}
		}
	}
}

// spread adds the gradient of choice i by what is in a table to that by weights, and clears it there.
func (c *Choices) spread(i int, by *table, g []float64) {
	parts, classes, features := c.Parts(), max(c.classes, 1), c.features
	for k, l := range c.level[i*features : (i+1)*features] {
		own, at := g[k*parts:(k+1)*parts], int(l)*classes*features+k
		for u := range classes {
			x := by[at%tableSize]
			by[at%tableSize] = 0
			at += features
			own[0] += x
			if c.levels > 0 {
				own[1+int(l)] += x
			}
			if c.classes > 0 {
				own[1+c.levels+u] += x
			}
		}
	}
}

// room is what it takes to work out the loss of a choice.
type room struct {
	at []float64 // by place in the blocks
	p  []float64 // by candidate
	by table     // zero between choices
}

func (c *Choices) room() *room {
	return &room{at: make([]float64, c.width), p: make([]float64, c.width)}
}

// scores are the scores of choice i's candidates.
func (c *Choices) scores(i int, w *table, r *room) []float64 {
	clear(r.at)
	slots, many := c.slot[c.first[i]:c.first[i+1]], c.many[c.first[i]:c.first[i+1]]
	for j, s := range slots {
		r.at[s] = float64(many[j])
	}
	blocks := c.from[c.block[i] : c.block[i+1]+1]
	for b := range len(blocks) - 1 {
		score(c.rows[blocks[b]:blocks[b+1]], w, (*[4]float64)(r.at[4*b:]))
	}
	p := r.p[:len(slots)]
	for j, s := range slots {
		p[j] = r.at[s]
	}
	return p
}

// Above says how many candidates of choice i have a higher score than the one taken, and how many more
// those samples stand for that have; equal ones count half.
func (c *Choices) Above(i int, w []float64) (candidates, samples float64) {
	scores, many := c.Scores(i, w), c.many[c.first[i]:]
	taken := int(c.taken[i])
	at := scores[taken] - float64(many[taken])
	for j, s := range scores {
		n := 1.0
		switch s -= float64(many[j]); {
		case j == taken || s < at:
			continue
		case s == at:
			n = .5
		}
		if many[j] == 0 {
			candidates += n
		} else {
			samples += float64(n * numeric.Exp(float64(many[j])))
		}
	}
	return candidates, samples
}

// Scores are the scores s(c) of the candidates of choice i, those of samples plus the logarithm of how
// many they stand for.
func (c *Choices) Scores(i int, w []float64) []float64 {
	var t table
	c.spell(w, &t)
	return c.scores(i, &t, c.room())
}

// Loss is -Σ m·ln P(taken) over a part of the choices, in nats.
func (c *Choices) Loss(w []float64, part Part) float64 {
	parts := make([][]float64, shards)
	for s := range parts {
		parts[s] = make([]float64, len(w))
	}
	return c.loss(w, make([]float64, len(w)), parts, part)
}

// shards is fixed: the sum of their losses is the same whoever computes them.
const shards = 16

// loss is the negative log-likelihood at w; its gradient is added to g.
func (c *Choices) loss(w, g []float64, parts [][]float64, part Part) float64 {
	var losses [shards]float64
	var weights table
	c.spell(w, &weights)
	parallel.Each(shards, func(s int) {
		r := c.room()
		clear(parts[s])
		for i := s * c.Len() / shards; i < (s+1)*c.Len()/shards; i++ {
			if part.Include == nil || part.Include[i] {
				losses[s] += c.one(i, part, &weights, r, parts[s])
			}
		}
	})
	for _, x := range parts {
		numeric.Axpy(1, x, g)
	}
	return numeric.Sum(losses[:])
}

// one is the loss of choice i; its gradient is added to g.
func (c *Choices) one(i int, part Part, w *table, r *room, g []float64) float64 {
	p := c.scores(i, w, r)
	a, taken := c.first[i], int(c.taken[i])
	if part.NoSamples {
		for j := range p {
			if c.many[a+j] != 0 && j != taken {
				p[j] = math.Inf(-1)
			}
		}
	}
	top := p[taken]
	for _, s := range p {
		top = max(top, s)
	}
	at, z := p[taken]-top, 0.0
	numeric.Exps(p, top)
	for _, e := range p {
		z += e
	}
	m, d := float64(c.mass[i]), r.at
	clear(d)
	for j, s := range c.slot[a:c.first[i+1]] {
		x := p[j] / z
		if j == taken {
			x--
		}
		d[s] = float64(x * m)
	}
	blocks := c.from[c.block[i] : c.block[i+1]+1]
	for b := range len(blocks) - 1 {
		if four := (*[4]float64)(d[4*b:]); *four != [4]float64{} {
			gradient(c.rows[blocks[b]:blocks[b+1]], four, &r.by)
		}
	}
	c.spread(i, &r.by, g)
	return float64(m * (numeric.Ln(z) - at))
}

// A Fitted holds the weights found and how the search went.
type Fitted struct {
	Weights    []float64
	Loss       float64 // L(w), nats
	Iterations int
	Converged  bool // the gradient became small; else the steps ran out
}

// FitUntil returns the weights that minimise L(w) over a part of the choices, beginning at the
// prior. penalty holds λ_k; a weight with an infinite penalty keeps its prior. The bits of the
// result depend on the choices alone, not on how many processors there are. It calls stop before every step, and returns
// the weights reached once that is true.
func FitUntil(c *Choices, part Part, prior, penalty []float64, steps int, stop func() bool) Fitted {
	return FitFrom(c, part, prior, prior, penalty, steps, stop)
}

// FitFrom is [FitUntil] that begins at other weights than the prior: near the answer, few steps are
// enough. A weight with an infinite penalty keeps what it begins with.
func FitFrom(c *Choices, part Part, start, prior, penalty []float64, steps int, stop func() bool) Fitted {
	if len(prior) != len(penalty) || len(start) != len(prior) || len(prior) != c.features*c.Parts() {
		panic("choice: as many priors and penalties as weights are wanted")
	}
	parts := make([][]float64, shards)
	for s := range parts {
		parts[s] = make([]float64, len(prior))
	}
	return minimise(start, steps, stop, func(w, g []float64) float64 {
		clear(g)
		loss := c.loss(w, g, parts, part)
		for k, v := range penalty {
			if math.IsInf(v, 1) { // held where it is
				g[k] = 0
				continue
			}
			d := w[k] - prior[k]
			loss += float64(.5 * float64(v*float64(d*d)))
			g[k] += float64(v * d)
		}
		return loss
	})
}
