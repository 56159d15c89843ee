package mine

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/learn/wiring"
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

// Tasks makes tasks of the newest episodes; older is how many come before them. tools are the ids by number, sorted, so
// that it does not matter which was met first. A call of what stands apart is in no pattern, and nothing leads through it.
// An episode without a session is a witness by itself.
func Tasks(episodes iter.Seq2[*episodic.Episode, error], apart map[string]bool, newest int) (tasks []Task, older int, tools []string, err error) {
	keep := func(most int) {
		if n := len(tasks) - newest; n > 0 && len(tasks) >= most {
			older += n
			tasks = slices.Clone(tasks[n:])
		}
	}
	sessions, number := numbers[[2]string]{}, numbers[string]{}
	for e, err := range episodes {
		if err != nil {
			return nil, 0, nil, err
		}
		witness := [2]string{e.Source, e.Session}
		if e.Session == "" {
			witness[1] = fmt.Sprint("\x00", older+len(tasks))
		}
		tasks = append(tasks, Of(e, sessions.of(witness), func(tool string) int32 {
			if apart[tool] {
				return Apart
			}
			return number.of(tool)
		}))
		keep(2 * newest)
	}
	keep(0)
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
	return tasks, older, tools, nil
}

// gathered is a history as mining sees it.
type gathered struct {
	tools   []string // by number, sorted
	tasks   []Task
	older   int // episodes before the first task
	calls   int
	success []tally // by tool: of tasks that call it
	words   words
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
	tasks, older, tools, err := Tasks(h.Episodes(), apart, newest)
	if err != nil {
		return nil, err
	}
	g := &gathered{tools: tools, tasks: tasks, older: older, success: make([]tally, len(tools))}
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
	wires  wiring.Table
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

// read goes over the history once more, for its intents and for what the patterns' own episodes say. One that has become
// another since says nothing.
func (g *gathered) read(h History, drafts []*draft) error {
	at := make([]int, len(drafts)) // the next occurrence of each
	in := map[int][]int{}          // by task, the drafts that occur in it
	for i, d := range drafts {
		for _, o := range d.pattern.Found {
			in[o.Task] = append(in[o.Task], i)
		}
	}
	task := -g.older - 1
	for e, err := range h.Episodes() {
		if err != nil {
			return err
		}
		g.words.add(e.Intent)
		task++
		for _, i := range in[task] {
			d := drafts[i]
			var steps []*episodic.Step
			for j, c := range d.pattern.Found[at[i]].Calls {
				if x := int(g.tasks[task].Steps[c]); x < len(e.Steps) && e.Steps[x].Tool == d.tools[j] {
					steps = append(steps, &e.Steps[x])
				}
			}
			at[i]++
			if len(steps) == len(d.tools) {
				d.intents, d.examples = append(d.intents, e.Intent), append(d.examples, e.ID)
				d.observe(steps)
			}
		}
	}
	return nil
}
