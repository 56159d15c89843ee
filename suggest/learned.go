package suggest

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"waymark/numeric"
	nexttool "waymark/predict/next"
	planning "waymark/predict/plan"
	"waymark/semantic"
)

// What is learned from, and from how much on.
const (
	learnTasks   = 50     // with two steps or more: less says nothing of what comes next
	learnIntents = 30     // with an intent: less says nothing of what an intent needs
	newestSteps  = 50_000 // that are learned from; older ones are left out
	newestPlans  = 5_000  // tasks of which plans are learned; older ones are left out
	learnTools   = 10_000 // tools that can be learned of; used ones come first and are never left out
)

// learned is what a history teaches: package next for the next tool, package plan for intents. Tools
// have numbers of their own, in order of id.
type learned struct {
	tool    []int32 // by node, its tool, -1 = none
	node    []int32 // by tool
	words   map[string]int32
	wording *wording
	weights nexttool.Weights
	history *nexttool.History // nil without weights
	planner *planning.Model   // nil if there are too few intents
}

// lessons are the past tasks, prepared to be learned from.
type lessons struct {
	*learned
	catalog nexttool.Catalog
	texts   []planning.Tool
	tasks   []*nexttool.Task
	plans   []planning.Task
	timed   bool
}

// learning is what can be learned of counts, once somebody asks for it: it takes longer than all other
// measures together, and many a workspace never asks. It is a function of the counts alone, so it does not
// matter when it is worked out.
type learning struct {
	counts  *Counts
	tasks   int              // with two steps or more
	intents int              // of tasks that did not fail
	known   nexttool.Weights // fitted before, and kept; empty: not yet
	once    sync.Once
	result  atomic.Pointer[learned]
}

// newLearning looks what there is to learn from.
func newLearning(c *Counts) *learning {
	l := &learning{counts: c}
	for i := range c.past {
		p := &c.past[i]
		if len(p.nodes) > 1 {
			l.tasks++
		}
		if p.teaches() {
			l.intents++
		}
	}
	return l
}

// teaches reports whether a task says what its intent needs.
func (p *pastEpisode) teaches() bool {
	return strings.TrimSpace(p.intent) != "" && len(p.nodes) > 0 && !p.failed()
}

// of reports whether there is enough to learn about a kind of question.
func (l *learning) of(k about) bool {
	if l == nil {
		return false
	}
	next, plans := l.tasks >= learnTasks, l.intents >= learnIntents
	switch k {
	case aboutNext, aboutNextIntent:
		return next
	case aboutIntent:
		return plans
	}
	return next || plans
}

// get is what was learned; the first who asks waits for it.
func (l *learning) get() *learned {
	l.once.Do(func() {
		lessons := l.counts.lessons()
		if l.of(aboutNext) {
			lessons.weights = l.known
			if lessons.weights.Plain == nil {
				lessons.weights = nexttool.Fit(lessons.catalog, lessons.tasks, lessons.timed)
			}
			lessons.history = nexttool.NewHistory(lessons.catalog)
			for _, task := range lessons.tasks {
				lessons.history.Observe(task)
			}
		}
		if l.of(aboutIntent) {
			lessons.planner = planning.Fit(planning.NewTexts(lessons.texts), nil, lessons.plans)
		}
		l.counts = nil // they may be dropped now
		l.result.Store(lessons.learned)
	})
	return l.result.Load()
}

// weights are those fitted so far, or none.
func (l *learning) weights() nexttool.Weights {
	if done := l.result.Load(); done != nil {
		return done.weights
	}
	return l.known
}

// Learn works out what profile learned answers with, which otherwise the first question waits for.
func (m *Measures) Learn() {
	if m.learning.of(aboutNothing) {
		m.learning.get()
	}
}

// Learned reports whether it is worked out already.
func (m *Measures) Learned() bool { return m.learning != nil && m.learning.result.Load() != nil }

