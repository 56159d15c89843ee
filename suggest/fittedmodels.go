package suggest

import (
	"sync"

	"waymark/internal/codec"
	"waymark/learn/calibrate"
	nexttool "waymark/learn/next"
	planning "waymark/learn/plan"
	"waymark/learn/stop"
)

// fittedModels holds the models that are expensive to fit, and stored in snapshots. Everything else that is learned
// follows from them and the counts.
type fittedModels struct {
	weights nexttool.Weights                        // of the signals of the next tool; without any there is too little history
	sure    struct{ plain, asked *calibrate.Curve } // from the probability of the likeliest tool to how often it is the next
	stops   *stop.Weights
	texts   *planning.Texts
	planner *planning.Model // nil if there are too few intents

	provisional bool // not fitted: prior weights, no planner; see MeasureOptions
}

// Shares of the work of learning, as measured on histories of 50,000 steps.
const (
	nextDone  = .45
	stopsDone = .5
	plansDone = .95
)

// fit learns what comes next, and what intents need. It returns nil soon after halt says true.
func (l *trainingData) fit(next, plans bool, halt func() bool, tell func(done float64)) *fittedModels {
	f := &fittedModels{}
	if next {
		var claims nexttool.Predictions
		if f.weights, claims = nexttool.Fit(l.catalog, l.tasks, l.timed, halt); f.weights.Plain == nil {
			return nil
		}
		f.sure.plain = calibrate.Fit(claims.Plain)
		if f.sure.asked = f.sure.plain; len(claims.Asked) > 0 {
			f.sure.asked = calibrate.Fit(claims.Asked)
		}
		tell(nextDone)
		if f.stops = stop.Fit(l.ends, halt); f.stops == nil {
			return nil
		}
	}
	tell(stopsDone)
	if plans {
		f.texts = l.texts.planning()
		f.planner = planning.FitWith(f.texts, l.needs, l.plans, planning.Options{
			Stop: halt, Progress: func(done float64) { tell(stopsDone + float64((plansDone-stopsDone)*done)) },
		})
		if f.planner == nil {
			return nil
		}
	}
	if halt() {
		return nil
	}
	return f
}

// assume takes the prior weights of the next tool in place of fitted ones, uncalibrated, and no planner. Only how tasks
// end is fitted, which takes a twentieth of the time of a fit.
func (l *trainingData) assume(next bool, halt func() bool) *fittedModels {
	f := &fittedModels{provisional: true}
	if !next {
		return f
	}
	f.weights = nexttool.Prior()
	if f.stops = stop.Fit(l.ends, halt); f.stops == nil {
		return nil
	}
	f.sure.plain = calibrate.Fit(nil)
	f.sure.asked = f.sure.plain
	return f
}

// remember counts the past tasks for what was fitted. It reports whether halt left it to its end.
func (l *trainingData) remember(halt func() bool) bool {
	if l.weights.Plain == nil {
		return true
	}
	l.history = nexttool.NewHistory(l.catalog)
	l.history.Expect(len(l.tasks))
	for _, task := range l.tasks {
		if halt() {
			return false
		}
		l.history.Observe(task)
	}
	if l.history.Settle(halt); halt() {
		return false
	}
	l.history.Pack()
	l.endings = stop.New(l.ends, l.stops)
	return true
}

// matches reports whether what was kept is about the same tools: another version of the program might
// have read the history in another way.
func (f *fittedModels) matches(l *trainingData) bool {
	return f.texts == nil || f.texts.Len() == len(l.node)
}

// write stores either half, each behind a flag that says whether it was fitted.
func (f *fittedModels) write(w *codec.Writer) {
	w.Bool(f.weights.Plain != nil)
	if f.weights.Plain != nil {
		w.Floats(f.weights.Plain)
		w.Floats(f.weights.Asked)
		f.sure.plain.Write(w)
		f.sure.asked.Write(w)
		f.stops.Write(w)
	}
	w.Bool(f.planner != nil)
	if f.planner != nil {
		f.texts.Write(w)
		f.planner.Write(w)
	}
}

// keptModels are fitted models as a snapshot holds them, read when something first needs them: a question of profile
// seed never does, and they are most of a snapshot.
type keptModels struct {
	once   sync.Once
	data   []byte
	models *fittedModels
}

// get is nil where the data are damaged: the models are fitted again.
func (k *keptModels) get() *fittedModels {
	if k == nil {
		return nil
	}
	k.once.Do(func() {
		r := codec.NewReader(k.data)
		if models := readFittedModels(r); r.End() == nil {
			k.models = models
		}
		k.data = nil
	})
	return k.models
}

// readFittedModels reads what write wrote. What is damaged fails r.
func readFittedModels(r *codec.Reader) *fittedModels {
	f := &fittedModels{}
	if r.Bool() {
		f.weights = nexttool.Weights{Plain: r.Floats(), Asked: r.Floats()}
		if want := len(nexttool.Prior().Plain); len(f.weights.Plain) != want || len(f.weights.Asked) != want {
			r.Fail("weights of other signals")
		}
		f.sure.plain, f.sure.asked = calibrate.Read(r), calibrate.Read(r)
		f.stops = stop.Read(r)
	}
	if r.Bool() {
		f.texts = planning.ReadTexts(r)
		f.planner = planning.Read(r, f.texts)
	}
	return f
}
