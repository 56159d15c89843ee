// Package logit is logistic regression: the probability of an event as a sum of terms,
//
//	p(x) = 1 / (1 + e^-z),   z = b₀ + Σ bₖ·(xₖ - mₖ)/sₖ,
//
// m and s the means and deviations of the features in the data, b by Newton's method on the penalised
// likelihood. Every probability can be taken apart into its terms. The same data give the same bits at
// any number of processors.
package logit

import (
	"math"
	"slices"

	"waymark/internal/numeric"
	"waymark/internal/parallel"
)

// Data is a table of observations: row i has features X[i·P : (i+1)·P], happened with share Y[i] in [0, 1] and counts W[i]
// times; W may be nil for 1 each.
type Data struct {
	P int
	X []float32
	Y []float32
	W []float32
	Z []float32 // log-odds to start from, that the model only corrects; nil for 0
}

// Add appends an observation of weight 1, or w where the table has weights.
func (d *Data) Add(x []float64, y float64) {
	for _, v := range x {
		d.X = append(d.X, float32(v))
	}
	d.Y = append(d.Y, float32(y))
}

func (d *Data) row(i int) []float32 { return d.X[i*d.P : (i+1)*d.P] }

// Model is a fitted regression. The zero Model of P features gives one half.
type Model struct {
	Bias  float64
	Slope []float64 // per unit of the raw feature
	Mean  []float64
}

const (
	steps = 40
	chunk = 2048 // rows summed together, whatever the number of processors
)

// Fit maximises the likelihood of d less penalty/2·Σ bₖ² (not of b₀). A feature that never varies gets
// no slope. The penalty must be positive.
func Fit(d Data, penalty float64) *Model {
	P, n := d.P, len(d.Y)
	m := &Model{Slope: make([]float64, P), Mean: make([]float64, P)}
	if n == 0 {
		return m
	}
	scale := make([]float64, P)
	total := 0.0
	for i := range n {
		w := d.weight(i)
		total += w
		numeric.Axpy32(w, d.row(i), m.Mean)
	}
	for k := range P {
		m.Mean[k] /= total
	}
	for i := range n {
		w := d.weight(i)
		mean, scale := m.Mean[:P], scale[:P]
		for k, x := range d.row(i) {
			c := float64(x) - mean[k]
			scale[k] += float64(w * float64(c*c))
		}
	}
	for k := range P {
		if s := math.Sqrt(scale[k] / total); s > 1e-5 {
			scale[k] = 1 / s
		} else {
			scale[k] = 0
		}
	}
	b := make([]float64, P+1) // b[P] is the bias
	if d.Z == nil {
		mean := 0.0
		for i := range n {
			mean += float64(d.weight(i) * float64(d.Y[i]))
		}
		mean = (mean + .5) / (total + 1)
		b[P] = numeric.Ln(mean / (1 - mean))
	}
	d.climb(b, m.Mean, scale, penalty)
	m.Bias = b[P]
	for k := range P {
		m.Slope[k] = float64(b[k] * scale[k])
	}
	return m
}

// climb moves b to where the penalised likelihood is largest, by Newton's method, and never to where it is
// less than before: a step that was not looked at, or was too far, is taken back at the end.
func (d *Data) climb(b, mean, scale []float64, penalty float64) {
	P := d.P
	loss := math.Inf(1)
	last := append([]float64(nil), b...)
	for range steps {
		g, h, now := d.newton(b, mean, scale)
		for k := range P {
			g[k] -= float64(penalty * b[k])
			h[k*(P+1)+k] += penalty
			now += float64(float64(penalty/2*b[k]) * b[k])
		}
		h[P*(P+1)+P] += 1e-9
		if now > loss+float64(1e-9*math.Abs(loss)) { // too far: half the way back
			for k := range b {
				b[k] = (b[k] + last[k]) / 2
			}
			continue
		}
		small := loss-now < float64(1e-7*math.Abs(now))
		loss = now
		copy(last, b)
		if small {
			break
		}
		solve(h, g, P+1)
		for k := range b {
			b[k] += g[k]
		}
	}
	copy(b, last)
}

// Plus is the model whose log-odds are those of m and n.
func (m *Model) Plus(n *Model) *Model {
	sum := &Model{Bias: m.Bias + n.Bias, Slope: slices.Clone(m.Slope), Mean: m.Mean}
	for k, slope := range n.Slope {
		sum.Slope[k] += slope
		sum.Bias += float64(slope * (m.Mean[k] - n.Mean[k]))
	}
	return sum
}

// Z is the log-odds of an event with features x.
func (m *Model) Z(x []float64) float64 { return logOdds(m, x) }

// ZRow is Z for features of the precision that a table has.
func (m *Model) ZRow(x []float32) float64 { return logOdds(m, x) }

func logOdds[F float32 | float64](m *Model, x []F) float64 {
	z := m.Bias
	for k, v := range x {
		z += float64(m.Slope[k] * (float64(v) - m.Mean[k]))
	}
	return z
}

// P is its probability.
func (m *Model) P(x []float64) float64 { return Sigmoid(m.Z(x)) }

