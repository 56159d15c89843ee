package suggest

import (
	"sync"

	"waymark/internal/codec"
	"waymark/suggest/learn/rank"
)

// fittedModels holds the models that are expensive to fit and therefore stored in snapshots. Everything else that is
// learned is derived from them and the counts.
type fittedModels struct {
	rank *rank.Fitted

	provisional bool // not fitted yet: the reference ranks; see MeasureOptions
}

// fit fits the models that rank the next step and the tools that an intent needs. It returns nil soon after halt
// returns true.
func (l *trainingData) fit(halt func() bool, progress func(done float64)) *fittedModels {
	if l.ranker = rank.Fit(l.texts, l.tasks, rank.Options{Stop: halt, Progress: progress}); l.ranker == nil {
		return nil
	}
	return &fittedModels{rank: l.ranker.Fitted}
}

// assume returns models that are not fitted: the reference ranks, uncalibrated.
func assume() *fittedModels { return &fittedModels{provisional: true, rank: rank.Prior()} }

// storedModels are the encoded fitted models of a snapshot. They are decoded on first use, because they are most of a
// snapshot and requests of profile seed never need them.
type storedModels struct {
	once   sync.Once
	data   []byte
	models *fittedModels
}

// get decodes the models. It returns nil if the data are damaged, so that the models are fitted again.
func (k *storedModels) get() *fittedModels {
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
