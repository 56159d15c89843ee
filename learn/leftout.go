package learn

import (
	"context"
	"fmt"
	"sync"

	"waymark/suggest"
)

// Where each task is held out in turn, profiles would be judged once for each, which takes as long as all
// other work. But a model that was learned without a fifth of the tasks knows none of that fifth: it can
// judge for every task of it that is left out, by the others of the fifth.
//
//	tasks     ▢ ▢ ▢ ▢ ▢ ▢ ▢ ▢ ▢ ▢ …        left out: 3, of part 2
//	parts     0 1 2 3 4 0 1 2 3 4 …        learned from: all but part 2
//	                                       asked: part 2 without 3
//
// So five judgements serve all tasks, and none of them has seen what it decides for.
type leftOut struct {
	mu    sync.Mutex
	parts [judgedParts]*judgedPart
}

const judgedParts = 5 // so that a part is judgedShare of all

// judgedPart is a judgement of the tasks that are not in one part.
type judgedPart struct {
	once  sync.Once
	juror *juror
	err   error
}

// judge is [Judge] for a history from which one task, with all attempts at it, is left out; false where it
// is none such, or where times say what to hold out.
func (l *leftOut) judge(ctx context.Context, d *Data, history []*Example, r Recipe) (choice suggest.Choice, ok bool, err error) {
	n := float64(len(history))
	if len(history) > MostJudged || n*judgedShare < leastJudged {
		return choice, false, nil
	}
	known := make(map[*Example]bool, len(history))
	for _, x := range history {
		known[x] = true
	}
	out, dated := "", true
	place, examples := map[string]int{}, make([]example, len(d.Examples))
	for i := range d.Examples {
		x := &d.Examples[i]
		t := newTask(x)
		if _, met := place[t.group]; !met {
			place[t.group] = len(place)
		}
		if !known[x] {
			if out != "" && out != t.group {
				return choice, false, nil
			}
			out = t.group
		}
		dated = dated && !x.Episode.Time.IsZero()
	}
	if out == "" || dated {
		return choice, false, nil
	}
	mine := place[out] % judgedParts
	for i := range examples {
		examples[i] = example{Example: d.Examples[i]}
		examples[i].Split = Train
		if place[newTask(&d.Examples[i]).group]%judgedParts == mine {
			examples[i].Split = Test
		}
	}
	j, err := l.juror(ctx, mine, examples, r)
	if err != nil {
		return choice, true, err
	}
	choice, err = j.choose(ctx, out)
	return choice, true, err
}

// juror learns from all examples that are not held out, when it is first asked for.
func (l *leftOut) juror(ctx context.Context, k int, examples []example, r Recipe) (*juror, error) {
	l.mu.Lock()
	if l.parts[k] == nil {
		l.parts[k] = &judgedPart{}
	}
	p := l.parts[k]
	l.mu.Unlock()
	p.once.Do(func() {
		if p.juror, p.err = newJuror(ctx, examples, r); p.err == nil {
			_, p.err = p.juror.choose(ctx, "") // asked now, and only read from here on
		}
	})
	return p.juror, p.err
}

// newJuror learns by a recipe from the examples that are not held out, to be asked about the others.
func newJuror(ctx context.Context, examples []example, r Recipe) (*juror, error) {
	j := newJury(examples)
	options := r.Options
	options.Learn = true
	m, err := trained(ctx, &Data{Tools: r.Tools, Capabilities: r.Capabilities}, j.history(examples), options, suggest.Choice{})
	if err != nil {
		return nil, fmt.Errorf("judge profiles: %w", err)
	}
	return &juror{jury: j, model: m}, nil
}

// without leaves out the tasks of a group; "" is no group's name.
func (a answered) without(tests []*task, group string) answered {
	if group == "" {
		return a
	}
	var b answered
	for i, t := range tests {
		if t.group == group {
			continue
		}
		b.Sum, b.Count = append(b.Sum, a.Sum[i]), append(b.Count, a.Count[i])
		if a.claims != nil {
			b.claims = append(b.claims, a.claims[i])
		}
	}
	return b
}
