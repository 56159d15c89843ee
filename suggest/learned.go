package suggest

import (
	"sync"
	"sync/atomic"

	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
)

// The part of the history that is learned from.
const (
	newestSteps = 50_000 // the newest steps, which are learned from; older ones are left out
)

// ShortSteps is the number of steps up to which a history is short, so that every build learns. Tests lower it.
var ShortSteps = 5_000

// learned holds the models that package rank learned from a history. It numbers tools and capabilities in order of id.
type learned struct {
	tool  []int32 // by node, its number, -1 = none
	node  []int32 // by number
	older bool    // the history has older steps that were not learned from
	fittedModels
	ranker *rank.Model
}

// lazyRankers computes, once, the models learned from counts: in the build if that is requested, else for the
// first request that needs them, because it takes longer than all other measures together. The result is a
// function of the counts alone, so the time of the computation does not matter.
type lazyRankers struct {
	steps int // of all tasks

	texts *textMeasures

	provisional bool // see MeasureOptions

	mu     sync.Mutex
	counts *history.Counts              // nil once the result is computed
	known  atomic.Pointer[storedModels] // stored models of an earlier fit; nil: none
	result atomic.Pointer[learned]
}

// newLearning prepares the learning and counts the steps to learn from.
func newLearning(c *history.Counts, texts *textMeasures) *lazyRankers {
	l := &lazyRankers{counts: c, texts: texts}
	for i := range c.Past.N {
		p := c.Past.Episode(i)
		if p.Limited {
			continue
		}
		l.steps += len(p.Nodes)
	}
	return l
}

// isShort reports whether the history is so short that learning takes no longer than the rest of a build.
func (l *lazyRankers) isShort() bool { return l.steps <= ShortSteps }

// get returns the learned models. The first caller computes them, and others wait for the result.
func (l *lazyRankers) get() *learned {
	if done := l.result.Load(); done != nil {
		return done
	}
	return l.compute(never, func(float64) {})
}

// never is a halt function for work that must not be interrupted.
func never() bool { return false }

// compute fits the models, or uses stored ones. It returns nil soon after halt returns true. progress receives
// the fraction done, in [0, 1]. The lock makes the first caller fit and the others wait for its result.
func (l *lazyRankers) compute(halt func() bool, progress func(done float64)) *learned {
	l.mu.Lock()
	defer l.mu.Unlock()
	if done := l.result.Load(); done != nil {
		return done
	}
	training := newTrainingData(l.counts, l.texts, halt)
	if training == nil {
		return nil
	}
	f := l.known.Load().get()
	switch {
	case f != nil:
	case l.provisional:
		f = assume()
	default:
		f = training.fit(halt, progress)
	}
	if f == nil {
		return nil
	}
	training.fittedModels = *f
	if training.ranker == nil {
		if training.ranker = f.rank.On(training.texts, training.tasks, halt); training.ranker == nil {
			return nil
		}
	}
	training.ranker.Prepare()
	progress(1)
	l.result.Store(training.learned)
	l.known.Store(nil) // after storing the result, so that fitted always finds one of the two
	l.counts = nil
	return training.learned
}

// unfitted returns models that are not fitted, with which the reference ranks. They answer for profile seed and until a
// fit is done. They use the history of the learned models if there are any.
func (m *Measures) unfitted() *learned {
	if done := m.learning.result.Load(); done != nil {
		l := *done
		l.fittedModels, l.ranker = *assume(), done.ranker.WithPrior()
		return &l
	}
	return m.prior()
}

// fitted returns the models fitted so far, nil if there are none. It does not wait for a running computation.
func (l *lazyRankers) fitted() *fittedModels {
	known := l.known.Load()
	if done := l.result.Load(); done != nil {
		return &done.fittedModels
	}
	return known.get()
}

// Learned reports whether the models of profile learned are computed already, or are stored from an earlier
// fit.
func (m *Measures) Learned() bool {
	l := m.learning
	return l.known.Load() != nil || l.result.Load() != nil
}

// Provisional reports whether the reference answers until a fit is done, as [MeasureOptions] says.
func (m *Measures) Provisional() bool {
	done := m.learning.result.Load()
	return done != nil && done.provisional
}

// Cold reports whether [Measures.Warm] has something to do.
func (m *Measures) Cold() bool {
	l := m.learning
	return l.result.Load() == nil && (m.Learned() || l.isShort())
}

// Warm computes the models of profile learned if they are stored from an earlier fit or the history is short. Otherwise
// the first request that needs them computes them. Warm ends soon after halt returns true.
func (m *Measures) Warm(halt func() bool) {
	if m.Cold() {
		m.learning.compute(halt, func(float64) {})
	}
}
