// Package plan learns from past requests which tools a new one needs, in which order, and with which
// dependencies, beside what the texts of the tools say.
//
//	            ┌─ ridge regression, nearest requests, counts ─┐
//	request ────┤                                               ├─▶ P(tool) ──▶ P(tool | the other tools)
//	            └─ words: whole, by clause, names, servers ─────┘                      │
//	                                            past sets, size, words explained ──▶ set of tools
//	                                            past links, places in the request ──▶ order and links
//
// Every arrow that weighs signals is a logistic regression (package logit) fitted to the workspace's own
// history. While it is fitted, a past request is seen as a new one would be: by a ridge regression of
// all other rows, by neighbours other than itself, and by counts of other parts of the history. Some are
// seen with fewer of their words, too: weights change with how foreign a request is to the history. So text
// wins where history is thin and history where it is rich, and no weight is set by hand.
//
// Tools and tasks are numbers and texts. Equal input gives the same bits at any number of processors.
package plan

import (
	"cmp"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/calibrate"
	"waymark/learn/labels"
	"waymark/learn/logit"
	"waymark/semantic"
)

// Task is a request and what was done: Steps are tools in an order that respects After, After[i] the
// steps that step i depends on.
type Task struct {
	Text  string
	Steps []int32
	After [][]int32
	Match *Match // of Text, if known

	Failed bool // as a whole
}

// group is what is known of one wording: tasks with the same words are one observation.
type group struct {
	tokens []string
	tasks  []*Task
	tools  []labels.Label // by number; share of the tasks that used it
	links  []link         // by from, to
	size   float64        // mean number of distinct tools
	match  *Match

	failed float64        // share of the tasks; 0 where outcomes do not count
	misled []labels.Label // by number; share of the tasks that used it and failed
}

// link is a dependency between two tools; value is the share of the group's tasks that have it.
type link struct {
	from, to int32
	value    float64
}

// Model is a fitted planner.
type Model struct {
	texts   *Texts
	needs   [][]int32
	groups  []group
	view                     // by all words, and pairs of them
	content view             // by words that are no stop words, whatever stands beside them
	y       [][]labels.Label // dense labels of groups
	dense   denseLabels

	counts
	part    [folds]counts // what each part of the groups adds to the counts
	related relations
	closure [][]int32

	pastSets pastSets
	sinkRow  *labels.Ridge

	kinds  [2]weights   // for requests that are like past ones, and what foreign ones add
	gate   *logit.Model // from familiarity to the odds that a request is foreign
	linker *logit.Model
	chains bool
	rates  [][2]float64
	sure   [2]*calibrate.Curve // by kind of request, of claims that the likeliest tool is right
}

// pastSets are the distinct sets of tools of past tasks.
type pastSets struct {
	pasts     []past
	pastOf    [][]int32 // tool → past sets of which it is the rarest tool
	setAt     map[string]int32
	groupSets [][]labels.Label
}

// denseLabels number the tools and servers that tasks use.
type denseLabels struct {
	label  []int32 // tool → dense label, -1 unused
	tool   []int32 // dense label → tool
	host   []int32 // server → dense label after those of tools and size, -1 unused
	labels int     // how many there are
}

// weights of signals.
type weights struct {
	first, second *logit.Model
	target        *logit.Model // nil without known dependencies
	chooser       *logit.Model
}

// Chosen on parts of the training requests of public histories held out; none is critical.
const (
	lambda    = .7   // of the ridge regression
	penalty   = 1    // of the logistic ones, per squared slope
	corrected = 5    // of the second stage, which corrects the first
	apart     = 5    // as many times the penalty, of what is added for foreign requests
	sampled   = 2000 // newest wordings that the weights of signals are fitted to
)

// words are the tokens of a request as past requests are compared with it: with the small words, which say
// who, when and how often, and what comes before what.
func words(text string) []string { return semantic.Stems(text) }

