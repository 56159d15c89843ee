package plan

import (
	"slices"
	"sync/atomic"

	"waymark/internal/parallel"
	"waymark/predict/logit"
)

// Options of a fit. The zero value is a fit that runs to its end and tells nothing.
type Options struct {
	// Stop is asked often, from several goroutines; once it is true, the fit ends soon.
	Stop func() bool
	// Progress is told the share of the work that is done, in (0, 1], never falling, from one goroutine.
	Progress func(done float64)
}

// Fit learns from tasks, oldest first. needs[t] are tools that tool t is known to need, or nil.
func Fit(texts *Texts, needs [][]int32, tasks []Task) *Model {
	return FitWith(texts, needs, tasks, Options{})
}

// FitWith is [Fit] with options. It returns nil if it was stopped.
func FitWith(texts *Texts, needs [][]int32, tasks []Task, o Options) *Model {
	s := FitStudy(texts, needs, tasks, o)
	if s == nil {
		return nil
	}
	s.Model.Forget()
	return s.Model
}

// FitStudy is [FitWith], and what the model was fitted on, which the model keeps until [Model.Forget].
func FitStudy(texts *Texts, needs [][]int32, tasks []Task, o Options) *Study {
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
		m.first = untaught()
	}
	return &Study{m, f}
}

// untaught weighs what tools say of themselves alike, for a workspace without any history.
func untaught() *logit.Model {
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
	stop    func() bool
	stopped atomic.Bool
	sample  []*request // past requests that the weights of signals are fitted to, oldest first
	half    float64    // half-life of what they count, in requests; 0: all count alike
	held    float64    // how much more tightly than usual the weights are held
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

func (f *fit) open() {
	n := len(f.groups)
	f.sample = make([]*request, min(n, sampled)) // the newest
	f.each(len(f.sample), func(i int) {
		g := int32(n - len(f.sample) + i)
		f.sample[i] = f.reopen(g, f.groups[g].tasks[0].Text, f.groups[g].match)
	})
}

func (f *fit) fitScores() {
	if f.fade(); f.stopped.Load() {
		return
	}
	d := f.scores(f.sample)
	d.W = f.worth(f.sample, f.half)
	if f.hold(); f.stopped.Load() {
		return
	}
	if f.first = f.regress(d, penalty*f.held); f.first == nil {
		return
	}
	if f.needs != nil {
		if f.target = f.regress(f.goals(d), penalty*f.held); f.target == nil {
			return
		}
	}
	f.each(len(f.sample), func(i int) {
		f.sample[i].firstStage()
		f.sample[i].next()
	})
	if f.second = f.regress(f.corrections(d.W), corrected*f.held); f.second == nil {
		return
	}
	f.each(len(f.sample), func(i int) { f.sample[i].secondStage() })
}

// goals are the candidates of the sample as observations of what a task is done for, in the order of d,
// which are those of what it uses.
func (f *fit) goals(d logit.Data) logit.Data {
	e := logit.Data{P: d.P, X: d.X, W: d.W}
	for _, q := range f.sample {
		goal := map[int32]float64{}
		for _, l := range f.sinksOf(&f.groups[q.own]) {
			goal[f.tool[l.Label]] = l.Value
		}
		for _, t := range q.cand {
			e.Y = append(e.Y, float32(goal[t]))
		}
	}
	return e
}

// corrections are the candidates of the sample as observations of the second stage.
func (f *fit) corrections(worth []float32) logit.Data {
	base := len(baseNames)
	d := logit.Data{P: base + len(nextNames), W: worth}
	for _, q := range f.sample {
		for i, t := range q.cand {
			d.Add(q.f[i], q.mine[t])
			d.Z = append(d.Z, float32(f.first.Z(q.f[i][:base])))
		}
	}
	return d
}

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
				parts[k].W = append(parts[k].W, float32(f.mass(k)))
			}
		}
	})
	return logit.Join(len(linkNames), parts)
}
