package suggest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"waymark/graph"
	"waymark/semantic"
	"waymark/semantic/thesaurus"
	"waymark/semantic/wordvectors"
	"waymark/suggest/history"
)

// Measures are the parts of a model that are costly to compute and need not follow every episode at
// once: importance, communities, clusters, the text index and the index of past intents. They are a
// pure function of the counts they were measured on and of the options.
type Measures struct {
	nodes     int                  // ids known when measured; later ones have no measures yet
	episodes  int                  // episodes seen when measured
	steps     uint64               // of these episodes
	thesaurus *thesaurus.Thesaurus // nil: the default one
	measured  *history.Catalog     // the catalog when measured
	past      history.Episodes     // the episodes when measured, by the nodes that canon says
	canon     []int32
	intents   func() [][]int32                   // intentsByNode, worked out once
	vouched   func(episode int, node int32) bool // [history.Counts.Vouched] when measured
	recent    recentBuilder
	rank      []float64 // PageRank of the transition graph, divided by the largest
	sweeps    int
	groups    nodeGroups
	incidence *graph.Incidence
	hyperRank []float64 // PageRank of the tool × capability incidence, divided by the largest
	texts     textMeasures
	learning  *learning       // nil if profile learned is off
	prior     func() *learned // see assumed
}

// textMeasures are the indexes of texts and past requests.
type textMeasures struct {
	text     *semantic.Index
	matcher  func() *semantic.Matcher
	doc      []int32 // by node, its document in text, -1 = none
	docNode  []int32
	recall   *semantic.Intents // index of past intents
	recalled []int32           // episode of each recall document
}

// nodeGroups are communities of the transition graph and spectral clusters.
type nodeGroups struct {
	community  []int32   // by node, -1 = none
	members    [][]int32 // by community, the most important of it
	modularity float64
	cluster    []int32                              // spectral cluster of tools and capabilities together, -1 = none
	named      struct{ community, cluster []int32 } // the first member of each
	clusters   int
	hubs       [][]int32 // of each cluster or community the nodes with any importance, the most important first
	apart      []int32   // and those in none
	capped     bool      // the search for the number of clusters ended at its limit of work
	gaps       []float64
}

// MeasureOptions say how to measure. Two measures of the same counts with the same options are equal.
type MeasureOptions struct {
	// WithoutSpectral leaves the clusters out, to see what they change.
	WithoutSpectral bool `json:"without_spectral,omitempty"`
	// WithoutLearned turns the learned profile off.
	WithoutLearned bool `json:"without_learned,omitempty"`
	// Learn works out what profile learned answers with, which otherwise the first question does that
	// asks for it. It changes no answer.
	Learn bool `json:"-"`
	// Provisional works out profile learned from prior weights where a fit would take long. For the time until a fit is
	// done.
	Provisional bool `json:"-"`
	// Vectors returns unit vectors of texts from an embeddings endpoint; nil: none.
	Vectors func(ctx context.Context, texts []string) ([][]float32, error) `json:"-"`
	// Thesaurus relates the words of searches; nil: [thesaurus.Default]. It is a setting, not part of a stored model.
	Thesaurus *thesaurus.Thesaurus `json:"-"`
	// CatalogCache keeps what follows from the catalog alone for the next measures of the same catalog; nil: nothing is
	// kept. It changes no answer.
	CatalogCache *CatalogCache `json:"-"`
	// Progress is called with the phase and the share done; nil: nobody looks.
	Progress func(phase string, done float64) `json:"-"`
}

// Episodes is how many episodes were measured.
func (m *Measures) Episodes() int { return m.episodes }

// contextIntents bounds how many past intents describe one tool, allIntents how many describe all
// tools together (where there are more, the bound for one tool is halved until there are not), and
// intentBytes how much of each is read.
const contextIntents, allIntents, intentBytes = 256, 8 << 20, 240

// neighbourNames is how many co-used tools' names describe one tool.
const neighbourNames = 8

// newMeasures are measures of some counts without any figure.
func newMeasures(c *history.Counts) *Measures {
	m := &Measures{nodes: len(c.IDs), episodes: c.Past.N, steps: c.Totals.Steps, measured: c.Catalog, past: c.Past, canon: c.Canonical, vouched: c.Vouched}
	m.intents = sync.OnceValue(m.intentsByNode)
	m.prior = sync.OnceValue(func() *learned {
		l := &learning{counts: c, hyper: hypergraph{m.groups.cluster, m.hyperRank}, words: m.thesaurus, provisional: true}
		return l.compute(never, func(float64) {})
	})
	return m
}

