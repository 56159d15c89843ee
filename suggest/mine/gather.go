package mine

import (
	"iter"
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
)

// numbers numbers values in order of first appearance.
type numbers[K comparable] map[K]int32

func (n numbers[K]) of(k K) int32 {
	i, ok := n[k]
	if !ok {
		i = int32(len(n))
		n[k] = i
	}
	return i
}

// Tasks makes tasks of the newest episodes. tools are the ids by number, sorted, so that it does not matter which was met
// first. A call of what stands apart is in no pattern, and nothing leads through it. An episode without a session is a
// witness by itself.
func Tasks(episodes iter.Seq2[*episodic.Episode, error], apart map[string]bool, newest int) (tasks []Task, tools []string, err error) {
	sessions, number := numbers[[3]string]{}, numbers[string]{}
	for e, err := range episodes {
		if err != nil {
			return nil, nil, err
		}
		witness := [3]string{e.Source, e.Session}
		if e.Session == "" {
			witness[2] = e.ID
		}
		tasks = append(tasks, Of(e, sessions.of(witness), func(tool string) int32 {
			if apart[tool] {
				return Apart
			}
			return number.of(tool)
		}))
		if len(tasks) >= 2*newest {
			tasks = slices.Clone(tasks[newest:])
		}
	}
	tasks = tasks[max(0, len(tasks)-newest):]
	tools = slices.Sorted(maps.Keys(number))
	to := make([]int32, len(tools))
	for i, id := range tools {
		to[number[id]] = int32(i)
	}
	for _, t := range tasks {
		for i, n := range t.Tools {
			t.Tools[i] = to[n]
		}
	}
	return tasks, tools, nil
}

// gathered is a history as mining sees it.
type gathered struct {
	tools   []string // by number, sorted
	tasks   []Task
	calls   int
	success []tally // by tool: of tasks that call it
}

// tally counts known outcomes.
type tally struct{ succeeded, known int }

// add leaves unknown outcomes out of both counts.
func (t *tally) add(o episodic.Outcome) {
	if o.Known() {
		t.known++
	}
	if o == episodic.Success {
		t.succeeded++
	}
}

// gather reads the newest episodes. Calls of capabilities stand apart.
func gather(h History, newest int) (*gathered, error) {
	apart := map[string]bool{}
	for _, c := range h.Capabilities {
		apart[c.ID] = true
	}
	tasks, tools, err := Tasks(h.Episodes(), apart, newest)
	if err != nil {
		return nil, err
	}
	g := &gathered{tools: tools, tasks: tasks, success: make([]tally, len(tools))}
	for _, t := range g.tasks {
		g.calls += len(t.Tools)
		for _, tool := range slices.Compact(slices.Sorted(slices.Values(t.Tools))) {
			g.success[tool].add(t.Outcome)
		}
	}
	return g, nil
}

// draft is a pattern on its way to a proposal.
type draft struct {
	pattern  *Pattern
	tools    []string
	known    []*catalog.Tool // nil: in no catalog
	intents  []string        // of the episodes that did it
	examples []string        // their ids, the newest last

	inputs []inputs // of each call
	wires  history.Wiring
}

func (g *gathered) draft(p *Pattern, h History) *draft {
	d := &draft{pattern: p}
	for _, n := range p.Tools {
		var known *catalog.Tool
		if t, ok := h.Tool(g.tools[n]); ok {
			known = &t
		}
		d.tools, d.known = append(d.tools, g.tools[n]), append(d.known, known)
		d.inputs = append(d.inputs, inputs{given: map[string]int{}, several: map[string]int{}})
	}
	return d
}

// read goes over the history once more, for what the patterns' own episodes say. One that has become another since says
// nothing.
func (g *gathered) read(h History, drafts []*draft) error {
	type occurred struct {
		*draft
		Occurrence
	}
	in := map[string][]occurred{} // by episode
	for _, d := range drafts {
		for _, o := range d.pattern.Found {
			in[g.tasks[o.Task].ID] = append(in[g.tasks[o.Task].ID], occurred{d, o})
		}
	}
	for e, err := range h.Episodes() {
		if err != nil {
			return err
		}
		for _, o := range in[e.ID] {
			var steps []*episodic.Step
			for j, c := range o.Calls {
				if x := int(g.tasks[o.Task].Steps[c]); x < len(e.Steps) && e.Steps[x].Tool == o.tools[j] {
					steps = append(steps, &e.Steps[x])
				}
			}
			if len(steps) == len(o.tools) {
				o.intents, o.examples = append(o.intents, e.Intent), append(o.examples, e.ID)
				o.observe(steps)
			}
		}
	}
	return nil
}
