package plan

import (
	"math"

	"waymark/numeric"
	"waymark/predict/logit"
)

const (
	faded   = .2  // half-life of a past request where the newer ones count more, as a share of the sample
	clearly = .85 // of the loss, at most, where that pays: it leaves a third of the sample to learn from
)

// fade decides whether newer requests count more. Where what is asked for drifts, the weights of signals
// that suit the newest requests are others than those that suit all: of two fits to the older four
// fifths, the one to the newer of them must foresee the newest fifth clearly better.
func (f *fit) fade() {
	cut := len(f.sample) * 4 / 5
	if cut == 0 {
		return
	}
	older, newer := f.scores(f.sample[:cut]), f.scores(f.sample[cut:])
	alike := f.regress(older, penalty)
	if alike == nil {
		return
	}
	older.W = f.worth(f.sample[:cut], float64(faded*float64(cut)))
	recent := f.regress(older, penalty)
	if recent == nil {
		return
	}
	if loss(recent, newer) < float64(clearly*loss(alike, newer)) {
		f.half = float64(faded * float64(len(f.sample)))
	}
}

// scores are the candidates of requests as observations of the first stage.
func (f *fit) scores(sample []*request) logit.Data {
	d := logit.Data{P: len(baseNames)}
	for _, q := range sample {
		for i, t := range q.cand {
			d.Add(q.f[i][:d.P], q.mine[t])
		}
	}
	return d
}

// worth is what each candidate of the sample counts, by the age of its request; nil is 1 for each.
func (f *fit) worth(sample []*request, half float64) []float32 {
	if half == 0 {
		return nil
	}
	var w []float32
	for k, q := range sample {
		x := float32(numeric.Exp2(-float64(len(sample)-1-k) / half))
		for range q.cand {
			w = append(w, x)
		}
	}
	return w
}

// mass is what the k-th request of the sample counts.
func (f *fit) mass(k int) float64 {
	if f.half == 0 {
		return 1
	}
	return numeric.Exp2(-float64(len(f.sample)-1-k) / f.half)
}

// loss is the negative log-likelihood of what happened, in nats.
func loss(m *logit.Model, d logit.Data) float64 {
	x, sum := make([]float64, d.P), 0.0
	for i, y := range d.Y {
		for k := range x {
			x[k] = float64(d.X[i*d.P+k])
		}
		z := m.Z(x)
		sum += math.Max(z, 0) + numeric.Ln(1+numeric.Exp(-math.Abs(z))) - float64(float64(y)*z)
	}
	return sum
}