// Measure computes the heavy parts, the text index beside the others. It stops soon after ctx ends. An
// unreachable embeddings endpoint is no error: text search does not depend on it.
func Measure(ctx context.Context, c *history.Counts, opts MeasureOptions) (*Measures, error) {
	p := &phases{ctx: ctx, report: opts.Progress, part: 1}
	m := newMeasures(c)
	if !opts.WithoutLearned {
		m.learning = newLearning(c)
	}
	if opts.Provisional && m.learning != nil {
		m.learning.provisional = !m.learning.isShort()
	}
	learn := m.learning != nil && (opts.Learn || m.learning.isShort())
	if learn {
		p.part = 1 - learnShare
	}
	g := c.Graph.Graph()
	err := concurrently(
		func() error {
			return p.run("text", .55, func() error { return m.measureText(ctx, c, g, opts) })
		},
		func() error {
			if err := p.run("pagerank", .05, func() error { return m.measureRank(g) }); err != nil {
				return err
			}
			if err := p.run("communities", .1, func() error { m.measureCommunities(g); return nil }); err != nil {
				return err
			}
			if err := p.run("spectral", .15, func() error { return m.measureIncidence(ctx, c, opts) }); err != nil {
				return err
			}
			return p.run("recall", .15, func() error { return m.measureRecall(ctx, c) })
		},
	)
	if err != nil {
		return nil, err
	}
	if m.learning != nil {
		m.learning.hyper = hypergraph{m.groups.cluster, m.hyperRank}
	}
	if learn {
		if err := p.learn(m.learning); err != nil {
			return nil, err
		}
	}
	return m, p.run("publish", 0, func() error { m.group(c); return nil })
}

// learnShare is the part of the time that learning takes, if it takes place.
const learnShare = .8

// phases are the steps of a measure. Several run at once; the share done only grows.
type phases struct {
	ctx    context.Context
	report func(phase string, done float64)
	part   float64 // of the whole that the shares of run are shares of
	mu     sync.Mutex
	done   float64
}

// run carries out a phase, which is a share of the whole, unless the context has ended.
func (p *phases) run(name string, share float64, f func() error) error {
	p.reportProgress(name, 0)
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	p.reportProgress(name, float64(p.part*share))
	return p.ctx.Err()
}

// learn is a phase that tells how far it is.
func (p *phases) learn(l *learning) error {
	const name = "learn"
	p.reportProgress(name, 0)
	told := 0.0
	l.compute(ended(p.ctx), func(done float64) {
		p.reportProgress(name, float64(learnShare*(done-told)))
		told = done
	})
	return p.ctx.Err()
}

// reportProgress adds a share of the whole, in [0, 1], to what is done. The lock keeps reports of concurrent
// phases in the order of their sums.
func (p *phases) reportProgress(name string, more float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += more
	if p.report != nil {
		p.report(name, p.done)
	}
}

// concurrently runs a and b at once, waits for both and returns the first error of the two. What panics in
// either panics here.
func concurrently(a, b func() error) error {
	var failed [2]error
	var panicked [2]any
	run := func(i int, f func() error) {
		defer func() { panicked[i] = recover() }()
		failed[i] = f()
	}
	var group sync.WaitGroup
	group.Go(func() { run(0, a) })
	run(1, b)
	group.Wait()
	if p := cmp.Or(panicked[0], panicked[1]); p != nil {
		panic(p)
	}
	return cmp.Or(failed[0], failed[1])
}

// measureRank is PageRank scaled so that the most important node has 1: formulas weigh it against other
// signals in [0, 1].
func (m *Measures) measureRank(g *graph.Graph) error {
	ranks, err := graph.PageRank(g, graph.PageRankOptions{})
	if err != nil {
		return fmt.Errorf("rank the transition graph: %w", err)
	}
	m.rank, m.sweeps = graph.Normalised(ranks.Ranks), ranks.Sweeps
	if g.Size() == 0 {
		clear(m.rank) // without a transition nothing is more important than anything else
	}
	return nil
}

// measureCommunities groups the nodes of the transition graph. The modularity is stored with them to be
// shown: it says how far the groups differ from chance.
func (m *Measures) measureCommunities(g *graph.Graph) {
	m.groups.community = graph.Communities(g, communityResolution)
	m.groups.modularity = graph.Modularity(g, m.groups.community, communityResolution)
}

// measureRecall indexes the newest recallIntents requests of episodes that used a tool, oldest first:
// document d of the index is episode recalled[d]. Episodes that failed are indexed too; plan.remember leaves
// them out.
func (m *Measures) measureRecall(ctx context.Context, c *history.Counts) error {
	for i := c.Past.N - 1; i >= 0 && len(m.texts.recalled) < recallIntents; i-- {
		if p := c.Past.Episode(i); p.Intent != "" && !p.Limited && slices.ContainsFunc(p.Nodes, func(raw int32) bool { return m.vouched(i, m.canon[raw]) }) {
			m.texts.recalled = append(m.texts.recalled, int32(i))
		}
	}
	slices.Reverse(m.texts.recalled)
	intents := make([]string, len(m.texts.recalled))
	for i, e := range m.texts.recalled {
		intents[i] = c.Past.Episode(int(e)).Intent
	}
	m.texts.recall = semantic.NewIntents(intents, ended(ctx))
	return ctx.Err()
}

// recallIntents is how many past intents, the newest, can be found again: looking takes longer with each.
const recallIntents = 100_000

