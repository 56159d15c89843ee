package suggest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"waymark/graph"
	"waymark/internal/numeric"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
	"waymark/suggest/semantic"
)

// Measures are the parts of a model that are costly to compute and need not be updated with every
// episode: importance, communities, clusters, the text index and the index of past intents. They are a
// pure function of the measured counts and of the options.
type Measures struct {
	nodes     int                                // ids known when measured; later ones have no measures yet
	episodes  int                                // episodes seen when measured
	steps     uint64                             // of these episodes
	thesaurus *semantic.Thesaurus                // nil: the default one
	measured  *history.Catalog                   // the catalog when measured
	vouched   func(episode int, node int32) bool // [history.Counts.Vouched] when measured
	recent    recentBuilder
	rank      []float64 // PageRank of the transition graph, divided by the largest
	sweeps    int
	groups    nodeGroups
	incidence *graph.Incidence
	hyperRank []float64 // PageRank of the tool × capability incidence, divided by the largest
	texts     textMeasures
	learning  *lazyRankers
	prior     func() *learned // models that are not fitted; see assume
	seed      bool            // only profile seed answers
}

// textMeasures holds the texts of tools and capabilities, and of past requests. Tools and capabilities are numbered in
// order of id.
type textMeasures struct {
	tool     []int32            // by node, its number, -1 = none
	node     []int32            // by number
	tools    []rank.Tool        // by number
	texts    func() *rank.Texts // index of the texts of tools, built on first use; nil if the build was stopped
	vectors  *semantic.Vectors  // from an embeddings endpoint, by number
	requests func() *semantic.Requests
	recalled []int32 // episode of each request
}

// nodeGroups holds the communities of the transition graph and the spectral clusters.
type nodeGroups struct {
	community  []int32   // by node, -1 = none
	members    [][]int32 // by community, its most important nodes
	modularity float64
	cluster    []int32                              // spectral cluster of tools and capabilities together, -1 = none
	named      struct{ community, cluster []int32 } // the first member of each
	clusters   int
	hubs       []int32 // see findHubs
	gaps       []float64
}

// MeasureOptions are the options of a measurement. Measures of the same counts with the same options are equal.
type MeasureOptions struct {
	// WithoutSpectral leaves the clusters out, to show their effect.
	WithoutSpectral bool `json:"without_spectral,omitempty"`
	// WithoutLearned makes profile seed answer, to show the effect of learning.
	WithoutLearned bool `json:"without_learned,omitempty"`
	// Learn computes the models of profile learned in the build. Otherwise the first request that needs
	// them does. It changes no answer.
	Learn bool `json:"-"`
	// Provisional makes profile seed answer until a fit is done, if the history is not short.
	Provisional bool `json:"-"`
	// Vectors returns unit vectors of texts from an embeddings endpoint; nil: none.
	Vectors func(ctx context.Context, texts []string) ([][]float32, error) `json:"-"`
	// Thesaurus relates the words of searches; nil: [semantic.DefaultThesaurus]. It is a setting, not part of a stored
	// model.
	Thesaurus *semantic.Thesaurus `json:"-"`
	// Progress, if not nil, is called with the phase and the share done.
	Progress func(phase string, done float64) `json:"-"`
}

// Episodes is the number of measured episodes.
func (m *Measures) Episodes() int { return m.episodes }

// newMeasures returns measures of the counts in which nothing is computed yet.
func newMeasures(c *history.Counts) *Measures {
	m := &Measures{nodes: len(c.IDs), episodes: c.Past.N, steps: c.Totals.Steps, measured: c.Catalog, vouched: c.Vouched}
	m.prior = sync.OnceValue(func() *learned {
		l := &lazyRankers{counts: c, texts: &m.texts, provisional: true}
		return l.compute(never, func(float64) {})
	})
	return m
}

