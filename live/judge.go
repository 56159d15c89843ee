package live

import (
	"context"

	"waymark/episodic"
	"waymark/learn"
	"waymark/suggest"
)

// judge asks held-out tasks which profile should answer what. A rebuild that was asked for does so, and
// its event says what came of it; the builds after it go by that. So a replay has nothing to judge. It is
// nil where profile learned is off or the history too short. tell is told the share that is done.
func (e *Engine) judge(ctx context.Context, tell func(done float64)) (*suggest.Choice, error) {
	if e.opts.Measure.WithoutLearned {
		return nil, nil
	}
	head := e.log.Head().Seq
	episodes, err := e.newest(ctx, head, learn.MostJudged)
	if err != nil {
		return nil, err
	}
	m, options := e.Model(), e.opts.Measure
	options.Progress = func(_ string, done float64) { tell(done) }
	choice, err := learn.Judge(ctx, &learn.Data{Tools: m.Tools(), Capabilities: m.Capabilities()}, episodes, options)
	if err != nil || choice == (suggest.Choice{}) {
		return nil, err
	}
	choice.Seq = head
	return &choice, nil
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