// ended adapts a context for numeric packages, which take a function that reports whether to stop.
func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// communityResolution is the resolution of modularity; 1 is the standard measure.
const communityResolution = 1

// measureText indexes the texts of all nodes that are in use. A document has the text of the catalog and, as
// context, what the tool was used for and what it was used with. Vectors of an endpoint are an addition:
// without them the text index is complete.
func (m *Measures) measureText(ctx context.Context, c *history.Counts, g *graph.Graph, opts MeasureOptions) error {
	m.texts.doc = make([]int32, len(c.IDs))
	var docs []semantic.Document
	intents := m.intentsByNode()
	for i, id := range c.IDs {
		m.texts.doc[i] = -1
		if !c.Live(int32(i)) {
			continue
		}
		m.texts.doc[i] = int32(len(docs))
		m.texts.docNode = append(m.texts.docNode, int32(i))
		d := c.Document(id)
		d.Context = contextOf(c, g, int32(i), intents[i])
		docs = append(docs, d)
	}
	o := semantic.Options{Words: opts.CatalogCache.read(), Stop: ended(ctx)}
	if opts.Vectors != nil && len(docs) > 0 {
		texts := make([]string, len(docs))
		for i, d := range docs {
			texts[i] = embedded(d)
		}
		if v, err := opts.Vectors(ctx, texts); err == nil {
			o.Vectors = v
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	m.texts.text = semantic.Build(docs, o)
	if ctx.Err() == nil {
		m.prepareSearch(opts.Thesaurus)
		m.PrepareSearch()
	}
	return ctx.Err()
}

// PrepareSearch does what the first question in words would wait for.
func (m *Measures) PrepareSearch() { m.texts.matcher() }

// prepareSearch sets up the parts of a search that are computed once, when the first question in words
// arrives: the matcher of words and the model of what requests say when they need a tool.
func (m *Measures) prepareSearch(words *thesaurus.Thesaurus) {
	m.thesaurus = words
	if m.learning != nil {
		m.learning.words = words
	}
	m.texts.matcher = sync.OnceValue(func() *semantic.Matcher {
		return m.texts.text.Matcher(cmp.Or(words, thesaurus.Default()), wordvectors.Default())
	})
}

// Texts lists what an embeddings endpoint is asked about: one text for each document of the index.
func Texts(c *history.Counts) []string {
	var texts []string
	for i, id := range c.IDs {
		if c.Live(int32(i)) {
			texts = append(texts, embedded(c.Document(id)))
		}
	}
	return texts
}

// embedded is the text that an embeddings endpoint gets for a document: name and description, without the
// schema's words.
func embedded(d semantic.Document) string { return strings.TrimSpace(d.Name + ". " + d.Text) }

// intentsByNode lists, for each node, the newest of the measured episodes with an intent that used it and did
// not fail as a whole.
func (m *Measures) intentsByNode() [][]int32 {
	by := make([][]int32, m.nodes)
	for e := m.episodes - 1; e >= 0; e-- {
		p := m.past.Episode(e)
		if p.Intent == "" || p.Failed() || p.Limited {
			continue
		}
		for _, raw := range p.Nodes {
			n := m.canon[raw]
			if l := by[n]; m.vouched(e, n) && len(l) < contextIntents && (len(l) == 0 || l[len(l)-1] != int32(e)) {
				by[n] = append(l, int32(e))
			}
		}
	}
	newest(by, contextIntents, allIntents)
	return by
}

// newest halves the number that a list may have until all lists together have at most so many, and
// cuts them.
func newest(lists [][]int32, each, all int) {
	for ; each > 1; each /= 2 {
		total := 0
		for _, l := range lists {
			total += min(len(l), each)
		}
		if total <= all {
			break
		}
	}
	for i, l := range lists {
		lists[i] = l[:min(len(l), each)]
	}
}

// contextOf describes a tool by its use: the requests of the given episodes, and the ids of the
// neighbourNames tools that most strongly follow it. The sort is stable, so equal weights keep the order of
// node numbers.
func contextOf(c *history.Counts, g *graph.Graph, node int32, episodes []int32) []string {
	texts := make([]string, 0, len(episodes)+neighbourNames)
	for _, e := range episodes {
		texts = append(texts, cut(c.Past.Episode(int(e)).Intent, intentBytes))
	}
	to, weight := g.Out(node)
	best := make([]int, len(to))
	for i := range best {
		best[i] = i
	}
	slices.SortStableFunc(best, func(a, b int) int { return -cmp.Compare(weight[a], weight[b]) })
	for _, i := range best[:min(neighbourNames, len(best))] {
		texts = append(texts, c.IDs[to[i]])
	}
	return texts
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// groups lists the members of each label 0..k-1, in order.
func groups(label []int32) [][]int32 {
	var g [][]int32
	for i, l := range label {
		if l < 0 {
			continue
		}
		for int(l) >= len(g) {
			g = append(g, nil)
		}
		g[l] = append(g[l], int32(i))
	}
	return g
}
