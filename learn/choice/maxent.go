package choice

import (
	"math"
	"math/bits"
	"slices"

	"waymark/internal/numeric"
)

// Step length of AdaGrad and what its sums start with. Chosen, not tuned.
const (
	rate  = .12
	start = .05

	negligible = 1e-3 // probability of a candidate that is not pushed further down: most are such
)

// A Model learns from one pass which features of a situation speak for which tool.
//
// The model is multinomial and log-linear (maximum entropy) on top of what another model says, its
// offset: a feature φ of the situation with value v adds v·θ(φ, t) to the score of tool t,
//
//	s(t) = offset(t) + Σ_φ v_φ·θ(φ, t)        P(t) = exp s(t) / Σ_t' exp s(t')
//
// so θ learns only what the offset does not know: with the logarithm of a chain's probability as the
// offset, θ of tools that are far back, of open branches, or of words of the request. Each term is a
// reason that can be shown. Training is AdaGrad (Duchi, Hazan and Singer, JMLR 12, 2011) in the order
// given: a score asked for before an example is learned has not seen it, which is what fitting
// a combination of models needs. Weights live in a table of fixed size, addressed by a hash: collisions
// cost a little accuracy, and memory does not grow.
//
// It is not safe for concurrent use while it learns.
type Model struct {
	weights []weight // nil once packed
	packed  packed
	shift   uint
	scores  []float64
	slots   []uint32 // of each candidate's features, in a row
}

// packed are the weights that are not 0.
type packed struct {
	set   []uint64 // a bit for each slot that has one
	rank  []uint32 // how many there are before each word of set
	theta []float32
}

func (p *packed) weight(slot uint64) float32 {
	word, bit := p.set[slot>>6], uint64(1)<<(slot&63)
	if word&bit == 0 {
		return 0
	}
	return p.theta[p.rank[slot>>6]+uint32(bits.OnesCount64(word&(bit-1)))]
}

// Pack gives up what only learning needs and the room of weights that are 0. [Model.Learn] must not be called after it.
func (m *Model) Pack() {
	m.packed = packed{set: make([]uint64, (len(m.weights)+63)/64), rank: make([]uint32, (len(m.weights)+63)/64)}
	n := 0
	for slot := range m.weights {
		if m.weights[slot].theta != 0 {
			m.packed.set[slot>>6] |= 1 << (slot & 63)
			n++
		}
	}
	m.packed.theta = make([]float32, 0, n)
	for slot := range m.weights {
		if slot&63 == 0 {
			m.packed.rank[slot>>6] = uint32(len(m.packed.theta))
		}
		if theta := m.weights[slot].theta; theta != 0 {
			m.packed.theta = append(m.packed.theta, theta)
		}
	}
	m.weights, m.scores, m.slots = nil, nil, nil
}

// A weight stands beside the sum of its squared gradients, because learning needs both.
type weight struct{ theta, squares float32 }

// NewModel is a model with 2^size weights, all 0; it takes 2^(size+3) bytes, less once packed. 1 ≤ size ≤ 30.
func NewModel(size int) *Model {
	if size < 1 || size > 30 {
		panic("maxent: bits out of range")
	}
	return &Model{weights: make([]weight, 1<<size), shift: uint(64 - size)}
}

// A Feature is something true of a situation, named by a hash, and how much.
type Feature struct {
	Key   uint64
	Value float32
}

// A Candidate is a tool that may come next.
type Candidate struct {
	Tool   int32
	Offset float64   // what other models say, a logarithm of a probability up to a constant
	Own    []Feature // true of this candidate in this situation, besides those of the situation
}

// spread is what a tool adds to the keys of its features.
func spread(tool int32) uint64 { return uint64(tool) * 0x9e3779b97f4a7c15 }

func (m *Model) slot(key, spread uint64) uint64 {
	return ((key ^ spread) * 0xff51afd7ed558ccd) >> m.shift
}

// Score is Σ_φ v_φ·θ(φ, t) over the features, without the offset.
func (m *Model) Score(features []Feature, tool int32) float64 {
	s, of := 0.0, spread(tool)
	if m.weights == nil {
		for _, f := range features {
			s += float64(f.Value * m.packed.weight(m.slot(f.Key, of)))
		}
		return s
	}
	for _, f := range features {
		s += float64(f.Value * m.weights[m.slot(f.Key, of)].theta)
	}
	return s
}

// Learn takes one step towards the candidate taken and returns -ln P of it before the step, in nats.
func (m *Model) Learn(situation []Feature, candidates []Candidate, taken int) float64 {
	p, slots := m.scores[:0], m.slots[:0]
	top := math.Inf(-1)
	for _, c := range candidates {
		sum, of := c.Offset, spread(c.Tool)
		for _, features := range [2][]Feature{situation, c.Own} {
			n := len(slots)
			slots = slices.Grow(slots, len(features))[:n+len(features)]
			own := slots[n:]
			for i, f := range features {
				slot := m.slot(f.Key, of)
				own[i] = uint32(slot)
				sum += float64(f.Value * m.weights[slot].theta)
			}
		}
		p = append(p, sum)
		top = max(top, sum)
	}
	m.scores, m.slots = p, slots
	at, z := p[taken]-top, 0.0
	numeric.Exps(p, top)
	for _, e := range p {
		z += e
	}
	for i, c := range candidates {
		d := p[i] / z
		if i == taken {
			d--
		}
		n := len(situation)
		if math.Abs(d) >= negligible {
			m.step(situation, slots[:n], float32(d))
			m.step(c.Own, slots[n:n+len(c.Own)], float32(d))
		}
		slots = slots[n+len(c.Own):]
	}
	return numeric.Ln(z) - at
}

// step moves the weights of some features against the gradient d·value, each by its own rate, AdaGrad (Duchi,
// Hazan and Singer, JMLR 12, 2011): rate/√(start + Σ g²).
func (m *Model) step(features []Feature, slots []uint32, d float32) {
	for k, f := range features {
		w := &m.weights[slots[k]]
		g := float32(d * f.Value)
		w.squares += float32(g * g)
		w.theta -= float32(rate * g / float32(math.Sqrt(float64(w.squares)+start)))
	}
}
