package plan

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/logit"
)

const (
	faded   = .2  // half-life of a past request where the newer ones count more, as a share of the sample
	clearly = .85 // of the loss, at most, where that pays: it leaves a third of the sample to learn from
	better  = .5  // standard errors of the mean gain of other requests, at least
)

// fitRecency decides whether newer requests get more weight. Where requests drift, the weights of signals
// that suit the newest requests are others than those that suit all: of two fits to the older four
// fifths, the one to the newer of them must foresee the newest fifth clearly better. And what is asked
// for must really have changed for good: where kinds of requests come in turns, the newer ones do not help to
// rank those that are asked for elsewhere in the sample.
func (f *fit) fitRecency() {
	cut := len(f.sample) * 4 / 5
	if cut == 0 {
		return
	}
	older, newer := f.scores(f.sample[:cut]), f.scores(f.sample[cut:])
	alike := f.regress(older, penalty)
	if alike == nil {
		return
	}
	older.W = f.worth(f.sample[:cut], float64(faded*float64(cut)), both)
	recent := f.regress(older, penalty)
	if recent == nil {
		return
	}
	if loss(recent, newer) >= float64(clearly*loss(alike, newer)) || f.stopped.Load() {
		return
	}
	if half := float64(faded * float64(len(f.sample))); f.returns(half) > better {
		f.half = half
	}
}

// returns is what newer requests counting more gains the requests of a fifth spread over the sample, in
// average precision: the mean gain in standard errors of it.
func (f *fit) returns(half float64) float64 {
	var rest, spread []*request
	for k, q := range f.sample {
		if k%5 == 2 {
			spread = append(spread, q)
		} else {
			rest = append(rest, q)
		}
	}
	d := f.scores(rest)
	alike := f.regress(d, penalty)
	d.W = f.worth(rest, half, both)
	recent := f.regress(d, penalty)
	if alike == nil || recent == nil {
		return math.Inf(-1)
	}
	gains := make([]float64, len(spread))
	f.each(len(spread), func(i int) { gains[i] = spread[i].precision(recent) - spread[i].precision(alike) })
	return standard(gains)
}

// standard is the mean of gains in standard errors of it.
func standard(gains []float64) float64 {
	n, sum, squares := float64(len(gains)), numeric.Sum(gains), 0.0
	for _, g := range gains {
		squares += float64((g - sum/n) * (g - sum/n))
	}
	if squares == 0 {
		return 0 // all gain as much: nothing, or what counts for nothing here
	}
	return sum / math.Sqrt(float64(squares*(n/(n-1))))
}

// precision is the average precision of the candidates of a past request, ranked by the first stage.
func (q *request) precision(m *logit.Model) float64 {
	type ranked struct {
		at   int
		z, y float64
	}
	rank := make([]ranked, len(q.table.cand))
	for i, t := range q.table.cand {
		rank[i] = ranked{i, m.ZRow(q.table.f[i][:len(baseNames)]), q.mine[t]}
	}
	slices.SortFunc(rank, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.z, a.z), cmp.Compare(a.at, b.at)) })
	found, sum := 0.0, 0.0
	for i, r := range rank {
		found += r.y
		sum += float64(r.y*found) / float64(i+1)
	}
	if found == 0 {
		return 0
	}
	return sum / found
}

// scores are the candidates of requests as observations of the first stage.
func (f *fit) scores(sample []*request) logit.Data {
	d := logit.Data{P: len(baseNames)}
	d.Grow(rows(sample))
	for _, q := range sample {
		for i, t := range q.table.cand {
			d.AddRow(q.table.f[i], q.mine[t])
		}
	}
	return d
}

// rows counts the candidates of requests.
func rows(sample []*request) (n int) {
	for _, q := range sample {
		n += len(q.table.cand)
	}
	return n
}

// mass is what a request of the sample counts for weights of a kind, by its age and by how foreign it is.
func (q *request) mass(newest int32, half float64, kind int) float64 {
	x := 1.0
	if half > 0 {
		x = numeric.Exp2(-float64(newest-q.own) / half)
	}
	x *= 1 - q.m.groups[q.own].failed
	switch kind {
	case known:
		x *= 1 - q.foreign
	case foreign:
		x *= q.foreign
	}
	return x
}

// mass is what a request counts for weights of a kind.
func (f *fit) mass(q *request, kind int) float64 {
	return q.mass(f.sample[len(f.sample)-1].own, f.half, kind)
}

// worth is what the candidates of requests of the sample count for weights of a kind.
func (f *fit) worth(sample []*request, half float64, kind int) []float32 {
	var w []float32
	for _, q := range sample {
		x := float32(q.mass(sample[len(sample)-1].own, half, kind))
		for range q.table.cand {
			w = append(w, x)
		}
	}
	return w
}

// loss is the negative log-likelihood of what happened, in nats.
func loss(m *logit.Model, d logit.Data) float64 {
	sum := 0.0
	for i, z := range m.Zs(d) {
		z := float64(z)
		sum += math.Max(z, 0) + numeric.Ln(1+numeric.Exp(-math.Abs(z))) - float64(float64(d.Y[i])*z)
	}
	return sum
}
