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
// prior. A feature that means more where there is more evidence behind it is entered as several
// features, one per level of evidence, of which a choice uses one.
package choice

import (
	"runtime"
	"sync"

	"waymark/numeric"
)

// Choices are what weights are fitted on. The zero value is empty and ready.
//
// Candidates are kept sparse: index[k], value[k] for k in [from[c], from[c+1]), and the candidates of
// choice i are [first[i], first[i+1]).
type Choices struct {
	index []int32
	value []float32
	from  []int
	first []int
	taken []int32
	mass  []float32
	width int // largest number of candidates
}

// Candidate appends a candidate to the choice begun, with the value of each feature index.
func (c *Choices) Candidate(index []int32, value []float32) {
	if len(c.from) == 0 {
		c.from, c.first = append(c.from, 0), append(c.first, 0)
	}
	c.index = append(c.index, index...)
	c.value = append(c.value, value[:len(index)]...)
	c.from = append(c.from, len(c.index))
}

// Taken ends the choice begun: its i-th candidate was taken. The mass, usually 1, is how often it counts.
func (c *Choices) Taken(i int, mass float64) {
	n := len(c.from) - 1 - c.first[len(c.first)-1]
	if i < 0 || i >= n {
		panic("rank: the candidate taken is not in the choice")
	}
	c.width = max(c.width, n)
	c.first = append(c.first, len(c.from)-1)
	c.taken = append(c.taken, int32(i))
	c.mass = append(c.mass, float32(mass))
}

// Len is the number of choices.
func (c *Choices) Len() int { return len(c.taken) }

// shards is fixed: the sum of their losses is the same whoever computes them.
const shards = 16

// loss is the negative log-likelihood at w; its gradient is added to g.
func (c *Choices) loss(w, g []float64, parts [][]float64) float64 {
	var losses [shards]float64
	var next sync.Mutex
	shard := 0
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), shards) {
		wait.Go(func() {
			p := make([]float64, c.width)
			for {
				next.Lock()
				s := shard
				shard++
				next.Unlock()
				if s >= shards {
					return
				}
				clear(parts[s])
				losses[s] = c.part(s, w, parts[s], p)
			}
		})
	}
	wait.Wait()
	for _, part := range parts {
		numeric.Axpy(1, part, g)
	}
	return numeric.Sum(losses[:])
}

// part is the loss of one shard, p room for the probabilities of a choice.
func (c *Choices) part(shard int, w, g, p []float64) float64 {
	loss := 0.0
	for i := shard * c.Len() / shards; i < (shard+1)*c.Len()/shards; i++ {
		a, b := c.first[i], c.first[i+1]
		p := p[:b-a]
		top := 0.0
		for j := range p {
			s := 0.0
			for k := c.from[a+j]; k < c.from[a+j+1]; k++ {
				s += float64(w[c.index[k]] * float64(c.value[k]))
			}
			if p[j] = s; j == 0 || s > top {
				top = s
			}
		}
		taken := int(c.taken[i])
		at := p[taken] - top
		z := 0.0
		for j := range p {
			p[j] = numeric.Exp(p[j] - top)
			z += p[j]
		}
		m := float64(c.mass[i])
		loss += float64(m * (numeric.Ln(z) - at))
		for j := range p {
			d := p[j] / z
			if j == taken {
				d--
			}
			d *= m
			for k := c.from[a+j]; k < c.from[a+j+1]; k++ {
				g[c.index[k]] += float64(d * float64(c.value[k]))
			}
		}
	}
	return loss
}

// A Fitted holds the weights found and how the search went.
type Fitted struct {
	Weights    []float64
	Loss       float64 // L(w), nats
	Iterations int
	Converged  bool // the gradient became small; else the steps ran out
}

// Fit returns the weights that minimise L(w), beginning at the prior. penalty holds λ_k; a feature with
// an infinite penalty keeps its prior. The bits of the result depend on the choices alone, not on how
// many processors there are.
func Fit(c *Choices, prior, penalty []float64, steps int) Fitted {
	if len(prior) != len(penalty) {
		panic("rank: prior and penalty differ in length")
	}
	parts := make([][]float64, shards)
	for s := range parts {
		parts[s] = make([]float64, len(prior))
	}
	return minimise(prior, steps, func(w, g []float64) float64 {
		clear(g)
		loss := c.loss(w, g, parts)
		for k, v := range penalty {
			if v > maxPenalty { // also infinite: held where it is
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

// maxPenalty is where a weight counts as held.
const maxPenalty = 1e12
