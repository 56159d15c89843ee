package suggest

import (
	nexttool "waymark/learn/next"
	planning "waymark/learn/plan"
	"waymark/suggest/history"
)

// An Ablation answers as profile learned does and as it would if it had been fitted without one of its
// signals. Signals are named as in the terms of answers after a context; those of plans, which enter a
// plan in several places, have names of their own.
type Ablation struct {
	model   *Model
	learned *learned
	next    []nexttool.Without
	plans   []planning.Variant // the first leaves nothing out; empty: no plans were learned
}

// Ablate fits what was learned anew without each signal. It is nil where nothing was learned, or where
// [MeasureOptions].Study did not keep what it takes; and soon after halt is true. Calls must not overlap.
func (m *Model) Ablate(halt func() bool, tell func(done float64)) *Ablation {
	if m.measures.learning == nil {
		return nil
	}
	l := m.measures.learning.result.Load()
	if l == nil || l.study == nil {
		return nil
	}
	a := &Ablation{model: m, learned: l}
	if l.study.next != nil {
		a.next = l.study.next.Ablate(halt, func(done float64) { tell(done / 2) })
	}
	if l.study.plans != nil {
		a.plans = l.study.plans.Ablate(halt, func(done float64) { tell(.5 + float64(done/2)) })
	}
	if halt() || a.next == nil && a.plans == nil {
		return nil
	}
	tell(1)
	return a
}

// Next is the place of a tool, from 1, among all that may come after a context, with the intent if that
// is known: with all signals, and without each by its name. It is 0 for a tool nobody knows; false where
// nothing was learned of the context.
func (a *Ablation) Next(context []string, intent, tool string) (place int, without map[string]int, ok bool) {
	if a.next == nil {
		return 0, nil, false
	}
	q, err := a.model.newQuery(context, intent, nil)
	if err != nil {
		return 0, nil, false
	}
	defer q.close()
	if !q.predict(a.learned) {
		return 0, nil, false
	}
	t := int32(-1)
	if n, known, err := a.model.node(tool); err == nil && known {
		t = history.Of(a.learned.tool, n, -1)
	}
	at := func(weights []float64) int {
		if t < 0 {
			return 0
		}
		return a.learned.history.Place(&q.fit.features, weights, t)
	}
	without = make(map[string]int, len(a.next))
	for _, w := range a.next {
		weights := w.Plain
		if q.mode == Active {
			weights = w.Asked
		}
		if weights != nil {
			without[nexttool.Features[w.Signal].Name] = at(weights)
		}
	}
	return at(q.weights), without, true
}

// Needed is what an intent needs: the tools, likeliest first, and the plan.
type Needed struct {
	Tools []string
	Plan  []PlannedStep
}

// PlannedStep is a step of a plan; After are the numbers of the steps it depends on.
type PlannedStep struct {
	Tool  string
	After []int
}

// Plans visits what an intent needs as the planner sees it: with all signals (without is ""), and
// without each. It is false where no plans were learned.
func (a *Ablation) Plans(intent string, visit func(without string, n Needed)) bool {
	if a.plans == nil {
		return false
	}
	id := func(tool int32) string { return a.model.IDs[a.learned.node[tool]] }
	a.learned.study.plans.Answer(intent, a.plans, func(i int, answer *planning.Answer) {
		var n Needed
		for _, t := range answer.Tools {
			n.Tools = append(n.Tools, id(t.Tool))
		}
		for _, s := range answer.Steps {
			step := PlannedStep{Tool: id(s.Tool)}
			for _, j := range s.After {
				step.After = append(step.After, int(j))
			}
			n.Plan = append(n.Plan, step)
		}
		visit(a.plans[i].Without, n)
	})
	return true
}
