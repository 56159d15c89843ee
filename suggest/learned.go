package suggest

import (
	"sync"
	"sync/atomic"

	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
)

// What is learned from, and from how much on.
const (
	newestSteps = 50_000 // that are learned from; older ones are left out
)

// ShortSteps is up to how many steps a build always learns. Tests lower it.
var ShortSteps = 5_000

// learned is what a history teaches: with package rank. Tools and capabilities have numbers of their own, in order of id.
type learned struct {
	tool  []int32 // by node, its number, -1 = none
	node  []int32 // by number
	older bool    // the history is longer than what is learned from
	fittedModels
	ranker *rank.Model
}

// learning is what can be learned of counts: in the build if that was asked for, else when the first
// question does, for it takes longer than all other measures together. It is a function of the counts
// alone, so it does not matter when it is worked out.
type learning struct {
	steps int // of all tasks

	texts *textMeasures

	provisional bool // see MeasureOptions

	mu     sync.Mutex
	counts *history.Counts            // nil when it is worked out
	known  atomic.Pointer[keptModels] // fitted before, and kept; nil: not yet
	result atomic.Pointer[learned]
}

// newLearning looks what there is to learn from.
func newLearning(c *history.Counts, texts *textMeasures) *learning {
	l := &learning{counts: c, texts: texts}
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
func (l *learning) isShort() bool { return l.steps <= ShortSteps }

// get is what was learned. The first who asks works it out, and the others wait for it.
func (l *learning) get() *learned {
	if done := l.result.Load(); done != nil {
		return done
	}
	return l.compute(never, func(float64) {})
}

// never is a halt function for work that is not to be interrupted.
func never() bool { return false }

// compute fits the models, or uses stored ones. It returns nil soon after halt returns true. progress receives
// the fraction done, in [0, 1]. The lock makes the first caller fit and the others wait for its result.
func (l *learning) compute(halt func() bool, progress func(done float64)) *learned {
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
	l.known.Store(nil) // only now, so that fitted sees one of the two at any time
	l.counts = nil
	return training.learned
}

// assumed is what plans for profile seed, and while nothing is fitted: the reference ranks. It is on the counts of what was
// learned, if anything was.
func (m *Measures) assumed() *learned {
	if done := m.learning.result.Load(); done != nil {
		l := *done
		l.fittedModels, l.ranker = *assume(), done.ranker.WithPrior()
		return &l
	}
	return m.prior()
}

// fitted is what was fitted so far, nil if nothing was. It never waits for what is being worked out.
func (l *learning) fitted() *fittedModels {
	known := l.known.Load()
	if done := l.result.Load(); done != nil {
		return &done.fittedModels
	}
	return known.get()
}

// Learned reports whether what profile learned answers with is worked out already, or was fitted before
// and kept.
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

// Warm works out what profile learned answers with from what was fitted before and kept, or from a short history.
// Otherwise the first question asks for it. It ends soon after halt says true.
func (m *Measures) Warm(halt func() bool) {
	if m.Cold() {
		m.learning.compute(halt, func(float64) {})
	}
}
