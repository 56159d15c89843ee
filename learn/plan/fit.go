package plan

import (
	"slices"
	"sync/atomic"

	"waymark/internal/parallel"
	"waymark/learn/logit"
)

// Options of a fit. The zero value is a fit that runs to its end and tells nothing.
type Options struct {
	// Stop is asked often, from several goroutines; once it is true, the fit ends soon.
	Stop func() bool
	// Progress receives the fraction done, in (0, 1], non-decreasing, from one goroutine.
	Progress func(done float64)
}

// Fit learns from tasks, oldest first. needs[t] are tools that tool t is known to need, or nil.
func Fit(texts *Texts, needs [][]int32, tasks []Task) *Model {
	return FitWith(texts, needs, tasks, Options{})
}

// FitWith is [Fit] with options. It returns nil if it was stopped.
func FitWith(texts *Texts, needs [][]int32, tasks []Task, o Options) *Model {
	m := &Model{texts: texts, needs: needs}
	f := &fit{Model: m, stop: o.Stop}
	if f.stop == nil {
		f.stop = func() bool { return false }
	}
	for _, phase := range []struct {
		run  func()
		done float64 // share of the work after it, as measured
	}{
		{func() { m.group(tasks); m.count(); m.countSets() }, .05},
		{f.fitRidge, .5},
		{f.open, .6},
		{f.fitScores, .8},
		{f.fitSets, .95},
		{f.fitLinks, 1},
		{f.fitBounds, 1},
	} {
		phase.run()
		if f.stop() || f.stopped.Load() {
			return nil
		}
		if o.Progress != nil {
			o.Progress(phase.done)
		}
	}
	if len(m.groups) == 0 {
		m.kinds[known].first, m.kinds[foreign].first = defaultWeights(), &logit.Model{Slope: make([]float64, len(baseNames)), Mean: make([]float64, len(baseNames))}
	}
	m.forget()
	return m
}

// defaultWeights returns equal weights of the text features, for a workspace without history.
func defaultWeights() *logit.Model {
	n := len(baseNames)
	m := &logit.Model{Bias: -8, Slope: make([]float64, n), Mean: make([]float64, n)}
	for _, name := range []string{"text/best", "words", "clause", "cosine/best"} {
		m.Slope[slices.Index(baseNames, name)] = 2
	}
	return m
}

// fit is a model being fitted.
type fit struct {
	*Model
	stop           func() bool
	stopped        atomic.Bool
	sample         []*request // past requests that the weights of signals are fitted to, oldest first
	all            []*request // these, and then some of them in other words
	half           float64    // half-life of what they count, in requests; 0: all count alike
	regularisation float64    // how much more tightly than usual the weights are held
}

// each calls g with 0 to n-1, on all processors, unless the fit is stopped.
func (f *fit) each(n int, g func(i int)) {
	parallel.Each(n, func(i int) {
		if f.stopped.Load() {
			return
		}
		if f.stop() {
			f.stopped.Store(true)
			return
		}
		g(i)
	})
}

// regress fits a regression, or stops the fit.
func (f *fit) regress(d logit.Data, penalty float64) *logit.Model {
	return f.regressFrom(d, penalty, nil)
}

// regressFrom is regress from another model on.
func (f *fit) regressFrom(d logit.Data, penalty float64, start *logit.Model) *logit.Model {
	m := logit.FitFrom(d, penalty, start, f.stop)
	if m == nil {
		f.stopped.Store(true)
	}
	return m
}

// open reads the newest wordings as new requests, and every everyReworded-th of them again with fewer of its
// words. Slots are filled in parallel by position, so the result does not depend on the number of processors.
func (f *fit) open() {
	n := len(f.groups)
	own := min(n, sampled) // the newest
	f.all = make([]*request, own+own/everyReworded)
	f.each(len(f.all), func(i int) {
		if i < own {
			g := int32(n - own + i)
			f.all[i] = f.reopen(g, f.groups[g].tasks[0].Text, f.groups[g].match)
		} else {
			g := int32(n - 1 - (len(f.all)-1-i)*everyReworded)
			f.all[i] = f.reopen(g, f.reworded(f.groups[g].tasks[0].Text), nil)
		}
	})
	f.sample = f.all[:own]
}

