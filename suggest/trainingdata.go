package suggest

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/internal/numeric"
	nexttool "waymark/learn/next"
	planning "waymark/learn/plan"
	"waymark/learn/sequence"
	"waymark/learn/stop"
	"waymark/semantic"
	"waymark/suggest/history"
)

// trainingData holds the past tasks in the form that the models are fitted on.
type trainingData struct {
	*learned
	catalog nexttool.Catalog
	texts   *tooltexts
	needs   [][]int32 // tools each tool requires, as its catalog says; nil where none says so
	tasks   []*nexttool.Task
	ends    []stop.Task
	plans   []planning.Task
	timed   bool
}

// newTrainingData prepares the past tasks and the tools. It returns nil soon after halt returns true.
func newTrainingData(c *history.Counts, cache *CatalogCache, halt func() bool) *trainingData {
	first, steps := c.Past.N, 0
	for ; first > 0 && steps+len(c.Past.Episode(first-1).Nodes) <= newestSteps; first-- {
		steps += len(c.Past.Episode(first - 1).Nodes)
	}
	past := make([]*history.Episode, 0, c.Past.N-first)
	l := &trainingData{learned: &learned{words: map[string]int32{}}, timed: true}
	repeated := c.Repeated(first)
	for i := range c.Past.N - first {
		p := c.Past.Episode(first + i)
		if p.Limited || repeated != nil && repeated[i] {
			continue
		}
		past = append(past, p)
		l.timed = l.timed && p.Time != 0
	}
	if l.timed {
		slices.SortStableFunc(past, func(a, b *history.Episode) int { return cmp.Compare(a.Time, b.Time) })
	}
	l.number(c, past)
	l.describe(c, cache)
	l.countOlder(c, first)
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

// countOlder counts what came right after each tool in the tasks that are too old to be learned from.
func (l *trainingData) countOlder(c *history.Counts, first int) {
	if first == 0 {
		return
	}
	l.catalog.Older = make([]sequence.Followers, len(l.node))
	for i := range first {
		if c.Past.Episode(i).Limited {
			continue
		}
		last := int32(-1)
		for _, raw := range c.Past.Episode(i).Nodes {
			t := l.tool[c.Canonical[raw]]
			if last >= 0 && t >= 0 {
				l.catalog.Older[last].Add(t, 1)
			}
			last = t
		}
	}
}

// number chooses the tools and numbers them: those used, then what the same servers offer, then the others
// of the catalog.
func (l *trainingData) number(c *history.Counts, past []*history.Episode) {
	chosen, known := make([]bool, len(c.IDs)), map[string]bool{}
	choose := func(node int32) {
		if !chosen[node] {
			chosen[node] = true
			l.node = append(l.node, node)
		}
	}
	for _, p := range past {
		for _, raw := range p.Nodes {
			node := c.Canonical[raw]
			choose(node)
			known[c.Server(node)] = true
		}
	}
	delete(known, "")
	for _, others := range []bool{false, true} {
		for i := range c.IDs {
			node := int32(i)
			if c.Live(node) && len(l.node) < learnTools && (others || known[c.Server(node)]) {
				choose(node)
			}
		}
	}
	for i := range c.IDs {
		node := int32(i)
		l.partial = l.partial || !chosen[i] && c.Live(node) && c.Kind(node) == catalog.KindTool
	}
	slices.SortFunc(l.node, func(a, b int32) int { return strings.Compare(c.IDs[a], c.IDs[b]) })
	l.tool = make([]int32, len(c.IDs))
	for i := range l.tool {
		l.tool[i] = -1
	}
	for t, node := range l.node {
		l.tool[node] = int32(t)
	}
}

// describe reads what the catalog says of the tools.
func (l *trainingData) describe(c *history.Counts, cache *CatalogCache) {
	tools := make([]planning.Tool, len(l.node))
	l.catalog.Server = make([]int32, len(l.node))
	servers := map[string]int32{}
	for t, node := range l.node {
		d := c.Document(c.IDs[node])
		tool := planning.Tool{Name: d.Name, Text: d.Text, Properties: d.Properties}
		server := ""
		if i, ok := c.Catalog.ToolIndex[c.IDs[node]]; ok {
			entry := &c.Catalog.Tools[i]
			tool.Name, tool.Text, tool.Server = history.ToolName(entry), entry.Description, c.Server(node)
			tool.Properties += " " + entry.Domain
			server = tool.Server
		}
		number, ok := servers[server]
		if !ok {
			number = int32(len(servers))
			servers[server] = number
		}
		l.catalog.Server[t] = number
		tools[t] = tool
	}
	l.texts = cache.texts(tools)
	l.wording, l.catalog.Alike = l.texts.wording, l.texts.alike
	l.depend(c)
	l.catalog.Requires = l.needs
	l.wire(c)
}

// wire numbers the properties that tools take and give. Names that any tool may have say nothing.
func (l *trainingData) wire(c *history.Counts) {
	number := map[string]int32{}
	numbers := func(list []catalog.Property) []int32 {
		var of []int32
		for _, p := range list {
			if name := strings.ToLower(p.Name); specific(name) {
				n, ok := number[name]
				if !ok {
					n = int32(len(number))
					number[name] = n
				}
				of = append(of, n)
			}
		}
		slices.Sort(of)
		return slices.Compact(of)
	}
	takes, gives := make([][]int32, len(l.node)), make([][]int32, len(l.node))
	for t, node := range l.node {
		if i, ok := c.Catalog.ToolIndex[c.IDs[node]]; ok {
			takes[t], gives[t] = numbers(c.Catalog.Schemas[i].Inputs()), numbers(c.Catalog.Schemas[i].Outputs())
		}
	}
	if len(number) > 0 {
		l.catalog.Takes, l.catalog.Gives = takes, gives
	}
}

// depend reads what the catalog says that tools require.
func (l *trainingData) depend(c *history.Counts) {
	needs, any := make([][]int32, len(l.node)), false
	for t, node := range l.node {
		for _, need := range c.Requires(node) {
			if n := l.tool[need]; n >= 0 {
				needs[t] = append(needs[t], n)
				any = true
			}
		}
	}
	if any {
		l.needs = needs
	}
}

// add prepares one task.
func (l *trainingData) add(c *history.Counts, p *history.Episode, at int) {
	tools := make([]int32, len(p.Nodes))
	for i, raw := range p.Nodes {
		tools[i] = l.tool[c.Canonical[raw]]
	}
	parents := p.Parents()
	words, group := semantic.Tokens(p.Intent), uint64(at)
	if len(words) > 0 {
		h := fnv.New64a()
		h.Write([]byte(strings.Join(words, " ")))
		group = h.Sum64()
	}
	if len(tools) > 0 { // tasks of one step show where tasks end, not what comes next
		l.ends = append(l.ends, stop.Task{Tools: tools, Group: group})
	}
	if len(tools) > 1 {
		t := &nexttool.Task{Tools: tools, Parents: parents, Worked: worked(p.StepOutcomes), Group: group}
		if len(words) > 0 {
			t.Request, t.Text = l.request(words, true), func() []sequence.Vote { return l.wording.like(p.Intent) }
		}
		l.tasks = append(l.tasks, t)
	}
	if teaches(p) {
		l.plans = append(l.plans, planning.Task{Text: p.Intent, Steps: tools, After: parents, Failed: p.Failed()})
	}
}

// worked are the outcomes of the steps of a task.
func worked(outcomes []uint8) []nexttool.Outcome {
	if outcomes == nil {
		return nil
	}
	w := make([]nexttool.Outcome, len(outcomes))
	for i, o := range outcomes {
		w[i] = nexttool.Outcome(o)
	}
	return w
}

// request numbers the words of a request and the pairs of words that stand together. Words met for the
// first time get numbers that are kept only while learning.
func (l *learned) request(words []string, keep bool) []nexttool.Word {
	count := map[int32]int{}
	var fresh map[string]int32
	number := func(word string) {
		id, ok := l.words[word]
		if !ok && keep {
			id = int32(len(l.words))
			l.words[word] = id
		} else if !ok {
			if id, ok = fresh[word]; !ok {
				if fresh == nil {
					fresh = map[string]int32{}
				}
				id = int32(len(l.words) + len(fresh))
				fresh[word] = id
			}
		}
		count[id]++
	}
	for i, word := range words {
		number(word)
		if i > 0 {
			number(words[i-1] + " " + word)
		}
	}
	request := make([]nexttool.Word, 0, len(count))
	for id, n := range count {
		request = append(request, nexttool.Word{ID: id, Mass: float32(1 + numeric.Ln(float64(n)))})
	}
	slices.SortFunc(request, func(a, b nexttool.Word) int { return cmp.Compare(a.ID, b.ID) })
	return request
}
