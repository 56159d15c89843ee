package learn

import (
	"math"
	"slices"

	"waymark/internal/codec"
	"waymark/internal/numeric"
)

// Case is an observation: with features X the event happened with share Y in [0, 1]. The case counts Weight times.
type Case struct {
	X         []float64
	Y, Weight float64
	Z         float64 // log-odds of an earlier model; the fit only corrects them
}

// A Logit is a logistic regression: the probability of an event as a sum of terms,
//
//	p(x) = 1 / (1 + e^-z),   z = b₀ + Σ bₖ·(xₖ - mₖ)/sₖ,
//
// where m and s are the means and standard deviations of the features in the data, and b maximises the penalised
// likelihood (Newton's method). Every probability can be taken apart into its terms.
//
// The zero Logit of P features gives one half.
type Logit struct {
	Bias  float64
	Slope []float64 // per unit of the raw feature
	Mean  []float64
}

const newtonSteps = 40

// FitLogit maximises the likelihood of cases of n features minus penalty/2·Σ bₖ² (without b₀). A feature that never
// varies gets slope 0. The penalty must be positive.
func FitLogit(cases []Case, n int, penalty float64) *Logit {
	m := &Logit{Slope: make([]float64, n), Mean: make([]float64, n)}
	total := 0.0
	for _, c := range cases {
		total += c.Weight
		numeric.Axpy(c.Weight, c.X, m.Mean)
	}
	if total == 0 {
		return m
	}
	scale := make([]float64, n)
	for k := range m.Mean {
		m.Mean[k] /= total
		square := 0.0
		for _, c := range cases {
			d := c.X[k] - m.Mean[k]
			square += float64(c.Weight * float64(d*d))
		}
		if s := math.Sqrt(square / total); s > 1e-5 {
			scale[k] = 1 / s
		}
	}
	b := climb(cases, m.Mean, scale, penalty)
	m.Bias = b[n]
	for k := range m.Slope {
		m.Slope[k] = float64(b[k] * scale[k])
	}
	return m
}

// climb returns the maximum of the penalised likelihood, found by Newton's method; the bias is the last element. A step
// after which the likelihood is lower is halved.
func climb(cases []Case, mean, scale []float64, penalty float64) []float64 {
	n := len(mean) + 1
	b, last, least := make([]float64, n), make([]float64, n), math.Inf(1)
	x := make([]float64, n)
	for range newtonSteps {
		loss := 0.0
		h := make([][]float64, n) // the Hessian and, as its last column, the gradient
		for k := range h {
			h[k] = make([]float64, n+1)
			h[k][k] = 1e-9
			if k < n-1 {
				h[k][k], h[k][n] = penalty, -float64(penalty*b[k])
				loss += float64(float64(penalty/2*b[k]) * b[k])
			}
		}
		for _, c := range cases {
			for k, v := range c.X {
				x[k] = float64((v - mean[k]) * scale[k])
			}
			x[n-1] = 1
			z := c.Z + numeric.Dot(b, x)
			p := Sigmoid(z)
			loss += float64(c.Weight * (max(z, 0) + numeric.Ln(1+numeric.Exp(-math.Abs(z))) - float64(c.Y*z)))
			v, e := float64(c.Weight*float64(p*(1-p))), float64(c.Weight*(c.Y-p))
			for k := range x {
				numeric.Axpy(float64(v*x[k]), x, h[k][:n])
				h[k][n] += float64(e * x[k])
			}
		}
		if loss > least+float64(1e-9*math.Abs(least)) {
			for k := range b {
				b[k] = (b[k] + last[k]) / 2
			}
			continue
		}
		small := least-loss < float64(1e-7*math.Abs(loss))
		least = loss
		copy(last, b)
		if small {
			break
		}
		for k, step := range solve(h) {
			b[k] += step
		}
	}
	return last
}

// solve solves the linear equations whose rows are those of h, with the right side last, by Gaussian elimination. The
// matrix is positive definite, so no rows have to be exchanged.
func solve(h [][]float64) []float64 {
	n := len(h)
	x := make([]float64, n)
	for i := range n {
		for r := i + 1; r < n; r++ {
			numeric.Axpy(-h[r][i]/h[i][i], h[i], h[r])
		}
	}
	for i := n - 1; i >= 0; i-- {
		x[i] = (h[i][n] - numeric.Dot(h[i][i+1:n], x[i+1:])) / h[i][i]
	}
	return x
}

// Plus returns the model whose log-odds are the sum of those of m and n.
func (m *Logit) Plus(n *Logit) *Logit {
	sum := &Logit{Bias: m.Bias + n.Bias, Slope: slices.Clone(m.Slope), Mean: m.Mean}
	for k, slope := range n.Slope {
		sum.Slope[k] += slope
		sum.Bias += float64(slope * (m.Mean[k] - n.Mean[k]))
	}
	return sum
}

// Z returns the log-odds of an event with features x.
func (m *Logit) Z(x []float64) float64 {
	z := m.Bias
	for k, v := range x {
		z += float64(m.Slope[k] * (v - m.Mean[k]))
	}
	return z
}

// P returns the probability of an event with features x.
func (m *Logit) P(x []float64) float64 { return Sigmoid(m.Z(x)) }

// Sigmoid returns 1 / (1 + e^-z).
func Sigmoid(z float64) float64 {
	if z < 0 {
		e := numeric.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + numeric.Exp(-z))
}

// Write writes the model for [ReadLogit].
func (m *Logit) Write(w *codec.Writer) {
	w.Float(m.Bias)
	w.Floats(m.Slope)
	w.Floats(m.Mean)
}

// ReadLogit reads the output of [Logit.Write] for a model of p features. Damaged input makes r fail.
func ReadLogit(r *codec.Reader, p int) *Logit {
	m := &Logit{Bias: r.Float(), Slope: r.Floats(), Mean: r.Floats()}
	if len(m.Slope) != p || len(m.Mean) != p {
		r.Fail("%d slopes and %d means of %d features", len(m.Slope), len(m.Mean), p)
		return &Logit{Slope: make([]float64, p), Mean: make([]float64, p)}
	}
	return m
}