// fitScores settles how the weights are fitted (outcomes, recency, regularisation, which requests are
// foreign), each step with the results of those before it, and then fits the weights of both stages.
func (f *fit) fitScores() {
	if f.selectOutcomes(); f.stopped.Load() {
		return
	}
	if f.fitRecency(); f.stopped.Load() {
		return
	}
	if f.selectRegularisation(); f.stopped.Load() {
		return
	}
	if f.fitGate(); f.stopped.Load() {
		return
	}
	f.fitStages()
}

// fitStages fits the weights of both stages.
func (f *fit) fitStages() {
	from := &Model{}
	d := f.scores(f.all)
	f.fitKinds(d, penalty, func(m *Model, kind int) **logit.Model { return &m.kinds[kind].first }, from)
	if f.needs != nil {
		f.fitKinds(f.goals(d), penalty, func(m *Model, kind int) **logit.Model { return &m.kinds[kind].target }, from)
	}
	if f.stopped.Load() {
		return
	}
	f.each(len(f.all), func(i int) {
		f.all[i].firstStage()
		f.all[i].next()
	})
	if f.stopped.Load() {
		return
	}
	d = f.corrections()
	f.fitKinds(d, corrected, func(m *Model, kind int) **logit.Model { return &m.kinds[kind].second }, from)
	if f.stopped.Load() {
		return
	}
	f.each(len(f.all), func(i int) { f.all[i].secondStage() })
}

// fitKinds fits weights for known requests, and what is added to them for foreign ones, from those of another
// model on.
func (f *fit) fitKinds(d logit.Data, penalty float64, of func(m *Model, kind int) **logit.Model, from *Model) {
	penalty *= f.regularisation
	for kind := range f.kinds {
		d.W = f.worth(f.all, f.half, kind)
		if *of(f.Model, kind) = f.regressFrom(d, penalty, *of(from, kind)); f.stopped.Load() {
			return
		}
		d.Z = (*of(f.Model, kind)).Zs(d)
		penalty *= apart
	}
}

// goals are the candidates of the sample as observations of what a task is done for, in the order of d,
// which are those of what it uses.
func (f *fit) goals(d logit.Data) logit.Data {
	e := logit.Data{P: d.P, X: d.X, Rows: d.Rows, W: d.W}
	for _, q := range f.all {
		goal := map[int32]float64{}
		for _, l := range f.sinksOf(&f.groups[q.own]) {
			goal[f.dense.tool[l.Label]] = l.Value
		}
		for _, t := range q.table.cand {
			e.Y = append(e.Y, float32(goal[t]))
		}
	}
	return e
}

// corrections are the candidates of the sample as observations of the second stage.
func (f *fit) corrections() logit.Data {
	base := len(baseNames)
	d := logit.Data{P: base + len(nextNames)}
	d.Grow(rows(f.all))
	for _, q := range f.all {
		for i, t := range q.table.cand {
			d.AddRow(q.table.f[i], q.mine[t])
			d.Z = append(d.Z, float32(q.first.ZRow(q.table.f[i][:base])))
		}
	}
	return d
}

// fitLinks counts how often links were drawn before it weighs them: the rates are features of the regression.
func (f *fit) fitLinks() {
	f.countRates()
	f.linker = f.regress(f.linkings(), penalty)
}

// linkings are the ordered pairs of tools of the sample's tasks as observations of links.
func (f *fit) linkings() logit.Data {
	parts := make([]logit.Data, len(f.sample))
	f.each(len(f.sample), func(k int) {
		q := f.sample[k]
		g := &f.groups[q.own]
		var set []int32
		for _, l := range g.tools {
			if l.Value >= .5 {
				set = append(set, l.Label)
			}
		}
		if len(set) < 2 || len(set) > 25 || len(g.links) == 0 {
			return
		}
		ps := q.pairs(set)
		for i, a := range set {
			for j, b := range set {
				if i == j {
					continue
				}
				y := 0.0
				if at, ok := slices.BinarySearchFunc(g.links, pair{a, b}, func(l link, p pair) int { return byPair(pair{l.from, l.to}, p) }); ok {
					y = g.links[at].value
				}
				parts[k].Add(ps[i*len(set)+j], y)
				parts[k].W = append(parts[k].W, float32(f.mass(q, both)))
			}
		}
	})
	return logit.Join(len(linkNames), parts)
}
