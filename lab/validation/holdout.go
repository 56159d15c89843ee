package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/evaluate"
	"waymark/ingest"
	"waymark/suggest"
	"waymark/suggest/history"
)

// One train episode in five is held out: the latest where all have a time, else every fifth group of
// attempts at one task, in the order of recording.
const oneIn = 5

// holdout is the train part of a data set, cut in two. The test part is never read.
type holdout struct {
	name          string
	tools         []catalog.Tool
	history, held []*evaluate.Example
}

// readHoldout cuts the data set in a folder. One without a train split gives no held-out episodes.
func readHoldout(ctx context.Context, folder string) (*holdout, error) {
	set, err := ingest.ReadLabelled(ctx, folder)
	if err != nil {
		return nil, err
	}
	var train []*evaluate.Example
	for _, e := range set.Episodes {
		if x := evaluate.Example(e); x.Split == evaluate.Train {
			train = append(train, &x)
		}
	}
	h := &holdout{name: filepath.Base(folder), tools: set.Tools}
	h.history, h.held = cut(train)
	return h, nil
}

// cut divides episodes, so that attempts at one task are on one side.
func cut(train []*evaluate.Example) (history, held []*evaluate.Example) {
	group := func(x *evaluate.Example) string { return cmp.Or(x.Task, x.Episode.ID) }
	takes := map[string]bool{}
	if timed(train) {
		train = slices.Clone(train)
		slices.SortStableFunc(train, func(a, b *evaluate.Example) int { return a.Episode.Time.Compare(b.Episode.Time) })
		for _, x := range train[len(train)-len(train)/oneIn:] {
			takes[group(x)] = true
		}
	} else {
		met := map[string]bool{}
		for _, x := range train {
			if g := group(x); !met[g] {
				met[g] = true
				takes[g] = len(met)%oneIn == 0
			}
		}
	}
	for _, x := range train {
		if takes[group(x)] {
			held = append(held, x)
		} else {
			history = append(history, x)
		}
	}
	return history, held
}

func timed(all []*evaluate.Example) bool {
	return !slices.ContainsFunc(all, func(x *evaluate.Example) bool { return x.Episode.Time.IsZero() })
}

// build makes the model of a history, with capabilities and outcomes that no episode has.
func build(ctx context.Context, tools []catalog.Tool, caps []capability, known []observation, past []*episodic.Episode) (*suggest.Model, error) {
	s := history.NewState()
	for _, t := range tools {
		s.PutTool(t)
	}
	for _, c := range caps {
		s.PutCapability(c.Capability)
	}
	for _, e := range past {
		s.Record(e)
	}
	for _, o := range known {
		s.Feedback(o.context, o.id, o.outcome, o.time, "")
	}
	counts := s.Freeze()
	measures, err := suggest.Measure(ctx, counts, suggest.MeasureOptions{WithoutLearned: true})
	if err != nil {
		return nil, fmt.Errorf("build the model: %w", err)
	}
	return suggest.NewModel(counts, measures, suggest.Stamp{Version: "validation"})
}

// part are the episodes of one kind of question.
func part(all []*evaluate.Example, takes func(x *evaluate.Example) bool) []*episodic.Episode {
	var episodes []*episodic.Episode
	for _, x := range all {
		if takes(x) {
			episodes = append(episodes, &x.Episode)
		}
	}
	return episodes
}

// sequence is the tools of an episode in topological order.
func sequence(e *episodic.Episode) []string {
	var tools []string
	for _, i := range e.Order() {
		tools = append(tools, e.Steps[i].Tool)
	}
	return tools
}

// sampled chooses most of total numbers, evenly; all where there are no more.
func sampled(i, total, most int) bool {
	return total <= most || i*most/total != (i+1)*most/total
}

func asked(e *episodic.Episode) bool { return strings.TrimSpace(e.Intent) != "" }
