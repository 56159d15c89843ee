package live

import (
	"context"

	"waymark/episodic"
	"waymark/learn"
	"waymark/suggest"
)

// judge asks held-out tasks which profile should answer what. A rebuild that was asked for does so, and
// its event says what came of it; the builds after it go by that. So a replay has nothing to judge. It is
// nil where profile learned is off or the history too short.
func (e *Engine) judge(ctx context.Context) (*suggest.Choice, error) {
	if e.opts.Measure.WithoutLearned {
		return nil, nil
	}
	head := e.log.Head().Seq
	episodes, err := e.newest(ctx, head, learn.MostJudged)
	if err != nil {
		return nil, err
	}
	m, options := e.Model(), e.opts.Measure
	options.Progress = nil
	type verdict struct {
		choice suggest.Choice
		err    error
	}
	judged := make(chan verdict, 1)
	go func() { // to fit weights is one step that cannot be cut short; who cancels does not wait for its end
		choice, err := guarded(func() (suggest.Choice, error) {
			return learn.Judge(ctx, &learn.Data{Tools: m.Tools(), Capabilities: m.Capabilities()}, episodes, options)
		})
		judged <- verdict{choice, err}
	}()
	select {
	case v := <-judged:
		if v.err != nil || v.choice == (suggest.Choice{}) {
			return nil, v.err
		}
		v.choice.Seq = head
		return &v.choice, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newest lists the last episodes of the log up to an event, without those forgotten.
func (e *Engine) newest(ctx context.Context, upTo uint64, most int) ([]episodic.Episode, error) {
	o, err := look(ctx, e.log, 0, upTo)
	if err != nil {
		return nil, err
	}
	var episodes []episodic.Episode
	for v, err := range decoded(ctx, e.log, 0, upTo, func(seq uint64) bool { return o.forgotten[seq] }) {
		if err != nil {
			return nil, err
		}
		if x, ok := v.value.(*episodic.Episode); ok {
			if episodes = append(episodes, *x); len(episodes) >= 2*most {
				episodes = append([]episodic.Episode{}, episodes[len(episodes)-most:]...)
			}
		}
	}
	return episodes[max(0, len(episodes)-most):], nil
}

// choose tells the measures what profile auto takes.
func (b *build) choose(m *suggest.Measures) {
	if b.Auto != nil {
		m.Choose(*b.Auto)
	}
}