// lessons prepares the past tasks and the tools.
func (c *Counts) lessons() *lessons {
	first, steps := len(c.past), 0
	for ; first > 0 && steps+len(c.past[first-1].nodes) <= newestSteps; first-- {
		steps += len(c.past[first-1].nodes)
	}
	past := make([]*pastEpisode, 0, len(c.past)-first)
	l := &lessons{learned: &learned{words: map[string]int32{}}, timed: true}
	for i := range c.past[first:] {
		p := &c.past[first+i]
		past = append(past, p)
		l.timed = l.timed && p.time != 0
	}
	if l.timed {
		slices.SortStableFunc(past, func(a, b *pastEpisode) int { return cmp.Compare(a.time, b.time) })
	}
	l.number(c, past)
	l.describe(c)
	for i, p := range past {
		l.add(c, p, i)
	}
	if n := len(l.plans); n > newestPlans {
		l.plans = l.plans[n-newestPlans:]
	}
	return l
}

// number chooses the tools and numbers them: those used, then the others of the catalog.
func (l *lessons) number(c *Counts, past []*pastEpisode) {
	chosen := make([]bool, len(c.ids))
	n := 0
	choose := func(node int32) {
		if !chosen[node] {
			chosen[node] = true
			l.node = append(l.node, node)
			n++
		}
	}
	for _, p := range past {
		for _, raw := range p.nodes {
			choose(c.canon[raw])
		}
	}
	for i := range c.ids {
		if n < learnTools && c.live(int32(i)) {
			choose(int32(i))
		}
	}
	slices.SortFunc(l.node, func(a, b int32) int { return strings.Compare(c.ids[a], c.ids[b]) })
	l.tool = make([]int32, len(c.ids))
	for i := range l.tool {
		l.tool[i] = -1
	}
	for t, node := range l.node {
		l.tool[node] = int32(t)
	}
}

// describe reads what the catalog says of the tools.
func (l *lessons) describe(c *Counts) {
	texts := make([][]string, len(l.node))
	l.texts = make([]planning.Tool, len(l.node))
	l.catalog.Server = make([]int32, len(l.node))
	servers := map[string]int32{}
	for t, node := range l.node {
		d := c.document(c.ids[node])
		tool := planning.Tool{Name: d.Name, Text: d.Text, Properties: d.Properties}
		server := ""
		if i, ok := c.view.tool[c.ids[node]]; ok {
			entry := &c.view.tools[i]
			tool.Name, tool.Text, tool.Server = nameOf(entry), entry.Description, cmp.Or(entry.Server, entry.Domain)
			tool.Properties += " " + entry.Domain
			server = tool.Server
		}
		number, ok := servers[server]
		if !ok {
			number = int32(len(servers))
			servers[server] = number
		}
		l.catalog.Server[t] = number
		l.texts[t] = tool
		name := semantic.Tokens(tool.Name)
		texts[t] = slices.Concat(name, name, semantic.Tokens(tool.Server), semantic.Tokens(tool.Text))
	}
	l.wording = newWording(texts)
	l.catalog.Alike = l.wording.alike()
}

// add prepares one task.
func (l *lessons) add(c *Counts, p *pastEpisode, at int) {
	tools := make([]int32, len(p.nodes))
	for i, raw := range p.nodes {
		tools[i] = l.tool[c.canon[raw]]
	}
	parents := p.parents()
	if len(tools) > 1 {
		t := &nexttool.Task{Tools: tools, Parents: parents, Group: uint64(at)}
		if words := semantic.Tokens(p.intent); len(words) > 0 {
			t.Request, t.Text = l.request(words, true), l.wording.like(p.intent)
			h := fnv.New64a()
			h.Write([]byte(strings.Join(words, " ")))
			t.Group = h.Sum64()
		}
		l.tasks = append(l.tasks, t)
	}
	if p.teaches() {
		l.plans = append(l.plans, planning.Task{Text: p.intent, Steps: tools, After: parents})
	}
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
