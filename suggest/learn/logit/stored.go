package logit

import "waymark/internal/codec"

// Write writes the model for [Read].
func (m *Model) Write(w *codec.Writer) {
	w.Float(m.Bias)
	w.Floats(m.Slope)
	w.Floats(m.Mean)
}

// Read reads what [Model.Write] wrote of a model of p features. What is damaged fails r.
func Read(r *codec.Reader, p int) *Model {
	m := &Model{Bias: r.Float(), Slope: r.Floats(), Mean: r.Floats()}
	if len(m.Slope) != p || len(m.Mean) != p {
		r.Fail("%d slopes and %d means of %d features", len(m.Slope), len(m.Mean), p)
		return &Model{Slope: make([]float64, p), Mean: make([]float64, p)}
	}
	return m
}
