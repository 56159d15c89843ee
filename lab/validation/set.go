package main

import (
	"context"
	"fmt"
	"slices"

	"waymark/episodic"
	"waymark/evaluate"
)

// set is what is asked of the held-out part of one data set.
type set struct {
	name          string
	history, held int                   // episodes
	questions     map[string]*questions // by kind; none where there are few
	outcomes      *questions            // next steps of episodes that succeeded, the history's outcomes copied onto its steps; nil without failures
	stored        *stored
}

// stored are mined capabilities and the situations in which one of them came next.
type stored struct {
	mined            int
	episodes         int
	failures         bool // in the history
	passive, active  []choice
	edged, edgedGoal []choice // the same, with edges through the capabilities
}

// ask cuts a data set and asks everything of it; nil without a train part.
func ask(ctx context.Context, folder string, most int) (*set, error) {
	h, err := readHoldout(ctx, folder)
	if err != nil || len(h.held) == 0 {
		return nil, err
	}
	s := &set{name: h.name, questions: map[string]*questions{}}
	isNext, isIntent := func(x *evaluate.Example) bool { return x.Next }, func(x *evaluate.Example) bool { return x.Intent }
	history, held := part(h.history, isNext), part(h.held, isNext)
	s.history, s.held = len(history), len(held)
	m, err := build(ctx, h.tools, nil, nil, history)
	if err != nil {
		return nil, err
	}
	for _, kind := range everyNext {
		q, err := nextQuestions(m, kind, held, most)
		if err != nil {
			return nil, err
		}
		s.put(kind, q)
	}
	wanted := part(h.held, isIntent)
	if told := part(h.history, isIntent); !slices.Equal(told, history) {
		if m, err = build(ctx, h.tools, nil, nil, told); err != nil {
			return nil, err
		}
	}
	q, err := toolQuestions(m, wanted, most)
	if err != nil {
		return nil, err
	}
	s.put(kindTools, q)
	if err := s.askOutcomes(ctx, h, history, held, most); err != nil {
		return nil, err
	}
	return s, s.askStored(ctx, h, history, held, most)
}

func (s *set) put(kind string, q *questions) {
	if len(q.situations) >= fewest {
		s.questions[kind] = q
	}
}

func failed(e *episodic.Episode) bool { return e.Outcome == episodic.Failure }

// askOutcomes asks with the outcome of each past task copied onto its steps, as no public set has outcomes
// of steps. The transitions stay as they were.
func (s *set) askOutcomes(ctx context.Context, h *holdout, history, held []*episodic.Episode, most int) error {
	if !slices.ContainsFunc(history, failed) {
		return nil
	}
	var known []observation
	for _, e := range history {
		tools := sequence(e)
		for i, t := range tools {
			if e.Outcome.Known() {
				known = append(known, observation{tools[max(0, i-1):i], t, e.Outcome, e.Time})
			}
		}
	}
	m, err := build(ctx, h.tools, nil, known, history)
	if err != nil {
		return err
	}
	right := slices.DeleteFunc(slices.Clone(held), func(e *episodic.Episode) bool { return e.Outcome != episodic.Success })
	q, err := nextQuestions(m, kindNext, right, most)
	if err == nil && len(q.situations) >= fewest {
		s.outcomes = q
	}
	return err
}

// askStored mines capabilities and asks where they come next.
func (s *set) askStored(ctx context.Context, h *holdout, history, held []*episodic.Episode, most int) error {
	mined := mine(history)
	if len(mined) == 0 {
		return nil
	}
	var known []observation
	for _, c := range mined {
		known = append(known, c.outcomes...)
	}
	plain, err := build(ctx, h.tools, mined, known, history)
	if err != nil {
		return err
	}
	edged, err := build(ctx, h.tools, mined, known, slices.Concat(history, executed(history, mined)))
	if err != nil {
		return err
	}
	s.stored = &stored{mined: len(mined), episodes: len(held), failures: slices.ContainsFunc(history, failed)}
	for _, x := range []struct {
		into   *[]choice
		edges  bool
		active bool
	}{{&s.stored.passive, false, false}, {&s.stored.active, false, true}, {&s.stored.edged, true, false}, {&s.stored.edgedGoal, true, true}} {
		m := plain
		if x.edges {
			m = edged
		}
		if *x.into, err = choices(m, mined, held, x.active, most); err != nil {
			return fmt.Errorf("capabilities: %w", err)
		}
	}
	return nil
}
