package suggest

import (
	"sync"

	"waymark/internal/codec"
	"waymark/suggest/learn/rank"
)

// fittedModels holds the models that are expensive to fit, and stored in snapshots. Everything else that is learned
// follows from them and the counts.
type fittedModels struct {
	rank *rank.Fitted

	provisional bool // not fitted: the reference ranks; see MeasureOptions
}

// fit learns what comes next, and what intents need. It returns nil soon after halt says true.
func (l *trainingData) fit(halt func() bool, progress func(done float64)) *fittedModels {
	if l.ranker = rank.Fit(l.texts, l.tasks, rank.Options{Stop: halt, Progress: progress}); l.ranker == nil {
		return nil
	}
	return &fittedModels{rank: l.ranker.Fitted}
}

// assume lets the reference rank, uncalibrated.
func assume() *fittedModels { return &fittedModels{provisional: true, rank: rank.Prior()} }

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
		if fitted := rank.ReadFitted(r); r.End() == nil {
			k.models = &fittedModels{rank: fitted}
		}
		k.data = nil
	})
	return k.models
}
