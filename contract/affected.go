package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/learn/wiring"
	"waymark/run"
)

// mostNamed bounds the requests and paths that are named of one tool; all are counted.
const mostNamed = 10

// Affected is what the changes of one tool concern.
type Affected struct {
	Tool         string    `json:"tool"`
	Requests     []Counted `json:"requests"` // that were answered with it, the most frequent
	RequestCount int       `json:"request_count"`
	Paths        []Counted `json:"paths"` // transitions to it and from it, the most frequent
	PathCount    int       `json:"path_count"`
	Plans        []Plan    `json:"plans"` // stored capabilities that call it
	Wires        []Wire    `json:"wires"` // of the fields that changed
}

// Counted is a text and how often the history has it.
type Counted struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// Plan is a stored capability, and what is wrong with it that was right before.
type Plan struct {
	ID       string   `json:"id"`
	Problems []string `json:"problems"`
}

// Wire is a field of a result that becomes an argument.
type Wire struct {
	From     string `json:"from"` // TOOL PATH
	To       string `json:"to"`
	Plan     string `json:"plan,omitempty"` // capability that says so; empty: learned
	Seen     int    `json:"seen,omitempty"` // calls in which the value came from there
	Of       int    `json:"of,omitempty"`   // calls in which it could
	fromTool string // with the paths, to compare with changes
	toTool   string
	out, in  string
}

// Stored is what a workspace has of the tools.
type Stored struct {
	Tools        []catalog.Tool // of all servers, as they were
	Capabilities []catalog.Capability
	Episodes     []episodic.Episode // in order of recording
}

// Affected says what changes concern, by tool. Tools that are new concern nothing.
func (s Stored) Affected(changes []Change, now []catalog.Tool) []Affected {
	byTool := map[string][]Change{}
	for _, c := range changes {
		if c.Kind != ToolAdded {
			byTool[c.Tool] = append(byTool[c.Tool], c)
		}
	}
	servers := map[string]bool{}
	for _, c := range changes {
		server, _, _ := catalog.Split(c.Tool)
		servers[server] = true
	}
	after := slices.DeleteFunc(slices.Clone(s.Tools), func(t catalog.Tool) bool {
		server, _, _ := catalog.Split(t.ID)
		return servers[server]
	})
	checks := [2]shelf{newShelf(s.Tools, s.Capabilities), newShelf(append(after, now...), s.Capabilities)}
	wires := append(s.learned(), s.written()...)
	requests, paths := s.uses(byTool)
	all := []Affected{}
	for _, id := range slices.Sorted(maps.Keys(byTool)) {
		a := Affected{Tool: id, Plans: []Plan{}, Wires: []Wire{}}
		a.Requests, a.RequestCount = named(requests[id])
		a.Paths, a.PathCount = named(paths[id])
		for _, c := range s.Capabilities {
			if calls(c, id) {
				a.Plans = append(a.Plans, Plan{c.ID, newProblems(checks, c)})
			}
		}
		for _, w := range wires {
			if slices.ContainsFunc(byTool[id], w.concerns) {
				a.Wires = append(a.Wires, w)
			}
		}
		all = append(all, a)
	}
	return all
}

func calls(c catalog.Capability, tool string) bool {
	return slices.Contains(c.Tools, tool) || slices.ContainsFunc(c.Tasks, func(t catalog.Task) bool { return t.Tool == tool })
}

// concerns reports whether a change is of the field at an end of the wire, or of one around or within it.
func (w Wire) concerns(c Change) bool {
	ends := []struct{ tool, part, path string }{{w.fromTool, "output", w.out}, {w.toTool, "input", w.in}}
	for _, end := range ends {
		if c.Tool == end.tool && (c.Kind == ToolRemoved || c.Part == end.part && (within(end.path, c.Path) || within(c.Path, end.path))) {
			return true
		}
	}
	return false
}

func within(path, around string) bool {
	rest, ok := strings.CutPrefix(path, around)
	return ok && (around == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// uses counts the requests and the transitions of tools.
func (s Stored) uses(tools map[string][]Change) (requests, paths map[string]map[string]int) {
	requests, paths = map[string]map[string]int{}, map[string]map[string]int{}
	count := func(of map[string]map[string]int, tool, text string) {
		if _, wanted := tools[tool]; !wanted {
			return
		}
		if of[tool] == nil {
			of[tool] = map[string]int{}
		}
		of[tool][text]++
	}
	for _, e := range s.Episodes {
		seen := map[string]bool{}
		for i, step := range e.Steps {
			if e.Intent != "" && !seen[step.Tool] {
				seen[step.Tool] = true
				count(requests, step.Tool, e.Intent)
			}
			if i > 0 {
				path := e.Steps[i-1].Tool + " → " + step.Tool
				count(paths, step.Tool, path)
				if e.Steps[i-1].Tool != step.Tool {
					count(paths, e.Steps[i-1].Tool, path)
				}
			}
		}
	}
	return requests, paths
}

func named(counts map[string]int) (most []Counted, total int) {
	most = []Counted{}
	for text, n := range counts {
		most = append(most, Counted{text, n})
	}
	slices.SortFunc(most, func(a, b Counted) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text)) })
	return most[:min(len(most), mostNamed)], len(counts)
}

