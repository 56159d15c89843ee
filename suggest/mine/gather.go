package mine

import (
	"slices"

	"waymark/catalog"
	"waymark/episodic"
)

// gathered is a history as mining sees it.
type gathered struct {
	tools   []string // by number, sorted
	tasks   []Task
	outcome []episodic.Outcome
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

// gather reads the newest episodes. A call of a capability stands apart: no proposal contains one, and
// nothing leads through it.
func gather(h History, newest int) (*gathered, error) {
	apart := map[string]bool{}
	for _, c := range h.Capabilities {
		apart[c.ID] = true
	}
	g := &gathered{}
	number := map[string]int32{}
	sessions := map[[2]string]int32{}
	for e, err := range h.Episodes() {
		if err != nil {
			return nil, err
		}
		session := int32(-1)
		if e.Session != "" {
			key := [2]string{e.Source, e.Session}
			n, ok := sessions[key]
			if !ok {
				n = int32(len(sessions))
				sessions[key] = n
			}
			session = n
		}
		g.tasks = append(g.tasks, Of(e, session, func(tool string) int32 {
			if apart[tool] {
				return Apart
			}
			n, ok := number[tool]
			if !ok {
				n = int32(len(number))
				number[tool] = n
				g.tools = append(g.tools, tool)
			}
			return n
		}))
		g.outcome = append(g.outcome, e.Outcome)
		g.words.add(e.Intent)
		if n := len(g.tasks) - newest; n >= newest {
			g.forget(n)
		}
	}
	g.forget(len(g.tasks) - newest)
	for i := range g.tasks { // a task without a session is a witness by itself
		if g.tasks[i].Session < 0 {
			g.tasks[i].Session = int32(len(sessions) + i)
		}
	}
	g.sortTools()
	return g, nil
}

func (g *gathered) forget(n int) {
	if n > 0 {
		g.older += n
		g.tasks, g.outcome = slices.Clone(g.tasks[n:]), slices.Clone(g.outcome[n:])
	}
}

// sortTools numbers the tools by id, so that it does not matter which was met first, and counts.
func (g *gathered) sortTools() {
	met := g.tools
	g.tools = slices.Sorted(slices.Values(met))
	to := make([]int32, len(met))
	for i, id := range met {
		n, _ := slices.BinarySearch(g.tools, id)
		to[i] = int32(n)
	}
	g.success = make([]tally, len(g.tools))
	last := make([]int, len(g.tools)) // the last task counted, + 1
	for t := range g.tasks {
		tools := g.tasks[t].Tools
		g.calls += len(tools)
		for i := range tools {
			tools[i] = to[tools[i]]
			if tool := tools[i]; last[tool] <= t {
				last[tool] = t + 1
				g.success[tool].add(g.outcome[t])
			}
		}
	}
}

// draft is a pattern on its way to a proposal.
type draft struct {
	pattern  *Pattern
	tools    []string
	known    []*catalog.Tool // nil: in no catalog
	above    [][]bool        // of each call, which come before it
	intents  []string
	examples []string
	inputs   []inputs // of each call
}

// draft looks up the tools of a pattern and closes its order transitively: above[i][j] says that call j comes
// before i.
func (g *gathered) draft(p *Pattern, h History) *draft {
	d := &draft{pattern: p}
	for i, n := range p.Tools {
		id := g.tools[n]
		d.tools = append(d.tools, id)
		var known *catalog.Tool
		if t, ok := h.Tool(id); ok {
			known = &t
		}
		d.known = append(d.known, known)
		above := make([]bool, len(p.Tools))
		for _, a := range p.After[i] {
			above[a] = true
			for j, before := range d.above[a] {
				above[j] = above[j] || before
			}
		}
		d.above = append(d.above, above)
		d.inputs = append(d.inputs, inputs{})
	}
	return d
}

// mostExamples is how many episodes are named with a proposal.
const mostExamples = 5

// read goes over the history once more, for what the patterns' own episodes say. One that has become
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
		task++
		if len(in[task]) == 0 {
			continue
		}
		for _, i := range in[task] {
			d := drafts[i]
			calls := d.pattern.Found[at[i]].Calls
			at[i]++
			steps := make([]*episodic.Step, len(calls))
			for j, c := range calls {
				if x := int(g.tasks[task].Steps[c]); x < len(e.Steps) && e.Steps[x].Tool == d.tools[j] {
					steps[j] = &e.Steps[x]
				}
			}
			if slices.Contains(steps, nil) {
				continue
			}
			d.intents = append(d.intents, e.Intent)
			d.examples = append(d.examples, e.ID)
			if len(d.examples) > mostExamples {
				d.examples = d.examples[1:]
			}
			d.observe(steps)
		}
	}
	return nil
}
