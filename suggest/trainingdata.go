package suggest

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"waymark/catalog"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
	"waymark/suggest/semantic"
)

// trainingData holds the past tasks in the form on which the models are fitted.
type trainingData struct {
	*learned
	texts *rank.Texts
	tasks []*rank.Task
}

// lesson is a past episode and its number.
type lesson struct {
	*history.Episode
	number int
}

// newTrainingData prepares the newest past tasks, at most newestSteps steps. It leaves out limited and repeated
// episodes, and those with unconfirmed tools. It returns nil soon after halt returns true.
func newTrainingData(c *history.Counts, t *textMeasures, halt func() bool) *trainingData {
	first, steps := c.Past.N, 0
	for ; first > 0 && steps+len(c.Past.Episode(first-1).Nodes) <= newestSteps; first-- {
		steps += len(c.Past.Episode(first - 1).Nodes)
	}
	l := &trainingData{learned: &learned{older: first > 0, tool: t.tool, node: t.node}, texts: t.texts()}
	if l.texts == nil {
		return nil
	}
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
	for i, p := range past {
		if halt() {
			return nil
		}
		l.add(c, p, i)
	}
	return l
}

// number numbers the nodes that can be suggested or were used in past tasks, in order of id.
func (m *Measures) number(c *history.Counts) {
	t, chosen := &m.texts, make([]bool, len(c.IDs))
	for i := range c.IDs {
		chosen[i] = c.Live(int32(i))
	}
	for i := range c.Past.N {
		for _, raw := range c.Past.Episode(i).Nodes {
			chosen[c.Canonical[raw]] = true
		}
	}
	t.tool = make([]int32, len(c.IDs))
	for i := range t.tool {
		if t.tool[i] = -1; chosen[i] {
			t.node = append(t.node, int32(i))
		}
	}
	slices.SortFunc(t.node, func(a, b int32) int { return strings.Compare(c.IDs[a], c.IDs[b]) })
	for number, node := range t.node {
		t.tool[node] = int32(number)
	}
}

// describe fills in the tools from the catalog.
func (m *Measures) describe(c *history.Counts) {
	t := &m.texts
	t.tools = make([]rank.Tool, len(t.node))
	servers := map[string]int32{"": -1}
	for number, node := range t.node {
		d := c.Document(c.IDs[node])
		tool := rank.Tool{Name: d.Name, Title: d.Name, Text: d.Text, Properties: d.Properties}
		server := ""
		if i, ok := c.Catalog.ToolIndex[c.IDs[node]]; ok {
			tool.Name = history.ToolName(&c.Catalog.Tools[i])
			tool.Effect, server = EffectOf(c.Catalog.Tools[i].Annotations), c.Server(node)
		}
		known, ok := servers[server]
		if !ok {
			known = int32(len(servers) - 1)
			servers[server] = known
		}
		tool.Server = known
		for _, need := range c.Requires(node) {
			if n := t.tool[need]; n >= 0 {
				tool.Requires = append(tool.Requires, n)
			}
		}
		t.tools[number] = tool
	}
}

// joinGroups sets the cluster and the hypergraph PageRank of each tool. It does nothing without capabilities.
func (m *Measures) joinGroups(c *history.Counts) {
	if len(c.Roles.Capabilities) == 0 {
		return
	}
	for number, node := range m.texts.node {
		tool := &m.texts.tools[number]
		tool.Cluster, tool.HyperRank = history.Of(m.groups.cluster, node, -1)+1, history.Of(m.hyperRank, node, 0)
	}
}

// EffectOf returns the effect of a tool by its annotations: whether it only reads or makes changes.
func EffectOf(a *catalog.Annotations) rank.Effect {
	yes := func(b *bool) bool { return b != nil && *b }
	switch {
	case a == nil:
		return rank.Unknown
	case yes(a.ReadOnly):
		return rank.Reads
	case a.ReadOnly != nil || yes(a.Destructive):
		return rank.Changes
	}
	return rank.Unknown
}

// add appends one task. Its request counts only for the tools that it is evidence for; without any, it is left out.
func (l *trainingData) add(c *history.Counts, p lesson, at int) {
	if len(p.Nodes) == 0 {
		return
	}
	t := &rank.Task{Intent: strings.TrimSpace(p.Intent), Group: groupOf(p.Intent, uint64(at)), Failed: p.Failed()}
	for i, before := range p.Parents() {
		node := c.Canonical[p.Nodes[i]]
		tool := l.tool[node]
		for _, b := range before {
			if t.Steps[b] != tool {
				t.Links = append(t.Links, [2]int32{t.Steps[b], tool})
			}
		}
		if t.Steps = append(t.Steps, tool); c.Vouched(p.number, node) {
			t.Asked = append(t.Asked, tool)
		}
	}
	if len(t.Asked) == 0 {
		t.Intent = ""
	}
	l.tasks = append(l.tasks, t)
}

// groupOf returns a hash of a request that is equal for near copies, which differ in numbers only. A request without
// words has the group other.
func groupOf(intent string, other uint64) uint64 {
	words := slices.DeleteFunc(semantic.Tokens(intent), func(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) })
	if len(words) == 0 {
		return other
	}
	h := fnv.New64a()
	h.Write([]byte(strings.Join(words, " ")))
	return h.Sum64()
}