// learned are the wires that the digests of the history support.
func (s Stored) learned() (wires []Wire) {
	table, number, names := wiring.New(), map[string]int32{}, []string{}
	for at, e := range s.Episodes {
		var before []wiring.Call
		for _, step := range e.Steps {
			node, known := number[step.Tool]
			if !known {
				node = int32(len(names))
				number[step.Tool], names = node, append(names, step.Tool)
			}
			values := table.Values(step.Inputs, step.Outputs)
			table.Observe(int32(at), node, &values, before[max(0, len(before)-wiring.Back):])
			before = append(before, wiring.Call{Tool: node, Values: &values})
		}
	}
	for node, to := range names {
		for _, w := range table.Wires([]int32{int32(node)}, func(n int32) int32 { return n }) {
			from := names[w.From]
			wires = append(wires, Wire{From: from + " " + w.Out, To: to + " " + w.In, Seen: int(w.Count), Of: int(w.Of),
				fromTool: from, toTool: to, out: w.Out, in: w.In})
		}
	}
	return wires
}

// written are the references of stored capabilities: {"$from": "task.result.items[0].id"}.
func (s Stored) written() (wires []Wire) {
	for _, c := range s.Capabilities {
		tool := map[string]string{}
		for _, t := range c.Tasks {
			tool[t.ID] = t.Tool
		}
		for _, t := range c.Tasks {
			for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
				var ref struct {
					From string `json:"$from"`
				}
				if json.Unmarshal(t.Arguments[name], &ref) != nil || ref.From == "" {
					continue
				}
				task, path, _ := strings.Cut(ref.From, ".")
				if from, ok := tool[task]; ok {
					path = anyItem(strings.TrimPrefix(strings.TrimPrefix(path, "result"), "."))
					wires = append(wires, Wire{From: strings.TrimSpace(from + " " + path), To: t.Tool + " " + name, Plan: c.ID,
						fromTool: from, toTool: t.Tool, out: path, in: name})
				}
			}
		}
	}
	return wires
}

// anyItem writes places in lists as any place: items[0].id is items[].id.
func anyItem(path string) string {
	var b strings.Builder
	inside := false
	for _, r := range path {
		if inside = inside && r != ']'; !inside {
			b.WriteRune(r)
		}
		inside = inside || r == '['
	}
	return b.String()
}

// shelf is a catalog for checking plans.
type shelf struct {
	tools        map[string]catalog.Tool
	capabilities map[string]catalog.Capability
}

func newShelf(tools []catalog.Tool, capabilities []catalog.Capability) shelf {
	s := shelf{byID(tools), map[string]catalog.Capability{}}
	for _, c := range capabilities {
		s.capabilities[c.ID] = c
	}
	return s
}

func (s shelf) Tool(id string) (catalog.Tool, bool) { t, ok := s.tools[id]; return t, ok }

func (s shelf) Capability(id string) (catalog.Capability, bool) {
	id, _, _ = strings.Cut(id, "@")
	c, ok := s.capabilities[id]
	return c, ok
}

func (s shelf) Resolve(spelling string) (string, error) { return spelling, nil }

// newProblems checks a capability with both catalogs, its parameters taken from outside, and lists what only the second
// one complains about.
func newProblems(checks [2]shelf, c catalog.Capability) []string {
	var said [2][]string
	for i, s := range checks {
		_, err := run.Check(run.Request{DAG: run.DAG{Tasks: []catalog.Task{{ID: "plan", Tool: c.ID}}}}, run.Rules{Catalog: s})
		var wrong *run.CheckError
		if errors.As(err, &wrong) {
			for _, p := range wrong.Problems {
				said[i] = append(said[i], strings.Replace(p.String(), `"plan/`, `"`, 1))
			}
		}
	}
	fresh := []string{}
	for _, p := range said[1] {
		if !slices.Contains(said[0], p) {
			fresh = append(fresh, p)
		}
	}
	return fresh
}
