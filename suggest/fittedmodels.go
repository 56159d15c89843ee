package suggest

import (
	"sync"

	"waymark/internal/codec"
	planning "waymark/learn/plan"
	"waymark/learn/rank"
)

// fittedModels holds the models that are expensive to fit, and stored in snapshots. Everything else that is learned
// follows from them and the counts.
type fittedModels struct {
	rank    *rank.Fitted
	texts   *planning.Texts
	planner *planning.Model // nil if there are too few intents

	provisional bool // not fitted: the reference ranks, and there is no planner; see MeasureOptions
}

// Shares of the work of learning, as measured on histories of 50,000 steps.
const (
	rankDone  = .6
	plansDone = .95
)

// fit learns what comes next, and what intents need. It returns nil soon after halt says true.
func (l *trainingData) fit(plans bool, halt func() bool, tell func(done float64)) *fittedModels {
	if l.ranker = rank.Fit(l.tools, l.tasks, rank.Options{Stop: halt}); l.ranker == nil {
		return nil
	}
	f := &fittedModels{rank: l.ranker.Fitted}
	tell(rankDone)
	if plans {
		f.texts = l.texts.planning()
		f.planner = planning.FitWith(f.texts, l.needs, l.plans, planning.Options{
			Stop: halt, Progress: func(done float64) { tell(rankDone + float64((plansDone-rankDone)*done)) },
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

// assume lets the reference rank, uncalibrated, without a planner.
func assume() *fittedModels { return &fittedModels{provisional: true, rank: rank.Prior()} }

// matches reports whether what was kept is about the same tools: another version of the program might
// have read the history in another way.
func (f *fittedModels) matches(l *trainingData) bool {
	return f.texts == nil || f.texts.Len() == len(l.node)
}

// write stores the models, the planner behind a flag that says whether there is one.
func (f *fittedModels) write(w *codec.Writer) {
	f.rank.Write(w)
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
	f := &fittedModels{rank: rank.ReadFitted(r)}
	if r.Bool() {
		f.texts = planning.ReadTexts(r)
		f.planner = planning.Read(r, f.texts)
	}
	return f
}
