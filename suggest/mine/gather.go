package mine

import (
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
)

// gathered is a history in the form that mining needs.
type gathered struct {
	tools    []string // by number, sorted, so that the order of first appearance does not matter
	tasks    []Task
	sessions int
	calls    int
	success  []tally // by tool: of tasks that call it
}

// tally counts known outcomes.
type tally struct{ succeeded, known int }

// add counts an outcome; unknown outcomes count in neither field.
func (t *tally) add(o episodic.Outcome) {
	if o.Known() {
		t.known++
	}
	if o == episodic.Success {
		t.succeeded++
	}
}

// numbered returns the number of a value. Values are numbered in order of first appearance.
func numbered[K comparable](numbers map[K]int32, k K) int32 {
	if _, ok := numbers[k]; !ok {
		numbers[k] = int32(len(numbers))
	}
	return numbers[k]
}

// gather reads the newest episodes. Calls of capabilities are in no pattern, and no order passes through them. An
// episode without a session counts as a session of its own.
func gather(h History, newest int) (*gathered, error) {
	g, apart := &gathered{}, map[string]bool{}
	for _, c := range h.Capabilities {
		apart[c.ID] = true
	}
	sessions, number := map[[3]string]int32{}, map[string]int32{}
	for e, err := range h.Episodes() {
		if err != nil {
			return nil, err
		}
		witness := [3]string{e.Source, e.Session}
		if e.Session == "" {
			witness[2] = e.ID
		}
		g.tasks = append(g.tasks, Of(e, numbered(sessions, witness), func(tool string) int32 {
			if apart[tool] {
				return Apart
			}
			return numbered(number, tool)
		}))
		if len(g.tasks) >= 2*newest {
			g.tasks = slices.Clone(g.tasks[newest:])
		}
	}
	g.tasks = g.tasks[max(0, len(g.tasks)-newest):]
	g.tools = slices.Sorted(maps.Keys(number))
	g.success = make([]tally, len(g.tools))
	to := make([]int32, len(g.tools))
	for i, id := range g.tools {
		to[number[id]] = int32(i)
	}
	met := map[int32]bool{}
	for _, t := range g.tasks {
		met[t.Session] = true
		g.calls += len(t.Tools)
		for i, n := range t.Tools {
			t.Tools[i] = to[n]
		}
		for _, tool := range slices.Compact(slices.Sorted(slices.Values(t.Tools))) {
			g.success[tool].add(t.Outcome)
		}
	}
	g.sessions = len(met)
	return g, nil
}

// draft is a pattern from which a proposal is made.
type draft struct {
	pattern  *Pattern
	tools    []string
	known    []*catalog.Tool // nil: not in the catalog
	intents  []string        // of the episodes with the pattern
	examples []string        // ids of these episodes, the newest last

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

// read scans the history again and adds to the drafts the intents and the arguments of the episodes with their
// patterns. An episode whose steps have changed since the first scan is ignored.
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