// group joins tasks with the same words. A wording repeated often would otherwise count as many independent
// observations, and could be left out while fitting only one by one. Within a group, tools and links have
// shares in [0, 1].
func (m *Model) group(tasks []Task) {
	at := map[string]int{}
	for i := range tasks {
		t := &tasks[i]
		tokens := words(t.Text)
		if len(tokens) == 0 {
			continue
		}
		key := join(tokens)
		g, ok := at[key]
		if !ok {
			g = len(m.groups)
			at[key] = g
			m.groups = append(m.groups, group{tokens: tokens, match: t.Match})
		}
		m.groups[g].tasks = append(m.groups[g].tasks, t)
	}
	for i := range m.groups {
		g := &m.groups[i]
		share := 1 / float64(len(g.tasks))
		// Sums over maps below are per key, in the order of tasks; byNumber brings them into one order.
		tools, misled := map[int32]float64{}, map[int32]float64{}
		links := map[pair]float64{}
		for _, t := range g.tasks {
			set := distinctTools(t.Steps)
			for _, u := range set {
				tools[u] += share
				if t.Failed {
					misled[u] += share
				}
			}
			g.size += float64(share * float64(len(set)))
			g.failed += float64(share * b2f(t.Failed))
			for l := range linksOf(t) {
				links[l] += share
			}
		}
		g.tools, g.misled = byNumber(tools), byNumber(misled)
		for l, v := range links {
			g.links = append(g.links, link{l.a, l.b, v})
		}
		slices.SortFunc(g.links, func(a, b link) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	}
}

// byNumber lists labels, the smallest first.
func byNumber(values map[int32]float64) []labels.Label {
	var list []labels.Label
	for u, v := range values {
		list = append(list, labels.Label{Label: u, Value: v})
	}
	slices.SortFunc(list, func(a, b labels.Label) int { return cmp.Compare(a.Label, b.Label) })
	return list
}

// distinctTools is the set of the tools of a task, rising.
func distinctTools(steps []int32) []int32 {
	set := slices.Clone(steps)
	slices.Sort(set)
	return slices.Compact(set)
}

// chain reports whether each step depends on exactly the one before it.
func chain(t *Task) bool {
	for i, after := range t.After {
		if i == 0 && len(after) > 0 || i > 0 && (len(after) != 1 || int(after[0]) != i-1) {
			return false
		}
	}
	return true
}

// fitRidge fits the ridge regressions from words to labels. The labels are, in this order: the tools in use
// (dense), the logarithm of the number of tools, and the servers in use. A model of the tools that nothing
// depends on is fitted only where needs are known.
func (m *fit) fitRidge() {
	texts, content := make([][]string, len(m.groups)), make([][]string, len(m.groups))
	for i := range m.groups {
		texts[i], content[i] = m.groups[i].tokens, semantic.Tokens(m.groups[i].tasks[0].Text)
	}
	m.vocab, m.rows = labels.NewVocabulary(texts)
	m.content.vocab, m.content.rows = labels.NewWords(content)
	m.dense.label = make([]int32, len(m.texts.tools))
	for t := range m.dense.label {
		m.dense.label[t] = -1
		if m.uses[t] > 0 {
			m.dense.label[t] = int32(len(m.dense.tool))
			m.dense.tool = append(m.dense.tool, int32(t))
		}
	}
	m.servers()
	size := int32(len(m.dense.tool)) // one label more: the size of the plan; then those of servers
	m.y = make([][]labels.Label, len(m.groups))
	y := make([][]labels.Label, len(m.groups))
	for i := range m.groups {
		for _, l := range m.groups[i].tools {
			m.y[i] = append(m.y[i], labels.Label{Label: m.dense.label[l.Label], Value: l.Value})
		}
		y[i] = append(slices.Clone(m.y[i]), labels.Label{Label: size, Value: numeric.Ln(m.groups[i].size)})
		for _, l := range m.texts.hostsOf(m.groups[i].tools) {
			y[i] = append(y[i], labels.Label{Label: m.dense.host[l.Label], Value: l.Value})
		}
	}
	fitted := m.view.fit(y, m.dense.labels, m.stop) && m.content.fit(m.y, len(m.dense.tool), m.stop)
	if m.needs != nil {
		sinks := make([][]labels.Label, len(m.groups))
		for i := range m.groups {
			sinks[i] = m.sinksOf(&m.groups[i])
		}
		m.sinkRow = labels.FitRidgeUntil(m.rows, m.vocab.Len(), sinks, len(m.dense.tool), nil, lambda, m.stop)
	}
	if !fitted || m.needs != nil && m.sinkRow == nil {
		m.stopped.Store(true)
	}
}

// sinksOf are the tools that nothing in the task depends on, as labels: what a task is done for.
func (m *Model) sinksOf(g *group) []labels.Label {
	sum := map[int32]float64{}
	share := 1 / float64(len(g.tasks))
	for _, t := range g.tasks {
		used := make([]bool, len(t.Steps))
		for _, after := range t.After {
			for _, j := range after {
				used[j] = true
			}
		}
		var ends []int32
		for i, u := range t.Steps {
			if !used[i] {
				ends = append(ends, u)
			}
		}
		for _, u := range distinctTools(ends) {
			sum[m.dense.label[u]] += share
		}
	}
	return byNumber(sum)
}

// forget drops what only fitting needs.
func (m *Model) forget() {
	m.view.forget()
	m.content.forget()
	if m.sinkRow != nil {
		m.sinkRow.Forget()
	}
	m.part = [folds]counts{}
	for i := range m.groups {
		m.groups[i].tasks, m.groups[i].match, m.groups[i].tokens = nil, nil, nil
	}
	for i := range m.pastSets.pasts {
		m.pastSets.pasts[i].part = [folds]float64{}
	}
}
