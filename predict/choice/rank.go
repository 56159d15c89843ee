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

	"waymark/internal/parallel"
	"waymark/numeric"
)

// Choices are what weights are fitted on.
//
// Candidates are kept sparse: index[k], value[k] for k in [from[c], from[c+1]), and the candidates of
// choice i are [first[i], first[i+1]).
type Choices struct {
	features, levels, classes int

	index []uint16
	value []float32
	from  []int
	class []uint8
	many  []float32 // logarithm of how many each candidate stands for
	first []int
	level []uint8 // of each feature of each choice
	taken []int32
	mass  []float32
	width int // largest number of candidates
}

// New is empty, for up to 65,536 features. Without levels or classes (0) there are no such weights.
func New(features, levels, classes int) *Choices {
	return &Choices{features: features, levels: levels, classes: classes, from: []int{0}, first: []int{0}}
}

// Parts is how many weights a feature has: p.
func (c *Choices) Parts() int { return 1 + c.levels + c.classes }

// Candidate appends a candidate of a class to the choice begun, with the value of each feature index.
func (c *Choices) Candidate(class int, index []int32, value []float32) {
	c.Sample(1, class, index, value)
}

// Sample appends a candidate drawn from many, and standing for them: it counts many times in the sum
// below P(c), so that a few of a long tail are enough to know what the tail weighs. many > 0.
func (c *Choices) Sample(many float64, class int, index []int32, value []float32) {
	c.many = append(c.many, float32(numeric.Ln(many)))
	for _, k := range index {
		c.index = append(c.index, uint16(k))
	}
	c.value = append(c.value, value[:len(index)]...)
	c.from = append(c.from, len(c.index))
	c.class = append(c.class, uint8(class))
}

// Taken ends the choice begun: its i-th candidate was taken. The mass, usually 1, is how often it
// counts, and level is that of each feature; nil is level 0 of all.
func (c *Choices) Taken(i int, mass float64, level []uint8) {
	n := len(c.from) - 1 - c.first[len(c.first)-1]
	if i < 0 || i >= n {
		panic("choice: the candidate taken is not in the choice")
	}
	if level == nil {
		level = make([]uint8, c.features)
	}
	c.level = append(c.level, level[:c.features]...)
	c.width = max(c.width, n)
	c.first = append(c.first, len(c.from)-1)
	c.taken = append(c.taken, int32(i))
	c.mass = append(c.mass, float32(mass))
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
	entries, candidates := c.from[len(c.from)-1], c.first[len(c.first)-1]
	c.index, c.value = append(c.index, other.index...), append(c.value, other.value...)
	for _, x := range other.from[1:] {
		c.from = append(c.from, entries+x)
	}
	for _, x := range other.first[1:] {
		c.first = append(c.first, candidates+x)
	}
	c.class, c.many = append(c.class, other.class...), append(c.many, other.many...)
	c.level = append(c.level, other.level...)
	c.taken, c.mass = append(c.taken, other.taken...), append(c.mass, other.mass...)
	c.width = max(c.width, other.width)
}

// effective fills out with the weight of each feature in choice i for each class.
func (c *Choices) effective(i int, w []float64, out [][]float64) {
	parts := c.Parts()
	level := c.level[i*c.features : (i+1)*c.features]
	for u := range out {
		for k := range out[u] {
			x := w[k*parts]
			if c.levels > 0 {
				x += w[k*parts+1+int(level[k])]
			}
			if c.classes > 0 {
				x += w[k*parts+1+c.levels+u]
			}
			out[u][k] = x
		}
	}
}

// spread adds the gradient by effective weights to that by weights.
func (c *Choices) spread(i int, by [][]float64, g []float64) {
	parts := c.Parts()
	level := c.level[i*c.features : (i+1)*c.features]
	for u := range by {
		for k, x := range by[u] {
			g[k*parts] += x
			if c.levels > 0 {
				g[k*parts+1+int(level[k])] += x
			}
			if c.classes > 0 {
				g[k*parts+1+c.levels+u] += x
			}
		}
	}
}

func (c *Choices) room() [][]float64 {
	out := make([][]float64, max(c.classes, 1))
	for u := range out {
		out[u] = make([]float64, c.features)
	}
	return out
}

// scores fills p with the scores of choice i's candidates by effective weights.
func (c *Choices) scores(i int, weights [][]float64, p []float64) []float64 {
	a := c.first[i]
	p = p[:c.first[i+1]-a]
	for j := range p {
		w, s := weights[c.class[a+j]], float64(c.many[a+j])
		index := c.index[c.from[a+j]:c.from[a+j+1]]
		value := c.value[c.from[a+j]:][:len(index)]
		for k, f := range index {
			s += float64(w[f] * float64(value[k]))
		}
		p[j] = s
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
	weights := c.room()
	c.effective(i, w, weights)
	return c.scores(i, weights, make([]float64, c.first[i+1]-c.first[i]))
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
	parallel.Each(shards, func(s int) {
		p, weights, by := make([]float64, c.width), c.room(), c.room()
		clear(parts[s])
		for i := s * c.Len() / shards; i < (s+1)*c.Len()/shards; i++ {
			if part.Include == nil || part.Include[i] {
				losses[s] += c.one(i, part, w, parts[s], p, weights, by)
			}
		}
	})
	for _, x := range parts {
		numeric.Axpy(1, x, g)
	}
	return numeric.Sum(losses[:])
}

// one is the loss of choice i; p, weights and by are room to work it out.
func (c *Choices) one(i int, part Part, w, g, p []float64, weights, by [][]float64) float64 {
	c.effective(i, w, weights)
	p = c.scores(i, weights, p)
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
	for j := range p {
		p[j] = numeric.Exp(p[j] - top)
		z += p[j]
	}
	for u := range by {
		clear(by[u])
	}
	m := float64(c.mass[i])
	for j := range p {
		d := p[j] / z
		if j == taken {
			d--
		}
		if d *= m; d == 0 {
			continue
		}
		by := by[c.class[a+j]]
		index := c.index[c.from[a+j]:c.from[a+j+1]]
		value := c.value[c.from[a+j]:][:len(index)]
		for k, f := range index {
			by[f] += float64(d * float64(value[k]))
		}
	}
	c.spread(i, by, g)
	return float64(m * (numeric.Ln(z) - at))
}

// A Fitted holds the weights found and how the search went.
type Fitted struct {
	Weights    []float64
	Loss       float64 // L(w), nats
	Iterations int
	Converged  bool // the gradient became small; else the steps ran out
}

// Fit returns the weights that minimise L(w) over a part of the choices, beginning at the
// prior. penalty holds λ_k; a weight with an infinite penalty keeps its prior. The bits of the
// result depend on the choices alone, not on how many processors there are.
func Fit(c *Choices, part Part, prior, penalty []float64, steps int) Fitted {
	return FitUntil(c, part, prior, penalty, steps, func() bool { return false })
}

// FitUntil is [Fit] that asks stop before every step, and gives the weights reached once it is true.
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
