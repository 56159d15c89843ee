package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"waymark/suggest/evaluate"
)

// judge evaluates a rebuild against the active model on held-out tasks and takes up the given share of the job's
// progress. The rebuild event stores the result, so a replay does not evaluate again. The gate is nil if the history
// is too short or the job is forced. built is the build event of the active model. A panic is returned as an error.
func (e *Engine) judge(ctx context.Context, j *job, share float64) (gate *evaluate.Gate, built uint64, err error) {
	if j.Forced {
		return nil, 0, nil
	}
	err = guarded(func() (err error) {
		gate, built, err = e.judged(ctx, func(_ string, done float64) { e.progress(j, "judge", float64(share*done)) })
		return err
	})
	e.update(j, func(j *Job) { j.Gate = gate })
	return gate, built, err
}

// judged compares a rebuild with the active model, both with the current catalog. Known are the episodes up to the
// active build. Judged are those up to the last evaluation or, without one, up to the active build.
func (e *Engine) judged(ctx context.Context, progress func(string, float64)) (gate *evaluate.Gate, built uint64, err error) {
	var how build
	var head uint64
	if err := e.do(ctx, func(w *writer) { how, built, head = w.how, w.built.seq, w.head.Seq }); err != nil {
		return nil, 0, err
	}
	m := e.Model()
	t := evaluate.Trial{Tools: m.Tools(), Capabilities: m.Capabilities(), New: e.opts.Measure}
	t.New.Progress = progress
	if built > 0 {
		t.Old = &how.Options
		t.Old.Progress, t.Old.Vectors = nil, nil
	}
	judged := built
	if how.Gate != nil {
		judged = how.Gate.Seq
	}
	treated := treatments(e.Rules())
	for ep, err := range e.episodesUpTo(ctx, head) {
		if err != nil {
			return nil, built, err
		}
		ep.Source = treated.Name(ep.Source, ep.Label)
		ep.Steps = slices.Clone(ep.Steps) // drops the spare capacity that the decoder leaves
		t.Episodes = append(t.Episodes, ep.Episode)
		if ep.seq() <= built {
			t.Known++
		}
		if ep.seq() <= judged {
			t.Judged++
		}
	}
	gate, err = evaluate.Judge(ctx, t)
	if gate != nil {
		gate.Seq = head
	}
	return gate, built, err
}

// A build that starts by itself or at the end of an import is evaluated like a rebuild if the log has grown by half
// since the last evaluation, because a model that a rebuild would refuse must not become active by itself. A server
// evaluates the first build as soon as the history is long enough.
const judgedGrowth = 2

func (w *writer) needsEvaluation() bool {
	if g := w.how.Gate; g != nil {
		return w.relevant.seq >= g.Seq+g.Seq/judgedGrowth
	}
	return w.opts.Serves && w.built.seq > 0 && w.state.Episodes() >= evaluate.LeastTasks
}

// Judgement is the result of the last rebuild that was evaluated.
type Judgement struct {
	Published bool           `json:"published"` // false: refused, the previous measures stay
	Forced    bool           `json:"forced,omitempty"`
	Event     uint64         `json:"event"`              // of the active build, or of the refusal
	At        time.Time      `json:"judged_at,omitzero"` // of the active build
	Gate      *evaluate.Gate `json:"gate,omitempty"`     // absent: there was nothing to compare with
}

// String returns the judgement in one line.
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

// Judgement returns the result of the last rebuild that was evaluated; nil if there was none.
func (e *Engine) Judgement() *Judgement { return e.status.Load().judged }

// judgement computes the current value of [Engine.Judgement].
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