// Sigmoid is 1 / (1 + e^-z).
func Sigmoid(z float64) float64 {
	if z < 0 {
		e := numeric.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + numeric.Exp(-z))
}

func (d *Data) weight(i int) float64 {
	if d.W == nil {
		return 1
	}
	return float64(d.W[i])
}

// newton returns gradient, Hessian (upper triangle) and loss at b. Rows are taken by four: each sum has them
// in order all the same.
func (d *Data) newton(b, mean, scale []float64) (g, h []float64, loss float64) {
	Q := d.P + 1
	wide := (Q + 3) &^ 3 // of a row of x and h, the rest zero
	chunks := (len(d.Y) + chunk - 1) / chunk
	type part struct {
		g, h []float64
		loss float64
	}
	parts := make([]part, chunks)
	parallel.Each(chunks, func(c int) {
		x := make([]float64, 4*wide)
		row := func(r int) []float64 { return x[r*wide : (r+1)*wide] }
		p := part{g: make([]float64, wide), h: make([]float64, wide*wide)}
		for i, end := c*chunk, min((c+1)*chunk, len(d.Y)); i < end; i += 4 {
			if end-i < 4 {
				clear(x)
			}
			var e, v, z, exp [4]float64
			d.standardise(i, min(i+4, end), b, mean, scale, x, &z)
			for r := range z {
				exp[r] = -math.Abs(z[r])
			}
			numeric.Exps(exp[:], 0)
			for r := range min(4, end-i) {
				w, y, mu := d.weight(i+r), float64(d.Y[i+r]), exp[r]/(1+exp[r])
				if z[r] >= 0 {
					mu = 1 / (1 + exp[r])
				}
				// -ln likelihood = ln(1 + e^z) - y·z, without overflow
				p.loss += float64(w * (math.Max(z[r], 0) + numeric.Ln(1+exp[r]) - float64(y*z[r])))
				e[r], v[r] = float64(w*(y-mu)), float64(w*float64(mu*(1-mu)))
			}
			numeric.Axpy4(&e, row(0), row(1), row(2), row(3), p.g)
			numeric.Syr4(&v, x, p.h, wide)
		}
		parts[c] = p
	})
	g, sum := make([]float64, wide), make([]float64, wide*wide)
	for _, p := range parts {
		numeric.Axpy(1, p.g, g)
		numeric.Axpy(1, p.h, sum)
		loss += p.loss
	}
	h = make([]float64, Q*Q)
	for k := range Q {
		copy(h[k*Q+k:(k+1)*Q], sum[k*wide+k:k*wide+Q])
	}
	return g[:Q], h, loss
}

// standardise fills x with the rows i to end-1, at most four, and a 1 at the end of each, and z with their
// log-odds at b.
func (d *Data) standardise(i, end int, b, mean, scale, x []float64, z *[4]float64) {
	P, wide := d.P, len(x)/4
	mean, scale, slope := mean[:P], scale[:P], b[:P]
	for r := range end - i {
		z[r] = b[P]
		if d.Z != nil {
			z[r] += float64(d.Z[i+r])
		}
		x[r*wide+P] = 1
	}
	if end-i == 4 { // side by side, for each sum waits for itself
		f0, f1, f2, f3 := d.row(i)[:P], d.row(i + 1)[:P], d.row(i + 2)[:P], d.row(i + 3)[:P]
		x0, x1, x2, x3 := x[:P], x[wide:][:P], x[2*wide:][:P], x[3*wide:][:P]
		z0, z1, z2, z3 := z[0], z[1], z[2], z[3]
		for k, b := range slope {
			m, s := mean[k], scale[k]
			x0[k] = float64((float64(f0[k]) - m) * s)
			x1[k] = float64((float64(f1[k]) - m) * s)
			x2[k] = float64((float64(f2[k]) - m) * s)
			x3[k] = float64((float64(f3[k]) - m) * s)
			z0 += float64(b * x0[k])
			z1 += float64(b * x1[k])
			z2 += float64(b * x2[k])
			z3 += float64(b * x3[k])
		}
		*z = [4]float64{z0, z1, z2, z3}
		return
	}
	for r := range end - i {
		x := x[r*wide:][:P]
		for k, f := range d.row(i + r) {
			x[k] = float64((float64(f) - mean[k]) * scale[k])
			z[r] += float64(slope[k] * x[k])
		}
	}
}

// solve replaces g by h⁻¹·g; h is positive definite, its upper triangle given (Cholesky).
func solve(h, g []float64, n int) {
	for i := range n {
		for j := i; j < n; j++ {
			s := h[i*n+j]
			for k := range i {
				s -= float64(h[k*n+i] * h[k*n+j])
			}
			if i == j {
				h[i*n+i] = math.Sqrt(math.Max(s, 1e-12))
			} else {
				h[i*n+j] = s / h[i*n+i]
			}
		}
	}
	for i := range n {
		s := g[i]
		for k := range i {
			s -= float64(h[k*n+i] * g[k])
		}
		g[i] = s / h[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		s := g[i]
		for k := i + 1; k < n; k++ {
			s -= float64(h[i*n+k] * g[k])
		}
		g[i] = s / h[i*n+i]
	}
}