// Measure computes the measures, several concurrently. It stops soon after ctx ends. An unreachable
// embeddings endpoint is not an error, because text search does not depend on it.
func Measure(ctx context.Context, c *history.Counts, opts MeasureOptions) (*Measures, error) {
	p := &phases{ctx: ctx, report: opts.Progress, part: 1}
	m := newMeasures(c)
	m.readTexts(c, opts.Thesaurus, ended(ctx))
	m.seed = opts.WithoutLearned
	m.learning.provisional = opts.Provisional && !m.learning.isShort()
	learn := !m.seed && (opts.Learn || m.learning.isShort())
	if learn {
		p.part = 1 - learnShare
	}
	g := c.Graph.Graph()
	parts := []struct {
		name  string
		share float64
		run   func() error
	}{
		{"text", .55, func() error { return m.measureText(ctx, c, opts) }},
		{"pagerank", .05, func() error { return m.measureRank(g) }},
		{"communities", .1, func() error { m.measureCommunities(g); return nil }},
		{"spectral", .15, func() error { return m.measureIncidence(ctx, c, opts) }},
		{"recall", .15, func() error { m.texts.requests(); return nil }},
	}
	failed := make([]error, len(parts))
	numeric.Each(len(parts), func(i int) { failed[i] = p.run(parts[i].name, parts[i].share, parts[i].run) })
	if err := cmp.Or(failed...); err != nil {
		return nil, err
	}
	m.joinGroups(c)
	if learn {
		reported := 0.0
		if err := p.run("learn", 0, func() error {
			m.learning.compute(ended(ctx), func(done float64) {
				p.reportProgress("learn", float64(learnShare*(done-reported)))
				reported = done
			})
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return m, p.run("publish", 0, func() error { m.group(c); return nil })
}

// learnShare is the share of the progress that learning accounts for, if it takes place.
const learnShare = .8

// phases runs the phases of Measure and reports their progress. Several run concurrently; the share done never
// decreases.
type phases struct {
	ctx    context.Context
	report func(phase string, done float64)
	part   float64 // part of the whole to which the shares of run refer
	mu     sync.Mutex
	done   float64
}

// run runs a phase and then adds its share to the progress, unless the context has ended.
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

// reportProgress adds a share of the whole, in [0, 1], to the progress. The lock keeps the reports of concurrent
// phases in ascending order.
func (p *phases) reportProgress(name string, more float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += more
	if p.report != nil {
		p.report(name, p.done)
	}
}

// measureRank computes PageRank, scaled so that the most important node has 1, because formulas combine it with
// other signals in [0, 1].
func (m *Measures) measureRank(g *graph.Graph) error {
	ranks, err := graph.PageRank(g, graph.PageRankOptions{})
	if err != nil {
		return fmt.Errorf("rank the transition graph: %w", err)
	}
	m.rank, m.sweeps = graph.Normalised(ranks.Ranks), ranks.Sweeps
	if g.Size() == 0 {
		clear(m.rank) // without transitions, no node is more important than another
	}
	return nil
}

// measureCommunities computes the communities of the transition graph. It stores their modularity, which measures
// how far they differ from chance, for display.
func (m *Measures) measureCommunities(g *graph.Graph) {
	m.groups.community = graph.Communities(g, communityResolution)
	m.groups.modularity = graph.Modularity(g, m.groups.community, communityResolution)
}

// recallIntents is the number of past intents, the newest ones, that are indexed. It bounds the time of a lookup.
const recallIntents = 100_000

// ended adapts a context for numeric packages, which take a function that reports whether to stop.
func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// communityResolution is the resolution of modularity; 1 is the standard measure.
const communityResolution = 1

// readTexts numbers tools and capabilities and prepares two indexes, which are built on first use: that of their texts,
// and that of the newest recallIntents requests, oldest first. It indexes only requests that are evidence for a tool,
// including those of failed episodes.
func (m *Measures) readTexts(c *history.Counts, words *semantic.Thesaurus, stop func() bool) {
	m.thesaurus = words
	m.number(c)
	m.describe(c)
	t := &m.texts
	t.texts = sync.OnceValue(func() *rank.Texts { return rank.NewTexts(t.tools, words, stop) })
	for i := c.Past.N - 1; i >= 0 && len(t.recalled) < recallIntents; i-- {
		if p := c.Past.Episode(i); p.Intent != "" && !p.Limited && slices.ContainsFunc(p.Nodes, func(raw int32) bool { return c.Vouched(i, c.Canonical[raw]) }) {
			t.recalled = append(t.recalled, int32(i))
		}
	}
	slices.Reverse(t.recalled)
	past := c.Past
	t.requests = sync.OnceValue(func() *semantic.Requests {
		intents := make([]string, len(t.recalled))
		for i, e := range t.recalled {
			intents[i] = past.Episode(int(e)).Intent
		}
		return semantic.NewRequests(intents)
	})
	m.learning = newLearning(c, t)
}

// measureText builds the text index and requests the vectors of the texts. An unreachable endpoint is not an error,
// because searches work without its vectors.
func (m *Measures) measureText(ctx context.Context, c *history.Counts, opts MeasureOptions) error {
	t := &m.texts
	t.vectors = &semantic.Vectors{}
	if opts.Vectors != nil && len(t.node) > 0 {
		texts := make([]string, len(t.node))
		for i, node := range t.node {
			texts[i] = embedded(c.Document(c.IDs[node]))
		}
		if v, err := opts.Vectors(ctx, texts); err == nil && len(v) <= len(texts) {
			t.vectors = semantic.NewVectors(append(v, make([][]float32, len(texts)-len(v))...))
		}
	}
	t.texts()
	return ctx.Err()
}

// PrepareSearch builds the indexes that the first request in words would otherwise wait for.
func (m *Measures) PrepareSearch() {
	m.texts.texts()
	m.texts.requests()
}

// Texts lists the texts that are sent to an embeddings endpoint: one for each tool and capability.
func Texts(c *history.Counts) []string {
	m := newMeasures(c)
	m.number(c)
	var texts []string
	for _, node := range m.texts.node {
		texts = append(texts, embedded(c.Document(c.IDs[node])))
	}
	return texts
}

// embedded returns the text of a document for an embeddings endpoint: name and description, without the words of
// the schema.
func embedded(d semantic.Document) string { return strings.TrimSpace(d.Name + ". " + d.Text) }

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
