package suggest

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	planning "waymark/learn/plan"
	"waymark/learn/rank"
	"waymark/semantic"
	"waymark/suggest/history"
)

// trainingData holds the past tasks in the form that the models are fitted on.
type trainingData struct {
	*learned
	tools []rank.Tool
	tasks []*rank.Task
	texts *tooltexts
	needs [][]int32 // tools each tool requires, as its catalog says; nil where none says so
	plans []planning.Task
}

// hypergraph is what tools and capabilities form together, by node.
type hypergraph struct {
	cluster []int32 // -1 = none
	rank    []float64
}

// lesson is a past task and its number.
type lesson struct {
	*history.Episode
	number int
}

// newTrainingData prepares the past tasks and the tools. It returns nil soon after halt returns true.
func newTrainingData(c *history.Counts, groups hypergraph, cache *CatalogCache, halt func() bool) *trainingData {
	first, steps := c.Past.N, 0
	for ; first > 0 && steps+len(c.Past.Episode(first-1).Nodes) <= newestSteps; first-- {
		steps += len(c.Past.Episode(first - 1).Nodes)
	}
	l := &trainingData{learned: &learned{older: first > 0}}
	var past []lesson
	repeated := c.Repeated(first)
	for i := range c.Past.N - first {
		if p := c.Past.Episode(first + i); !p.Limited && (repeated == nil || !repeated[i]) && !slices.ContainsFunc(p.Nodes, c.Unconfirmed) {
			past = append(past, lesson{p, first + i})
		}
	}
	if !slices.ContainsFunc(past, func(p lesson) bool { return p.Time == 0 }) {
		slices.SortStableFunc(past, func(a, b lesson) int { return cmp.Compare(a.Time, b.Time) })
	}
	l.number(c, past)
	l.describe(c, groups, cache)
	for i, p := range past {
		if halt() {
			return nil
		}
		l.add(c, p, i)
	}
	if n := len(l.plans); n > newestPlans {
		l.plans = l.plans[n-newestPlans:]
	}
	return l
}

// number numbers what is in use and what past tasks used, in order of id.
func (l *trainingData) number(c *history.Counts, past []lesson) {
	chosen := make([]bool, len(c.IDs))
	for i := range c.IDs {
		chosen[i] = c.Live(int32(i))
	}
	for _, p := range past {
		for _, raw := range p.Nodes {
			chosen[c.Canonical[raw]] = true
		}
	}
	l.tool = make([]int32, len(c.IDs))
	for i := range l.tool {
		if l.tool[i] = -1; chosen[i] {
			l.node = append(l.node, int32(i))
		}
	}
	slices.SortFunc(l.node, func(a, b int32) int { return strings.Compare(c.IDs[a], c.IDs[b]) })
	for t, node := range l.node {
		l.tool[node] = int32(t)
	}
}

// describe reads what the catalog says of the tools.
func (l *trainingData) describe(c *history.Counts, groups hypergraph, cache *CatalogCache) {
	tools := make([]planning.Tool, len(l.node))
	l.tools = make([]rank.Tool, len(l.node))
	servers := map[string]int32{"": -1}
	any := false
	for t, node := range l.node {
		d := c.Document(c.IDs[node])
		tool := planning.Tool{Name: d.Name, Text: d.Text, Properties: d.Properties}
		if i, ok := c.Catalog.ToolIndex[c.IDs[node]]; ok {
			entry := &c.Catalog.Tools[i]
			tool.Name, tool.Text, tool.Server = history.ToolName(entry), entry.Description, c.Server(node)
			tool.Properties += " " + entry.Domain
		}
		number, ok := servers[tool.Server]
		if !ok {
			number = int32(len(servers) - 1)
			servers[tool.Server] = number
		}
		var requires []int32
		for _, need := range c.Requires(node) {
			if n := l.tool[need]; n >= 0 {
				requires, any = append(requires, n), true
			}
		}
		tools[t] = tool
		l.needs = append(l.needs, requires)
		l.tools[t] = rank.Tool{Name: tool.Name, Text: tool.Text, Properties: tool.Properties, Server: number, Requires: requires, Demoted: 1 - c.TextWeight(node)}
		if len(c.Roles.Capabilities) > 0 { // without any, clusters are of the tasks that are asked again
			l.tools[t].Cluster, l.tools[t].HyperRank = history.Of(groups.cluster, node, -1)+1, history.Of(groups.rank, node, 0)
		}
	}
	if !any {
		l.needs = nil
	}
	l.texts = cache.texts(tools)
}

// add prepares one task. A request teaches only of the tools that it is evidence for.
func (l *trainingData) add(c *history.Counts, p lesson, at int) {
	if len(p.Nodes) == 0 {
		return
	}
	t := &rank.Task{Intent: strings.TrimSpace(p.Intent), Group: groupOf(p.Intent, uint64(at))}
	planned := planning.Task{Text: p.Intent, Failed: p.Failed()}
	place := make([]int32, len(p.Nodes)) // in the plan, -1: none
	for i, before := range p.Parents() {
		tool := l.tool[c.Canonical[p.Nodes[i]]]
		var after []int32
		for _, b := range before {
			if t.Steps[b] != tool {
				t.Links = append(t.Links, [2]int32{t.Steps[b], tool})
			}
			if place[b] >= 0 {
				after = append(after, place[b])
			}
		}
		t.Steps = append(t.Steps, tool)
		if place[i] = -1; c.Vouched(p.number, c.Canonical[p.Nodes[i]]) {
			place[i] = int32(len(planned.Steps))
			planned.Steps, planned.After = append(planned.Steps, tool), append(planned.After, after)
		}
	}
	if t.Asked = planned.Steps; len(t.Asked) == 0 {
		t.Intent = ""
	}
	l.tasks = append(l.tasks, t)
	if t.Intent != "" {
		l.plans = append(l.plans, planned)
	}
}

// groupOf numbers requests so that near copies, which differ in numbers only, have the same one; without words it is other.
func groupOf(intent string, other uint64) uint64 {
	words := slices.DeleteFunc(semantic.Tokens(intent), func(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) })
	if len(words) == 0 {
		return other
	}
	h := fnv.New64a()
	h.Write([]byte(strings.Join(words, " ")))
	return h.Sum64()
}
