package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"waymark/episodic"
	"waymark/suggest/evaluate"
)

// verdict is the result of the held-out evaluation before a rebuild.
type verdict struct {
	built uint64         // event of the build that was active during the evaluation
	head  uint64         // the last event that was known
	gate  *evaluate.Gate // how the rebuild would do beside the active model; nil: nothing to say
}

// judge asks held-out tasks whether a rebuild would lose. The event of the rebuild says what came of it, so a replay has
// nothing to judge. It says nothing where the history is too short. progress receives the fraction done.
func (e *Engine) judge(ctx context.Context, tell func(done float64)) (verdict, error) {
	var v verdict
	var how build
	if err := e.do(ctx, func(w *writer) { v.built, how, v.head = w.built.seq, w.how, w.head.Seq }); err != nil {
		return v, err
	}
	t, err := e.trial(ctx, v.built, how.lastJudged(v.built), v.head)
	if err != nil {
		return v, err
	}
	t.New = e.opts.Measure
	t.New.Progress = func(_ string, done float64) { tell(done) }
	if v.built > 0 {
		t.Old = &how.Options
		t.Old.Progress, t.Old.Vectors = nil, nil
	}
	if v.gate, err = evaluate.Judge(ctx, t); v.gate != nil {
		v.gate.Seq = v.head
	}
	return v, err
}

// lastJudged is the last event that was known when the model of a build was judged; built, where it was not.
func (b *build) lastJudged(built uint64) uint64 {
	if b.Gate != nil {
		return b.Gate.Seq
	}
	return built
}

// trial reads the episodes up to event head. The active model was built at event built, and judged
// at event judged; both models have the catalog of today.
func (e *Engine) trial(ctx context.Context, built, judged, head uint64) (t evaluate.Trial, err error) {
	treated := treatments(e.Rules())
	e.episodesUpTo(ctx, head, func(ep *episodic.Episode, seq uint64, failed error) bool {
		if err = failed; err != nil {
			return false
		}
		ep.Source = treated.Name(ep.Source, ep.Label)
		ep.Steps = slices.Clone(ep.Steps) // the decoder leaves room for as many more
		t.Episodes = append(t.Episodes, *ep)
		if seq <= built {
			t.Known++
		}
		if seq <= judged {
			t.Judged++
		}
		return true
	})
	if err != nil {
		return t, err
	}
	m := e.Model()
	t.Tools, t.Capabilities = m.Tools(), m.Capabilities()
	return t, nil
}

// A build that starts by itself or at the end of an import is judged as a rebuild is where the log has grown by half since
// a rebuild was last judged: what a rebuild would refuse must not come in by itself. A server judges the first one as soon
// as the history is long enough.
const judgedGrowth = 2

func (w *writer) needsEvaluation() bool {
	if g := w.how.Gate; g != nil {
		return w.matter.seq >= g.Seq+g.Seq/judgedGrowth
	}
	return w.opts.Serves && w.built.seq > 0 && w.state.Episodes() >= evaluate.LeastTasks
}

// Judgement is what came of the last rebuild that was judged.
type Judgement struct {
	Published bool           `json:"published"` // false: refused, the measures before stay
	Forced    bool           `json:"forced,omitempty"`
	Event     uint64         `json:"event"`              // of the active build, or of the refusal
	At        time.Time      `json:"judged_at,omitzero"` // of the active build
	Gate      *evaluate.Gate `json:"gate,omitempty"`     // absent: there was nothing to compare with
}

// String says the judgement in one line.
func (j *Judgement) String() string {
	if j == nil {
		return "no rebuild was judged yet"
	}
	what := "published"
	switch {
	case !j.Published:
		what = "REFUSED, the previous model stays active; rebuild --force publishes the new one"
	case j.Forced:
		what = "published by force"
	}
	return fmt.Sprintf("%s: %v; event %d", what, j.Gate, j.Event)
}

// Judgement says what came of the last rebuild that was judged: nil, if none was.
func (e *Engine) Judgement() *Judgement { return e.seen.Load().judged }

// judgement is [Engine.Judgement] now.
func (w *writer) judgement() *Judgement {
	j := &Judgement{Published: true, Forced: w.how.Forced, Event: w.built.seq, At: w.builtAt, Gate: w.how.Gate}
	if r := w.refused; r != nil {
		j = &Judgement{Event: r.seq, Gate: r.how.Gate}
	}
	if j.Gate == nil {
		j = nil
	}
	return j
}
